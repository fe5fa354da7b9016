import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { type Backoff, backoffMs } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import { isOfAccount } from "../models/refusal.ts";
import type { ModelUsage } from "../models/usage.ts";
import {
  moveVectors as moveSome,
  type NewForest,
  nextTarget,
  stageVectors,
  switchGeneration,
} from "../store/new-generation.ts";
import type { Target, UnstagedMessage } from "../store/reembedding.ts";
import type { Repositories } from "../store/repositories.ts";
import { CarriedSummaries } from "./carried-summaries.ts";
import { checkedVector } from "./checked-vector.ts";
import { RegrownForests } from "./regrown-forests.ts";

/** Tries after which a failing request ends the run. */
const ATTEMPTS_MAX = 6;
/** If a service asks for a longer delay, the run ends. The next run continues. */
const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: 10 * 60_000 };
/** Texts refused one by one, with none accepted in between, before a harmless text shows if the service refuses everything. */
const REFUSALS_MAX = 3;
const HARMLESS_TEXT = "Hello";

/** Most new messages whose vectors are staged inside the transaction of the switch. With more, another round comes first. */
const LAST_MESSAGES_MAX = 200;

export interface ReembedProgress {
  /** `embed` makes vectors, `grow` grows the forests, `check` compares them with their log, `switch` puts them in use. */
  phase: "embed" | "grow" | "check" | "switch";
  doneCount: number;
  /** The total known so far: messages for `embed`, log positions for `grow`, sessions for `check`, 1 for `switch`. */
  totalCount: number;
  /** The usage of this run so far. */
  usage: ModelUsage;
}

export interface ReembedResult {
  /** False if there was nothing to do: the forest in use was grown with this embedder, and no vector is missing. */
  reembedded: boolean;
  /** Ids of the embedders before and after. */
  from: string;
  to: string;
  /** Messages whose vectors this run made. An earlier run that was stopped may have made others. */
  embeddedCount: number;
  /** Summaries that the new forest keeps. The others must be made again. */
  carriedSummaryCount: number;
  /** Milliseconds for which other processes could not write, because the new forest was being written. */
  switchMs: number;
  usage: ModelUsage;
}

export interface ReembedPorts {
  embedder: Embedder;
  clock: Clock;
  signal: AbortSignal;
  onProgress?: (progress: ReembedProgress) => void;
  /** Called as soon as the new forest is in use. The caller must not write anything that it holds of the old one. */
  onSwitch: () => void;
}

/**
 * Grows the forest of every session again with another embedder, and replaces the forest in use.
 *
 * 1. Vectors are made for all messages and staged in the file, in small transactions. The next run continues a run that was
 *    stopped. Meanwhile the forest in use serves and grows.
 * 2. The new forest grows in memory, following the log in use.
 * 3. Each session's new log is applied to the stored messages, and must give the same sums and counts.
 * 4. One transaction adds the newest messages and writes the new forest.
 *
 * The steps repeat until few messages have been appended meanwhile.
 *
 * @throws the signal's reason if it is aborted before the switch; an error of the embedder, if another try does not help;
 *   `STORE_BUSY`, `STORE_CORRUPT`, `VECTOR_INVALID`. The forest in use is then unchanged.
 */
export async function reembed(repositories: Repositories, options: ReembedPorts): Promise<ReembedResult> {
  const { embedder, signal } = options;
  const { database, generations } = repositories;
  await moveVectors(repositories, signal); // an earlier run may have stopped before it moved them all
  const from = database.read(() => generations.newest()!.embedderId);
  const run = new ReembedRun(repositories, options);
  if (from === embedder.id && !database.read(() => run.wouldHeal())) {
    return { reembedded: false, from, to: from, carriedSummaryCount: 0, switchMs: 0, ...run.counts };
  }
  const switched = await run.toTheEnd();
  return { reembedded: true, from, to: embedder.id, ...switched, ...run.counts };
}

/**
 * Moves the staged vectors of a generation that came into use to their messages, in small transactions. After each, the event
 * loop and other processes get a turn. If the process stops before the end, upkeep continues.
 *
 * @throws the signal's reason if it is aborted. Vectors moved by then stay.
 */
export async function moveVectors(repositories: Repositories, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  while (moveSome(repositories) > 0) {
    await nextTurn();
    signal.throwIfAborted();
  }
}

class ReembedRun {
  readonly #repositories: Repositories;
  readonly #options: ReembedPorts;
  readonly #target: Target;
  #regrowth: RegrownForests;
  #carried: CarriedSummaries;
  /** The message id up to which every vector is staged. */
  #stagedTo = 0;
  #embeddedCount = 0;
  /** Texts refused one by one since the last accepted one. */
  #refusals = 0;
  readonly #usage: ModelUsage = { inputTokens: 0, outputTokens: 0 };
  /** Sessions that have been compared with their logs. */
  readonly #checked = new Set<string>();

  constructor(repositories: Repositories, options: ReembedPorts) {
    this.#repositories = repositories;
    this.#options = options;
    this.#target = repositories.database.read(() => nextTarget(repositories, options.embedder.id)!);
    this.#regrowth = this.#newForests();
    this.#carried = new CarriedSummaries(repositories);
  }

  get counts(): { embeddedCount: number; usage: ModelUsage } {
    return { embeddedCount: this.#embeddedCount, usage: { ...this.#usage } };
  }

  /** Returns true if a message of the forest lacks a vector that the embedder in use can make. */
  wouldHeal(): boolean {
    const { embedder } = this.#options;
    for (const { text } of this.#repositories.reembedding.lacking()) {
      if (isRemote(embedder) ? text.trim() !== "" : embedder.embed(text) !== undefined) return true;
    }
    return false;
  }

  async toTheEnd(): Promise<{ carriedSummaryCount: number; switchMs: number }> {
    while (!this.#isOvertaken()) {
      await this.#stageAll();
      if (!(await this.#growAll())) continue;
      await this.#checkAll();
      this.#carried.list(this.#regrowth.sessions);
      const switched = this.#switch();
      if (switched === undefined) continue;
      await moveVectors(this.#repositories, this.#options.signal).catch(() => {}); // upkeep continues
      return switched;
    }
    return { carriedSummaryCount: 0, switchMs: 0 };
  }

  /**
   * Stages every missing vector, except for messages appended after the last batch was read.
   *
   * If another process is making the same vectors, this one jumps half-way to the end, and returns for the others later. So
   * only a few batches are paid for twice.
   */
  async #stageAll(): Promise<void> {
    const { database, messages, reembedding } = this.#repositories;
    const { embedder } = this.#options;
    const limit = isRemote(embedder) ? Math.min(embedder.textsMax, BATCH_MESSAGES_MAX) : BATCH_MESSAGES_MAX;
    const { messageCount } = database.read(() => reembedding.unstagedCount(this.#target));
    const totalCount = this.#embeddedCount + messageCount;
    let ahead: number | undefined; // after a jump, the message id that was reached
    for (;;) {
      await this.#turn();
      const batch = database.read(() => reembedding.unstaged(this.#target, ahead ?? this.#stagedTo, limit));
      if (batch.length === 0 && ahead === undefined) return;
      const vectors = await this.#vectorsOf(batch);
      const stagedCount = stageVectors(this.#repositories, this.#target, vectors);
      if (stagedCount === undefined) return; // another process was faster
      const lastId = batch.at(-1)?.id ?? 0;
      if (ahead === undefined) this.#stagedTo = lastId;
      this.#embeddedCount += batch.filter(({ embedding }) => embedding === undefined).length;
      this.#report("embed", this.#embeddedCount, Math.max(totalCount, this.#embeddedCount));
      if (batch.length < limit) {
        if (ahead === undefined) return;
        ahead = undefined;
      } else if (stagedCount < batch.length) {
        ahead = Math.floor((lastId + database.read(() => messages.lastId())) / 2);
      } else if (ahead !== undefined) {
        ahead = lastId;
      }
    }
  }

  async #vectorsOf(batch: readonly UnstagedMessage[]): Promise<{ id: number; embedding: Float32Array | undefined }[]> {
    const { embedder } = this.#options;
    if (!isRemote(embedder)) return batch.map((message) => this.#localVector(message));
    const wanting = batch.filter(({ text, embedding }) => embedding === undefined && text.trim() !== "");
    const texts = wanting.map(({ text }) => text);
    const vectors = texts.length === 0 ? [] : await this.#acceptedVectors(embedder, texts);
    const byId = new Map(
      wanting.map(({ id }, index) => [id, vectors[index] && checkedVector(vectors[index], embedder.dimension)]),
    );
    return batch.map(({ id, embedding }) => ({ id, embedding: embedding ?? byId.get(id) }));
  }

  #localVector({ id, text, embedding }: UnstagedMessage): { id: number; embedding: Float32Array | undefined } {
    const { embedder } = this.#options;
    if (embedding !== undefined || isRemote(embedder)) return { id, embedding };
    const made = embedder.embed(text);
    return { id, embedding: made && checkedVector(made, embedder.dimension) };
  }

  /**
   * Requests the vectors of texts. If a batch is refused, because of one text perhaps, each half is tried alone. A text that
   * is refused alone gets no vector, if the service accepts others: any number of such texts must not stop the run.
   */
  async #acceptedVectors(embedder: RemoteEmbedder, texts: readonly string[]): Promise<(Float32Array | undefined)[]> {
    try {
      const vectors = await this.#remoteVectors(embedder, texts);
      this.#refusals = 0;
      return vectors;
    } catch (error) {
      if (!StoreError.is(error, "MODEL_REFUSED") || isOfAccount(error)) throw error;
      if (texts.length === 1) {
        this.#refusals += 1;
        if (this.#refusals < REFUSALS_MAX) return [undefined];
        await this.#remoteVectors(embedder, [HARMLESS_TEXT]);
        this.#refusals = 0;
        return [undefined];
      }
      const half = Math.ceil(texts.length / 2);
      const first = await this.#acceptedVectors(embedder, texts.slice(0, half));
      return [...first, ...(await this.#acceptedVectors(embedder, texts.slice(half)))];
    }
  }

  /** Tries again if the service is unavailable or its answer is invalid, after the delay that it asks for, if any. */
  async #remoteVectors(embedder: RemoteEmbedder, texts: readonly string[]): Promise<Float32Array[]> {
    const { signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const onUsage = (usage: ModelUsage): void => this.#count(usage);
        return await embedder.embedAll({ texts, task: "document", signal, onUsage });
      } catch (error) {
        signal.throwIfAborted();
        const mayPass = StoreError.is(error, "MODEL_UNAVAILABLE") || StoreError.is(error, "MODEL_ANSWER_INVALID");
        if (!mayPass || attempt === ATTEMPTS_MAX) throw error;
        const asked = StoreError.is(error, "MODEL_UNAVAILABLE") ? error.details.retryAfterMs : undefined;
        const waitMs = asked ?? backoffMs(attempt, BACKOFF);
        if (waitMs > BACKOFF.delayMsMax) throw error;
        await wait(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  /** Follows the log to its end. @returns false if vectors are missing, or if another process has switched meanwhile. */
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
      this.#beginAgain();
      if (this.#isOvertaken()) return false;
    }
  }

  /** Checks each session once. Rows that are followed later go through the same code. */
  async #checkAll(): Promise<void> {
    const { sessions } = this.#regrowth;
    for (const sessionId of sessions.keys()) {
      if (this.#checked.has(sessionId)) continue;
      await this.#turn();
      this.#repositories.database.read(() => this.#regrowth.check(sessionId));
      this.#checked.add(sessionId);
      this.#report("check", this.#checked.size, sessions.size);
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

  /** Adds the newest messages and rows. @returns undefined if there are too many, so that another round is needed. */
  #planSwitch(): NewForest | undefined {
    const withoutVector = this.#stageLast();
    if (withoutVector === undefined) return undefined;
    if (this.#regrowth.follow() !== "current") return undefined;
    const { embedder, clock } = this.#options;
    const sessions = [...this.#regrowth.sessions].map(([sessionId, session]) => ({ sessionId, ...session.rows() }));
    return {
      dimension: embedder.dimension,
      createdAtMs: clock(),
      log: this.#regrowth.log(),
      sessions,
      parents: new Map(sessions.flatMap(({ parents }) => [...parents])),
      withoutVector,
      carried: this.#carried.list(this.#regrowth.sessions),
    };
  }

  /**
   * Stages the vectors of messages appended since the last round, if the embedder is local. With a remote one their vectors
   * become due, as those of any new message.
   *
   * @returns the messages whose vectors become due; undefined if another round is needed, because there are too many messages
   *   or because one of them has graduated.
   */
  #stageLast(): number[] | undefined {
    const { reembedding } = this.#repositories;
    const last = reembedding.unstaged(this.#target, this.#stagedTo, LAST_MESSAGES_MAX + 1);
    if (last.length > LAST_MESSAGES_MAX) return undefined;
    const isDue = ({ text, embedding }: UnstagedMessage): boolean =>
      isRemote(this.#options.embedder) && embedding === undefined && text.trim() !== "";
    const withoutVector = last.filter(isDue);
    if (withoutVector.some(({ isGraduated }) => isGraduated)) return undefined;
    for (const message of last) {
      if (isDue(message)) continue;
      const { id, embedding } = this.#localVector(message);
      reembedding.stage(this.#target, id, embedding);
    }
    return withoutVector.map(({ id }) => id);
  }

  #beginAgain(): void {
    this.#regrowth = this.#newForests();
    this.#carried = new CarriedSummaries(this.#repositories);
    this.#checked.clear();
  }

  #newForests(): RegrownForests {
    const { database } = this.#repositories;
    return database.read(() => new RegrownForests(this.#repositories, this.#target, this.#options.embedder));
  }

  /**
   * Returns true if another process has made a new generation with this embedder, so that nothing is left to do.
   *
   * @throws {StoreError} `EMBEDDER_MISMATCH` if it made one with another embedder.
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
