import { formatHandle } from "../core/handle.ts";
import { isFull } from "../forest/cluster.ts";
import { EXTRACTIVE_ID } from "../models/extractive-summarizer.ts";
import { type Repositories, sourceDigestOf } from "../store/index.ts";
import { type Asker, attemptsAfter, type Postponement, postponementOf } from "./next-try.ts";
import type { DueSummaries, SummaryContext, SummaryMember } from "./resolve-run.ts";
import { CALL_TOKENS_MAX } from "./summarize.ts";

const SUMMARY_TOKENS_MIN = 20;
/** A summary may take this share of the tokens of its sources. A written token costs about as much as five that are read. */
const SUMMARY_SHARE = 0.25;

/** After one of these errors, a cluster is tried alone. */
const UNUSABLE: ReadonlySet<string | null> = new Set(["MODEL_REFUSED", "MODEL_ANSWER_INVALID"]);

type ClusterContext = Pick<SummaryContext, "repositories" | "sessionId" | "settings" | "summarizer">;

/** A cluster with steps that have left the window and that no summary covers. */
interface DueCluster {
  root: number;
  /** The log position of the last of these steps. */
  logPosition: number;
  /** A part of the cluster that one summary can cover. */
  stepIds: number[];
  tokenCount: number;
  /** True if steps after them have left the window, too, and wait for the next summary. */
  hasMore: boolean;
  attempts: number;
  /** True if the last answer about the cluster, alone or with others, was a refusal or could not be used. Then it is tried alone. */
  isRefused: boolean;
  /** Why the cluster is not summarized now; undefined if it is. */
  wait: Postponement | undefined;
}

/**
 * The summaries of a session's clusters. Each message is read once, after it has left the window. A call is due if at least
 * `resolveTokensMin` tokens have left the window that no summary covers, in whatever clusters. A union of themes makes nothing due.
 *
 * A large cluster is summarized in parts, one after another: see `hasMore`. If the summarizer cannot share calls, each cluster must have that many tokens, because more calls would cost more than they save.
 * Until a summary is made, contexts quote the messages.
 */
export function clusterSummaries(context: ClusterContext): DueSummaries {
  const { repositories, sessionId, settings } = context;
  const { database, messages, clusters } = repositories;
  let evicted = evictedAt(context);
  const handleOf = ({ root, logPosition }: DueCluster): string => formatHandle("cluster", root, logPosition);
  return {
    list: (asker) => {
      if (asker === undefined) return []; // contexts quote the messages, so no summary needs a stand-in
      const due = database.read(() => {
        evicted = evictedAt(context);
        return dueClusters(context, asker, evicted);
      });
      const waiting = due.filter(({ wait }) => wait !== undefined).map((cluster) => [cluster]);
      return [...waiting, ...callsOf(due, context)].map((call) => {
        const hasMore = call.some(({ hasMore }) => hasMore);
        return { keys: call.map(({ root }) => root), handles: call.map(handleOf), wait: call[0]!.wait, hasMore };
      });
    },
    task: (roots, asker) =>
      database.read(() => {
        const due = asker === undefined ? [] : dueClusters(context, asker, evicted, roots);
        const call = due.filter(({ wait }) => wait === undefined);
        if (call.length === 0) return undefined;
        const members = call.map((cluster): SummaryMember => {
          const { root: rootId, logPosition, stepIds, tokenCount: sourceTokenCount } = cluster;
          const sources = messages.ofSteps(stepIds);
          const [seqFirst, seqLast] = [sources[0]!.seq, sources.at(-1)!.seq];
          const sourceDigest = sourceDigestOf(messages.digestsOfSteps(stepIds));
          const extent = { seqFirst, seqLast, messageCount: sources.length, sourceTokenCount, sourceDigest };
          const work = { sessionId, level: "cluster" as const, rootId, logPosition, ...extent, readingDepth: 0 };
          return { handle: handleOf(cluster), title: clusters.byRoot(sessionId, rootId).label, work, sources };
        });
        const lengths = call.map(({ tokenCount }) => {
          return Math.min(
            settings.summaryTokensMax,
            Math.max(SUMMARY_TOKENS_MIN, Math.floor(SUMMARY_SHARE * tokenCount)),
          );
        });
        return {
          members,
          previous: [],
          tokensMax: lengths.reduce((sum, length) => sum + length, 0),
          attempts: Math.max(...call.map(({ attempts }) => attempts)),
        };
      }),
  };
}

/** Returns how many summaries of clusters can be made now, or later without more messages. */
export function dueClusterCount(context: ClusterContext, asker: Asker): number {
  const due = dueClusters(context, asker, evictedAt(context));
  const waiting = due.filter(({ wait }) => wait !== undefined && wait.nextTryAtMs !== null);
  return waiting.length + callsOf(due, context).flat().length;
}

/** Returns the clusters that a summarizer would summarize together, call by call, those with the most tokens first. */
function callsOf(due: readonly DueCluster[], { settings, summarizer }: ClusterContext): DueCluster[][] {
  const { resolveTokensMin } = settings;
  const calls: DueCluster[][] = [];
  let shared: DueCluster[] = [];
  const endCall = (): void => {
    if (tokensOf(shared) >= resolveTokensMin) calls.push(shared);
    shared = [];
  };
  for (const cluster of due.filter(({ wait }) => wait === undefined)) {
    if (cluster.isRefused) calls.push([cluster]);
    else if (summarizer.citesSources) {
      if (tokensOf(shared) + cluster.tokenCount > CALL_TOKENS_MAX) endCall();
      shared.push(cluster);
    } else calls.push([cluster]);
  }
  endCall();
  return calls.sort((left, right) => tokensOf(right) - tokensOf(left) || left[0]!.root - right[0]!.root);
}

function tokensOf(clusters: readonly DueCluster[]): number {
  return clusters.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}

/**
 * Returns the clusters with steps that no summary covers, oldest root first. If the summarizer cannot share calls, only large enough
 * ones. The extractive summarizer gets none: it quotes, and the digest of a context quotes more.
 *
 * @param evicted  Returns the log position up to which steps have left the window.
 * @param roots  The clusters to look at; by default all of the session.
 */
function dueClusters(
  { repositories, sessionId, settings, summarizer }: ClusterContext,
  asker: Asker,
  evicted: () => number,
  roots?: readonly number[],
): DueCluster[] {
  if (summarizer.id === EXTRACTIVE_ID) return [];
  const { summaries, clusters, unions } = repositories;
  const sizes = roots ? roots.flatMap((root) => clusters.find(sessionId, root) ?? []) : clusters.sizesOf(sessionId);
  const due: DueCluster[] = [];
  const tokensMin = summarizer.citesSources ? 1 : settings.resolveTokensMin;
  for (const { rootId: root, logPosition: newest, tokenCount } of sizes) {
    if (tokenCount < tokensMin) continue;
    const from = summaries.coveredUntil({ sessionId, root });
    if (from >= newest) continue; // checked before the log is read, which takes longer
    const range = { sessionId, root, from, position: evicted() };
    const tried = summaries.newestTry({ sessionId, level: "cluster", rootId: root, ...asker });
    const triedUntil = Math.min(tried?.logPosition ?? 0, range.position);
    const triedSteps = triedUntil > from ? unions.entriesOf({ ...range, position: triedUntil }).length : 0;
    // A part is read, and not the rest of a cluster that may have a thousand parts.
    const partOf = (stepsMin: number): Part => firstPart(repositories, range, settings.resolveTokensMin, stepsMin);
    let part = partOf(triedSteps); // not shorter: that may have been refused
    if (part.stepIds.length === 0 || part.tokenCount < tokensMin) continue;
    let isRefused = tried?.status === "failed" && UNUSABLE.has(tried.errorCode);
    let wait = postponementOf(tried, part.position, asker);
    if (part.isFull && wait?.nextTryAtMs === null) {
      // A full part does not grow, and would keep all later ones from a summary. So it takes in as many steps again as the last try read.
      const grown = partOf(2 * triedSteps);
      if (grown.isFull) [part, isRefused, wait] = [grown, true, undefined];
    }
    const { stepIds, position: logPosition, tokenCount: uncoveredTokens, hasMore } = part;
    due.push({
      root,
      logPosition,
      stepIds,
      tokenCount: uncoveredTokens,
      hasMore,
      attempts: attemptsAfter(tried),
      isRefused,
      wait,
    });
  }
  return due;
}

/** The first steps that no summary covers. */
interface Part {
  stepIds: number[];
  /** The log position of the last of them. */
  position: number;
  tokenCount: number;
  /** True if later steps belong to the next part. */
  isFull: boolean;
  /** True if there are later steps. */
  hasMore: boolean;
}

type Range = Parameters<Repositories["unions"]["entriesOf"]>[0];

/** The entries of a cluster that are read at once. */
const ENTRIES_AT_ONCE = 64;

/**
 * Returns as many of the first steps as one summary covers, of those that entered a cluster in a range of the log.
 *
 * @param tokensMin  A part with fewer tokens is not full. It could never be summarized, because only a part that is not full grows.
 * @param stepsMin  A part with fewer steps is not full.
 */
function firstPart({ messages, unions }: Repositories, range: Range, tokensMin: number, stepsMin: number): Part {
  const part = {
    stepIds: [] as number[],
    position: range.from,
    messageCount: 0,
    tokenCount: 0,
    isFull: false,
    hasMore: false,
  };
  for (;;) {
    const entries = unions.entriesOf({ ...range, from: part.position }, ENTRIES_AT_ONCE);
    for (const { stepId, position } of entries) {
      if (part.isFull) return { ...part, hasMore: true };
      const tokens = messages.tokensOfSteps([stepId]);
      part.stepIds.push(stepId);
      part.position = position;
      part.messageCount += tokens.length;
      part.tokenCount += tokens.reduce((sum, count) => sum + count, 0);
      part.isFull = isFull(part) && part.tokenCount >= tokensMin && part.stepIds.length >= stepsMin;
    }
    if (entries.length < ENTRIES_AT_ONCE) return part;
  }
}

/** Returns a function that reads the position when it is first called, which takes long, and few sessions have summaries due. */
function evictedAt({ repositories, sessionId }: ClusterContext): () => number {
  let position: number | undefined;
  return () => {
    position ??= evictedPosition(repositories, sessionId);
    return position;
  };
}

/** Returns the log position at which the newest step that has left the window entered the forest; 0 if none has. */
function evictedPosition({ sessions, messages, unions }: Repositories, sessionId: string): number {
  const session = sessions.byId(sessionId);
  if (session === undefined) return 0; // forgotten meanwhile
  const window = messages.windowFrom(sessionId, session.evictedSeq);
  const graduated = window.filter(({ seq }) => seq < session.graduatedSeq);
  const overlap = new Set(graduated.map(({ stepId }) => stepId)).size;
  return unions.newestEntered(sessionId, overlap + 1)[overlap]?.position ?? 0;
}
