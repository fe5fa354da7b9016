import { formatHandle } from "../../core/handle.ts";
import type { Message } from "../../core/message.ts";
import type { Repositories } from "../../store/index.ts";
import { type OfferedStatement, offeredStatements } from "../layout/memory.ts";
import { groupSteps } from "../layout/steps.ts";
import type { RenderView, Statement, ThemePlace } from "../view.ts";

export interface EvidenceHit {
  messageId: number;
  /** Relative to the best hit, in [0, 1]. */
  worth: number;
  snippet: () => string;
}

/** The step of a hit, or a step next to it. */
export interface EvidenceStep {
  sessionId: string;
  messages: readonly Message[];
  /** Keyed by message id. A neighbor of a hit has no snippet. */
  snippets: ReadonlyMap<number, () => string>;
  /** The worth of the whole step relative to the best hit, in (0, 1]. */
  worth: number;
  /** `cluster:12@345`; null while the step has not graduated. */
  handle: string | null;
  /** The theme that holds the step; undefined in the window and in other sessions. */
  cold: ThemePlace | undefined;
}

export interface EvidenceMessage {
  message: Message;
  how: "verbatim" | "shortened";
  cold: ThemePlace | undefined;
}

/** The factor for a message that ends in a question, which is less likely to be an answer. */
const QUESTION_SHARE = 0.5;

const QUESTION = /[?？؟]\s*$/u;

/** The worth of a hit's neighbor, relative to the hit. Most neighbors that matter are hits themselves. */
const NEIGHBOR_SHARE = 0.02;

const NEIGHBORED_MAX = 20;

/** Reads the steps of the hits and of their neighbors, best first. @param hits  Best first, of any sessions. */
export function loadEvidence(
  repositories: Repositories,
  hits: readonly EvidenceHit[],
  view: RenderView,
): EvidenceStep[] {
  const { evidence, messages, unions } = repositories;
  const read = (ids: readonly number[]): Message[] => messages.byIdsIn(view.sessionId, ids);
  const found = new Map(hits.filter(({ worth }) => worth > 0).map((hit) => [hit.messageId, hit]));
  const neighbored = new Set([...found.keys()].slice(0, NEIGHBORED_MAX));
  const beside = read([...neighbored]).flatMap(({ id, sessionId }) => evidence.around([id], 1, sessionId));
  const loaded = read([...new Set([...found.keys(), ...beside])]);
  const known = new Set(loaded.map(({ id }) => id));
  const others = messages.idsOfSteps([...new Set(loaded.map(({ stepId }) => stepId))]).filter((id) => !known.has(id));
  const all = [...loaded, ...read(others)].sort((left, right) => left.seq - right.seq);

  const hitWorth = ({ id, role, text }: Message): number => {
    const hit = found.get(id);
    if (hit === undefined) return 0;
    return hit.worth * (role !== "tool" && QUESTION.test(text) ? QUESTION_SHARE : 1);
  };
  const neighborWorths = new Map<string, number>();
  for (const message of all) {
    if (!neighbored.has(message.id)) continue;
    const worth = NEIGHBOR_SHARE * hitWorth(message);
    for (const seq of [message.seq - 1, message.seq + 1]) {
      const key = `${seq} ${message.sessionId}`;
      neighborWorths.set(key, Math.max(worth, neighborWorths.get(key) ?? 0));
    }
  }

  const positions = new Map<string, number>();
  for (const sessionId of new Set(all.map((message) => message.sessionId))) {
    positions.set(sessionId, unions.lastPosition(sessionId));
  }
  return groupSteps(all)
    .map(({ messages: step }): EvidenceStep => {
      const { sessionId, stepId, seq } = step[0]!;
      const entry = unions.entered({ sessionId, stepId });
      const isCold = entry !== undefined && sessionId === view.sessionId && seq < view.evictedSeq;
      return {
        sessionId,
        messages: step,
        snippets: new Map(step.flatMap(({ id }) => (found.has(id) ? [[id, found.get(id)!.snippet] as const] : []))),
        worth: Math.max(
          ...step.map((message) => Math.max(hitWorth(message), neighborWorths.get(`${message.seq} ${sessionId}`) ?? 0)),
        ),
        handle: entry === undefined ? null : formatHandle("cluster", entry.clusterRoot, positions.get(sessionId)!),
        cold: isCold ? view.placeOf(step[0]!) : undefined,
      };
    })
    .filter(({ worth }) => worth > 0)
    .sort((left, right) => right.worth - left.worth || left.messages[0]!.id - right.messages[0]!.id);
}

/** A statement of the rendered session that cites evidence. */
export interface FoundStatement extends OfferedStatement {
  /** The worth of the best step that the statement cites. */
  worth: number;
}

/**
 * Returns the statements that cite steps of the session, in order. One without citations stands for all that its summary covers.
 *
 * @param steps  Best first.
 * @param shown  Statements that are left out.
 */
export function foundStatements(
  view: RenderView,
  steps: readonly EvidenceStep[],
  shown: readonly Statement[],
): FoundStatement[] {
  const own = steps.filter(({ sessionId }) => sessionId === view.sessionId);
  const worths = new Map<number, number>();
  for (const { messages, worth } of own.toReversed()) for (const { seq } of messages) worths.set(seq, worth);
  const worthOf = ({ seqs, of }: OfferedStatement): number =>
    seqs.length > 0
      ? Math.max(...seqs.map((seq) => worths.get(seq) ?? 0))
      : (own.find(({ cold }) => cold?.theme === of.theme && cold.summary === of.summary)?.worth ?? 0);
  const shownTexts = new Set(shown.map(({ text }) => text));
  return offeredStatements(view)
    .filter(({ text }) => !shownTexts.has(text))
    .map((statement) => ({ ...statement, worth: worthOf(statement) }))
    .filter(({ worth }) => worth > 0);
}
