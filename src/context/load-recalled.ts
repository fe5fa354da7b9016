import { formatHandle, parseHandle } from "../core/handle.ts";
import type { Message } from "../core/message.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { Hit, RecalledStep } from "./recalled.ts";
import { groupSteps } from "./steps.ts";
import type { OverlapView, RenderView } from "./view.ts";

/**
 * How fast worth falls with the score. Scores are sums with parts that most hits have in common, so a hit with 9/10 of the
 * best score is far from 9/10 as likely to be what was asked for. Chosen on LoCoMo: from 5 to 8 it makes less than half a point's difference.
 */
const WORTH_EXPONENT = 5;

/** What a message that ends in a question is worth beside others with its score: it asks for what others say. */
const ASKING_SHARE = 0.5;

const ASKING = /[?？؟]\s*$/u;

/**
 * What a message is worth because it stands beside a hit: this share of what the hit is. Little, since most neighbors that
 * matter are hits themselves; with 0.1 a context of 1,000 tokens holds a point less of what was asked for.
 */
const NEIGHBOR_SHARE = 0.02;

/** Hits, from the first, whose neighbors may be shown. */
const NEIGHBORED_MAX = 20;

/**
 * Read the steps that hits belong to, and those beside them.
 *
 * @param hits  Best first, of any sessions.
 * @returns in the order of their worth.
 */
export function loadRecalled(repositories: Repositories, hits: readonly Hit[], view: RenderView): RecalledStep[] {
  const { evidence, messages, unions } = repositories;
  const best = hits[0]?.score ?? 0;
  const found = new Map(hits.filter(({ score }) => score > 0).map((hit) => [hit.messageId, hit]));
  const neighbored = [...found.keys()].slice(0, NEIGHBORED_MAX);
  const loaded = messages.byIds([...new Set([...found.keys(), ...evidence.around(neighbored, 1)])]);
  const known = new Set(loaded.map(({ id }) => id));
  const others = messages.idsOfSteps([...new Set(loaded.map(({ stepId }) => stepId))]).filter((id) => !known.has(id));
  const all = [...loaded, ...messages.byIds(others)].sort((left, right) => left.seq - right.seq);

  const worthOf = ({ id, role, text }: Message): number => {
    const hit = found.get(id);
    if (hit === undefined) return 0;
    return (hit.score / best) ** WORTH_EXPONENT * (role !== "tool" && ASKING.test(text) ? ASKING_SHARE : 1);
  };
  const worthAt = new Map(neighbored.map((id) => [id, 0]));
  for (const message of all) if (worthAt.has(message.id)) worthAt.set(message.id, worthOf(message));
  const besides = new Map<string, number>();
  for (const message of all) {
    const worth = NEIGHBOR_SHARE * (worthAt.get(message.id) ?? 0);
    for (const seq of [message.seq - 1, message.seq + 1]) {
      const place = placeOf(message.sessionId, seq);
      besides.set(place, Math.max(worth, besides.get(place) ?? 0));
    }
  }

  const coverage = new Coverage(unions);
  const positions = new Map<string, number>();
  const positionOf = (sessionId: string): number => {
    const position = positions.get(sessionId) ?? unions.lastPosition(sessionId);
    positions.set(sessionId, position);
    return position;
  };
  return groupSteps(all)
    .map(({ messages: step }): RecalledStep => {
      const { sessionId, stepId } = step[0]!;
      const entry = unions.entered(stepId);
      const worths = step.map((message) =>
        Math.max(worthOf(message), besides.get(placeOf(sessionId, message.seq)) ?? 0),
      );
      return {
        sessionId,
        messages: step,
        snippets: new Map(step.flatMap(({ id }) => (found.has(id) ? [[id, found.get(id)!.snippet] as const] : []))),
        worth: Math.max(...worths),
        handle: entry === undefined ? null : formatHandle("cluster", entry.clusterRoot, positionOf(sessionId)),
        cold:
          entry !== undefined && sessionId === view.sessionId && step[0]!.seq < view.evictedSeq
            ? coldPlace(view, coverage, entry.clusterRoot, entry.position)
            : undefined,
      };
    })
    .filter(({ worth }) => worth > 0)
    .sort((left, right) => right.worth - left.worth || left.messages[0]!.id - right.messages[0]!.id);
}

/** The theme that holds a cluster, and the shown summary of it that covers what entered the cluster at a position. */
function coldPlace(view: RenderView, coverage: Coverage, root: number, position: number): OverlapView | undefined {
  const themeRoot = coverage.themeOf(root);
  const theme = view.themes.findIndex(({ handle }) => parseHandle(handle).root === themeRoot);
  if (theme === -1) return undefined;
  const summary = view.themes[theme]!.summaries.findIndex(({ handle }) => {
    const { root: rootId, position: logPosition = 0 } = parseHandle(handle);
    return coverage.covers({ rootId, logPosition }, root, position);
  });
  return { theme, summary: summary === -1 ? undefined : summary };
}

function placeOf(sessionId: string, seq: number): string {
  return `${seq} ${sessionId}`;
}
