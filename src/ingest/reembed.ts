import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import { isOfAccount } from "../models/failures.ts";
import type { ModelUsage } from "../models/summarizer.ts";
import {
  isPlacedNow,
  moveVectors as moveSome,
  type NewForest,
  nextTarget,
  type Repositories,
  similarityOf,
  stageVectors,
  switchGeneration,
  type Target,
  type UnstagedMessage,
} from "../store/index.ts";
import { checkedVector } from "./prepare.ts";
import { RegrownForests } from "./regrown-forests.ts";
import { requestVectors } from "./request-vectors.ts";

/** The run ends after this many failures in a row. */
const ATTEMPTS_MAX = 6;
/** If a service asks for a longer delay, the run ends. The next run continues. */
const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: 10 * 60_000 };
/** If a service refuses this text, it refuses everything. */
const HARMLESS_TEXT = "Hello";

/** About the average of prose and code. The service's own count may differ, and it cuts off long texts. */
const BYTES_PER_TOKEN = 4;

/** If more messages were appended meanwhile, another round comes before the switch. */
const LAST_MESSAGES_MAX = 200;

export interface ReembedProgress {
  /** `embed` makes vectors, `grow` grows the forests, `switch` puts them in use. */
  phase: "embed" | "grow" | "switch";
  doneCount: number;
  /** The total known so far: messages for `embed`, log positions for `grow`, 1 for `switch`. */
  totalCount: number;
  usage: ModelUsage;
}

export interface ReembedResult {
  /** False if there was nothing to do: this embedder is in use, with the cosine that is asked for, this version has placed the steps, and no vector is missing. */
  reembedded: boolean;
  /** Ids of the embedders before and after. */
  from: string;
  to: string;
  /** Messages whose vectors this run made. An earlier run that was stopped may have made others. */
  embeddedCount: number;
  /** Summaries that the new forest keeps. The others must be made again. */
  carriedSummaryCount: number;
  /** Milliseconds for which other processes could not write. */
  switchMs: number;
  usage: ModelUsage;
}

export interface ReembedPorts {
  embedder: Embedder;
  similarityMin?: number | undefined;
  clock: Clock;
  signal: AbortSignal;
  onProgress?: (progress: ReembedProgress) => void;
  /** Called as soon as the new forest is in use. The caller must drop its state of the old one. */
  onSwitch: () => void;
}

/**
 * Grows the forest of every session again with another embedder, and replaces the forest in use.
 *
 * 1. Vectors are made for all messages and staged in the file, in small transactions. Meanwhile the forest in use
 * serves and grows. If the run is stopped, the next run continues here.
 * 2. The new forest grows in memory, following the log in use.
 * 3. One transaction adds the newest messages and writes the new forest.
 *
 * The steps repeat until few messages are appended meanwhile.
 *
 * @throws the signal's reason if it is aborted before the switch; an error of the embedder, if trying again does not
 * help; `STORE_BUSY`, `STORE_CORRUPT`, `VECTOR_INVALID`. The forest in use is then unchanged.
 */
export async function reembed(repositories: Repositories, options: ReembedPorts): Promise<ReembedResult> {
  const { embedder, signal } = options;
  const { database, generations } = repositories;
  await moveVectors(repositories, signal); // an earlier run may have stopped before it moved them all
  const from = database.read(() => generations.newest()!.embedderId);
  const run = new ReembedRun(repositories, options);
  const isDone = from === embedder.id && database.read(() => !run.wouldPlaceAnew() && !run.wouldHeal());
  if (isDone) {
    return { reembedded: false, from, to: from, carriedSummaryCount: 0, switchMs: 0, ...run.counts };
  }
  const switched = await run.toTheEnd();
  return { reembedded: true, from, to: embedder.id, ...switched, ...run.counts };
}

/**
 * Moves the staged vectors of the generation in use to their messages, in small transactions. In between, the event
 * loop and other processes get a turn. If the process stops, upkeep continues.
 *
 * @throws the signal's reason if it is aborted. Vectors that were moved stay.
 */
export async function moveVectors(repositories: Repositories, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  while (moveSome(repositories) > 0) {
    await nextTurn();
    signal.throwIfAborted();
  }
}

export interface ReembedEstimate {
  /** Ids of the embedder in use and of the new one. */
  from: string;
  to: string;
  /** The host that gets the texts, if they leave the machine and it is known. */
  sentTo?: string;
  messageCount: number;
  /** Messages without a vector. Vectors of an earlier run that was stopped count as made. */
  toEmbedCount: number;
  /** The tokens of the texts of those messages, estimated at four bytes each. */
  tokenCount: number;
  /** Estimated US dollars; 0 for a local embedder, undefined if the price is unknown. */
  costUsd: number | undefined;
  /** Clusters with summaries. If the new forest does not have a cluster, its summary must be made again. */
  summarizedClusterCount: number;
}

/** Call it inside a transaction. */
export function reembedEstimate(repositories: Repositories, embedder: Embedder): ReembedEstimate {
  const { generations, reembedding, summaries } = repositories;
  const target = nextTarget(repositories, embedder.id) ?? { generation: 1, embedderId: embedder.id };
  const { messageCount: toEmbedCount, byteLength } = reembedding.unstagedCount(target);
  const tokenCount = Math.ceil(byteLength / BYTES_PER_TOKEN);
  return {
    from: generations.newest()?.embedderId ?? embedder.id,
    to: embedder.id,
    ...(isRemote(embedder) && embedder.sentTo !== undefined && { sentTo: embedder.sentTo }),
    messageCount: reembedding.messageCount(),
    toEmbedCount,
    tokenCount,
    costUsd: costOf(embedder, tokenCount),
    summarizedClusterCount: summaries.standingRootCount(),
  };
}

function costOf(embedder: Embedder, tokenCount: number): number | undefined {
  if (!isRemote(embedder)) return 0;
  const { usdPerMillionTokens } = embedder;
  return usdPerMillionTokens === undefined ? undefined : (tokenCount / 1_000_000) * usdPerMillionTokens;
}

class ReembedRun {
  readonly #repositories: Repositories;
  readonly #options: ReembedPorts;
  readonly #target: Target;
  #regrowth: RegrownForests;
  /** Every vector up to this message id is staged. */
  #stagedTo = 0;
  #embeddedCount = 0;
  readonly #usage: ModelUsage = { inputTokens: 0, outputTokens: 0 };

  constructor(repositories: Repositories, options: ReembedPorts) {
    this.#repositories = repositories;
    this.#options = options;
    this.#target = repositories.database.read(() => nextTarget(repositories, options.embedder.id)!);
    this.#regrowth = this.#newForests();
  }

  get counts(): { embeddedCount: number; usage: ModelUsage } {
    return { embeddedCount: this.#embeddedCount, usage: { ...this.#usage } };
  }

  /** Returns true if a message of the forest lacks a vector that the embedder can make. */
  wouldHeal(): boolean {
    const { embedder } = this.#options;
    for (const { text } of this.#repositories.reembedding.lacking()) {
      if (isRemote(embedder) ? text.trim() !== "" : embedder.embed(text) !== undefined) return true;
    }
    return false;
  }

  /** Returns true if the forest in use was not grown with the cosine that is asked for, or by the placement of this version. */
  wouldPlaceAnew(): boolean {
    const { embedder, similarityMin } = this.#options;
    const inUse = similarityOf(this.#repositories, embedder.id) ?? embedder.similarityMin;
    return (similarityMin !== undefined && similarityMin !== inUse) || !isPlacedNow(this.#repositories);
  }

  /** The cosine that is asked for, or else the one that was chosen for this embedder before. */
  get #similarityMin(): number | undefined {
    return this.#options.similarityMin ?? similarityOf(this.#repositories, this.#options.embedder.id);
  }

  async toTheEnd(): Promise<{ carriedSummaryCount: number; switchMs: number }> {
    while (!this.#isOvertaken()) {
      await this.#stageAll();
      if (!(await this.#growAll())) continue;
      this.#regrowth.carriedSummaries(); // the transaction of the switch is then short
      const switched = this.#switch();
      if (switched === undefined) continue;
      await moveVectors(this.#repositories, this.#options.signal).catch(() => {}); // upkeep continues
      return switched;
    }
    return { carriedSummaryCount: 0, switchMs: 0 };
  }

  async #stageAll(): Promise<void> {
    const { database, reembedding } = this.#repositories;
    const { embedder } = this.#options;
    const limit = isRemote(embedder) ? Math.min(embedder.textsMax, BATCH_MESSAGES_MAX) : BATCH_MESSAGES_MAX;
    const { messageCount } = database.read(() => reembedding.unstagedCount(this.#target));
    const totalCount = this.#embeddedCount + messageCount;
    for (;;) {
      await this.#turn();
      const batch = database.read(() => reembedding.unstaged(this.#target, this.#stagedTo, limit));
      const vectors = await this.#vectorsOf(batch);
      if (stageVectors(this.#repositories, this.#target, vectors) === undefined) return; // another process was faster
      this.#stagedTo = batch.at(-1)?.id ?? this.#stagedTo;
      this.#embeddedCount += batch.filter(({ hasVector }) => !hasVector).length;
      if (batch.length > 0) this.#report("embed", this.#embeddedCount, Math.max(totalCount, this.#embeddedCount));
      if (batch.length < limit) return;
    }
  }

  async #vectorsOf(batch: readonly UnstagedMessage[]): Promise<{ id: number; embedding: Float32Array | undefined }[]> {
    const { embedder } = this.#options;
    if (!isRemote(embedder)) return batch.map((message) => this.#localVector(message));
    const wanting = batch.filter(({ text, hasVector }) => !hasVector && text.trim() !== "");
    const texts = wanting.map(({ text }) => text);
    const vectors = texts.length === 0 ? [] : await this.#remoteVectors(embedder, texts);
    const byId = new Map(wanting.map(({ id }, index) => [id, vectors[index]]));
    return batch.map(({ id }) => ({ id, embedding: byId.get(id) }));
  }

  /** Returns no vector for a message that has one. */
  #localVector({ id, text, hasVector }: UnstagedMessage): { id: number; embedding: Float32Array | undefined } {
    const { embedder } = this.#options;
    if (hasVector || isRemote(embedder)) return { id, embedding: undefined };
    const made = embedder.embed(text);
    return { id, embedding: made && checkedVector(made, embedder.dimension) };
  }

  /**
   * Requests the vectors of texts. If the service is unavailable or its answer is invalid, waits, and then tries each
   * half alone. A refused batch is split without waiting. A single text that is refused gets no vector, because it must
   * not stop the run.
   */
  async #remoteVectors(
    embedder: RemoteEmbedder,
    texts: readonly string[],
    attempt = 1,
  ): Promise<(Float32Array | undefined)[]> {
    const { signal } = this.#options;
    const onUsage = (usage: ModelUsage): void => this.#count(usage);
    let next = attempt;
    try {
      return await requestVectors(embedder, texts, signal, onUsage);
    } catch (error) {
      signal.throwIfAborted();
      const isText = StoreError.is(error, "MODEL_REFUSED") && !isOfAccount(error);
      if (isText && texts.length === 1) {
        await requestVectors(embedder, [HARMLESS_TEXT], signal, onUsage);
        return [undefined];
      }
      if (!isText) {
        await this.#pause(error, attempt);
        next += 1;
      }
    }
    if (texts.length === 1) return this.#remoteVectors(embedder, texts, next);
    const half = Math.ceil(texts.length / 2);
    const first = await this.#remoteVectors(embedder, texts.slice(0, half), next);
    return [...first, ...(await this.#remoteVectors(embedder, texts.slice(half), next))];
  }

  /** @throws the error if trying again does not help. */
  async #pause(error: unknown, attempt: number): Promise<void> {
    const isAway = StoreError.is(error, "MODEL_UNAVAILABLE");
    const waitMs = (isAway ? error.details.retryAfterMs : undefined) ?? backoffMs(attempt, BACKOFF);
    const mayPass = isAway || StoreError.is(error, "MODEL_ANSWER_INVALID");
    if (!mayPass || attempt === ATTEMPTS_MAX || waitMs > BACKOFF.delayMsMax) throw error;
    const { signal } = this.#options;
    await wait(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  /** Follows the log to its end. @returns false if vectors are missing, or if another process has switched. */
  async #growAll(): Promise<boolean> {
    const { database, unions } = this.#repositories;
    for (;;) {
      await this.#turn();
      const { followed, newest } = database.read(() => ({
        followed: this.#regrowth.follow(),
        newest: unions.newestPosition(),
      }));
      this.#report("grow", this.#regrowth.followedTo, newest);
      if (followed === "current") return true;
      if (followed === "unstaged") return false;
      if (followed !== "stale") continue;
      this.#regrowth = this.#newForests();
      if (this.#isOvertaken()) return false;
    }
  }

  #switch(): { carriedSummaryCount: number; switchMs: number } | undefined {
    this.#options.signal.throwIfAborted();
    this.#report("switch", 0, 1);
    let carriedSummaryCount = 0;
    let begunMs = 0;
    const generation = switchGeneration(this.#repositories, this.#target, () => {
      begunMs = performance.now();
      const forest = this.#planSwitch();
      carriedSummaryCount = forest?.carried.length ?? 0;
      return forest;
    });
    if (generation === undefined) return undefined;
    const switchMs = performance.now() - begunMs;
    this.#options.onSwitch();
    this.#report("switch", 1, 1);
    return { carriedSummaryCount, switchMs };
  }

  /** Adds the newest messages and rows. @returns undefined if another round is needed. */
  #planSwitch(): NewForest | undefined {
    const withoutVector = this.#stageLast();
    if (withoutVector === undefined) return undefined;
    if (this.#regrowth.follow() !== "current") return undefined;
    const { embedder, clock } = this.#options;
    const sessions = [...this.#regrowth.sessions].map(([sessionId, session]) => ({ sessionId, ...session.rows() }));
    return {
      dimension: embedder.dimension,
      createdAtMs: clock(),
      similarityMin: this.#similarityMin,
      log: this.#regrowth.log(),
      sessions,
      withoutVector,
      carried: this.#regrowth.carriedSummaries(),
    };
  }

  /**
   * Stages the vectors of messages appended since the last round, if the embedder is local.
   * @returns the messages whose vectors become due, because the embedder is remote; undefined if another round is
   * needed.
   */
  #stageLast(): number[] | undefined {
    const { reembedding } = this.#repositories;
    const last = reembedding.unstaged(this.#target, this.#stagedTo, LAST_MESSAGES_MAX + 1);
    if (last.length > LAST_MESSAGES_MAX) return undefined;
    const isDue = ({ text, hasVector }: UnstagedMessage): boolean =>
      isRemote(this.#options.embedder) && !hasVector && text.trim() !== "";
    const withoutVector = last.filter(isDue);
    if (withoutVector.some(({ isGraduated }) => isGraduated)) return undefined;
    for (const message of last) {
      if (isDue(message)) continue;
      const { id, embedding } = this.#localVector(message);
      reembedding.stage(this.#target, id, embedding);
    }
    return withoutVector.map(({ id }) => id);
  }

  #newForests(): RegrownForests {
    const { database } = this.#repositories;
    const { embedder } = this.#options;
    const terms = { dimension: embedder.dimension, similarityMin: this.#similarityMin ?? embedder.similarityMin };
    return database.read(() => new RegrownForests(this.#repositories, this.#target, terms));
  }

  /**
   * Returns true if another process has already made the new generation with this embedder.
   * @throws {StoreError} `EMBEDDER_MISMATCH` if it used another embedder.
   */
  #isOvertaken(): boolean {
    const { database, generations } = this.#repositories;
    const { id, embedderId } = database.read(() => generations.newest()!);
    if (id < this.#target.generation) return false;
    const given = this.#options.embedder.id;
    if (embedderId !== given) throw new StoreError("EMBEDDER_MISMATCH", { stored: embedderId, given });
    return true;
  }

  #count({ inputTokens, outputTokens, costUsd }: ModelUsage): void {
    this.#usage.inputTokens += inputTokens;
    this.#usage.outputTokens += outputTokens;
    if (costUsd !== undefined) this.#usage.costUsd = (this.#usage.costUsd ?? 0) + costUsd;
  }

  #report(phase: ReembedProgress["phase"], doneCount: number, totalCount: number): void {
    this.#options.onProgress?.({ phase, doneCount, totalCount, usage: { ...this.#usage } });
  }

  async #turn(): Promise<void> {
    await nextTurn();
    this.#options.signal.throwIfAborted();
  }
}
