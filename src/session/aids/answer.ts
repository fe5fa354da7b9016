import { groupedBy } from "../../core/groups.ts";
import { withoutMarkdown } from "../../core/inline-markdown.ts";
import { cutLine } from "../../models/lines.ts";
import { sentencesOf } from "../../models/sentences.ts";
import type { RecallHit } from "../../recall/hits.ts";
import type { SessionOverview } from "../../store/index.ts";
import type { Session } from "../session.ts";
import type { Store } from "../store.ts";
import { answersFirst } from "./answers-first.ts";
import { projectNamer } from "./project-meant.ts";
import { isSame, unlessDamaged } from "./session-name.ts";

/** So many hits of a session come before those of others. */
const TOGETHER_MAX = 3;

const ASKED_CHARS_MAX = 200;
/** The files of so many sessions are looked at. */
const LOOKED_AT_MAX = 5;

/** Hits of one session, best first. */
export interface AnswerSession<Hit extends RecallHit = RecallHit> {
  sessionId: string;
  title: string | null;
  /** A name of the project that tells it from others. */
  project: string | null;
  agent: string | null;
  /** Who of the team has pushed it, if it is a copy; null for one's own. */
  author: string | null;
  /** The time of its first hit. */
  atMs: number;
  /** How many files that it touched have changed since, as far as that can be told: see `Work.changedSince`. */
  changedFileCount: number;
  hits: AnswerHit<Hit>[];
}

export interface AnswerHit<Hit extends RecallHit = RecallHit> {
  hit: Hit;
  /** What the user asked in the turn of the hit, if the title and the hit before it do not say it. */
  asked: string | null;
  /** The hit that asks this. It is shown with its answer, and not by itself. */
  question: Hit | null;
}

/**
 * Puts hits together as everybody is shown them: by session, in the order of the best hit of each, and after three hits of a session
 * first those of others.
 *
 * @param store  Knows the sessions of the hits. Without it, they have neither names nor asks.
 */
export function answerOf<Hit extends RecallHit>(found: readonly Hit[], store?: Store): AnswerSession<Hit>[] {
  const reader = store && new SessionReader(store);
  const hits = store === undefined ? found : (answersFirst(store, found) as Hit[]);
  const groups = roundsOf(hits);
  return groups.map((group): AnswerSession<Hit> => {
    const { sessionId, createdAtMs } = group[0]!;
    const about = reader?.aboutOf(sessionId);
    const unnamed = { title: null, project: null, agent: null, author: null };
    const changedFileCount = reader?.changedFileCountOf(sessionId) ?? 0;
    const shown = { sessionId, ...unnamed, ...about, atMs: createdAtMs, changedFileCount };
    return { ...shown, hits: reader === undefined ? group.map(alone) : withAsks(group, shown.title, reader) };
  });
}

/** Returns up to three hits of each session, then the next three of each, and so on. */
function roundsOf<Hit extends RecallHit>(hits: readonly Hit[]): Hit[][] {
  const bySession = groupedBy(hits, ({ sessionId }) => sessionId);
  const groups: Hit[][] = [];
  for (let from = 0; from < hits.length; from += TOGETHER_MAX) {
    const round = Array.from(bySession.values(), (own) => own.slice(from, from + TOGETHER_MAX));
    const ranked = round.filter((own) => own.length > 0);
    ranked.sort(([left], [right]) => hits.indexOf(left!) - hits.indexOf(right!));
    for (const own of ranked) {
      const last = groups.at(-1);
      if (last !== undefined && last[0]!.sessionId === own[0]!.sessionId) last.push(...own);
      else groups.push(own);
    }
  }
  return groups;
}

function alone<Hit extends RecallHit>(hit: Hit): AnswerHit<Hit> {
  return { hit, asked: null, question: null };
}

function withAsks<Hit extends RecallHit>(
  group: readonly Hit[],
  title: string | null,
  reader: SessionReader,
): AnswerHit<Hit>[] {
  const turns = new Map(group.map((hit) => [hit, hit.superseded ? undefined : reader.turnOf(hit)]));
  const told = new Set<number>();
  const questions = new Set<Hit>();
  const answers = group.map((hit): AnswerHit<Hit> => {
    const turn = turns.get(hit);
    if (turn === undefined || hit.role === "user" || told.has(turn)) return alone(hit);
    told.add(turn);
    const question = group.find(({ seq, role, superseded }) => seq === turn && role === "user" && !superseded) ?? null;
    if (question !== null) questions.add(question);
    const asked = question === null ? reader.askedAt(hit.sessionId, turn) : withoutMarkdown(question.snippet);
    return { hit, asked: question === null && isSame(asked, title) ? null : asked, question };
  });
  return answers.filter(({ hit }) => !questions.has(hit));
}

/** Reads what answers say of sessions. A damaged session has no names. */
class SessionReader {
  readonly #store: Store;
  readonly #projectOf: (project: string | null) => string;
  readonly #sessions = new Map<string, Session>();
  readonly #changedFileCounts = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
    this.#projectOf = projectNamer(store);
  }

  aboutOf(sessionId: string): Pick<AnswerSession, "title" | "project" | "agent" | "author"> | undefined {
    const info = unlessDamaged((): SessionOverview => this.#session(sessionId).info());
    return (
      info && {
        title: info.name,
        project: this.#projectOf(info.project) || null,
        agent: info.source,
        author: info.author,
      }
    );
  }

  changedFileCountOf(sessionId: string): number {
    const known = this.#changedFileCounts.get(sessionId);
    if (known !== undefined || this.#changedFileCounts.size === LOOKED_AT_MAX) return known ?? 0;
    const count = unlessDamaged(() => this.#store.work.changedSince(sessionId).length) ?? 0;
    this.#changedFileCounts.set(sessionId, count);
    return count;
  }

  /** Returns the number of the message of the user that a hit follows; undefined if there is none. */
  turnOf({ sessionId, seq }: RecallHit): number | undefined {
    const message = unlessDamaged(() => this.#session(sessionId).messages({ seqFrom: seq, limit: 1 })[0]);
    return message === undefined || message.turnSeq < 0 ? undefined : message.turnSeq;
  }

  askedAt(sessionId: string, seq: number): string | null {
    const message = unlessDamaged(() => this.#session(sessionId).messages({ seqFrom: seq, limit: 1 })[0]);
    if (message?.role !== "user") return null;
    const said = message.parts.flatMap((part) => (part.type === "text" && part.injected !== true ? [part.text] : []));
    const sentences = sentencesOf(said.join("\n").slice(0, 10 * ASKED_CHARS_MAX));
    const first = sentences.find(({ kind }) => kind === "prose") ?? sentences[0];
    return first === undefined ? null : cutLine(withoutMarkdown(first.text), ASKED_CHARS_MAX);
  }

  #session(id: string): Session {
    const known = this.#sessions.get(id) ?? this.#store.resume(id);
    this.#sessions.set(id, known);
    return known;
  }
}
