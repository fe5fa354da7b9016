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

/** A request that failed this often in a row is given up. */
const ATTEMPTS_MAX = 6;
/** A service that asks for a longer delay is given up: the next run continues. */
const BACKOFF: Backoff = { delayMsMin: 1_000, delayMsMax: 10 * 60_000 };
/** Texts refused one by one, with none accepted in between, after which one that nobody refuses tells whether it is they. */
const REFUSALS_MAX = 3;
const HARMLESS_TEXT = "Hello";

/** Messages and rows of the log that may have come last and are still dealt with inside the transaction of the switch. */
const LAST_MESSAGES_MAX = 200;

export interface ReembedProgress {
  /** Vectors are made; the forest is grown from them; the result is compared with its log; it is put in place. */
  phase: "embed" | "grow" | "check" | "switch";
  doneCount: number;
  /** As far as it is known by now: messages, rows of the log, sessions, 1. */
  totalCount: number;
  /** Of this run so far. */
  usage: ModelUsage;
}

export interface ReembedResult {
  /** False where there was nothing to do: the forest is grown with this embedder, and all of its messages have vectors. */
  reembedded: boolean;
  /** Ids of the embedders before and after. */
  from: string;
  to: string;
  /** Messages whose vectors this run made; others were made by a run before that was stopped, or were there already. */
  embeddedCount: number;
  /** Summaries that are of the new forest, too. Others have to be made again. */
  carriedSummaryCount: number;
  /** How long other processes could not write while the new forest was put in place. */
  switchMs: number;
  usage: ModelUsage;
}

export interface ReembedPorts {
  embedder: Embedder;
  clock: Clock;
  signal: AbortSignal;
  onProgress?: (progress: ReembedProgress) => void;
  /** Called in the very moment in which the new forest is in use: what this process holds of the old one must not be written. */
  onSwitch: () => void;
}

/**
 * Grow the forest of every session again with another embedder, and put it in the place of the one in use.
 *
 * 1. Vectors are made for all messages and kept in the file, in small transactions: a run that is stopped goes on where it
 *    was. The forest in use serves, and grows.
 * 2. The new forest grows in memory, following the log in use.
 * 3. Each session's new log is applied to what is stored, and must give the same sums and counts.
 * 4. One transaction catches up with the last that came, and writes all of it.
 *
 * What comes meanwhile is caught up with, in as many rounds as that takes.
 *
 * @throws the signal's reason once it is aborted before the switch; what the embedder throws, where trying again does not help; `STORE_BUSY`,
 *   `STORE_CORRUPT`, `VECTOR_INVALID`. The forest in use is untouched then.
 */
export async function reembed(repositories: Repositories, options: ReembedPorts): Promise<ReembedResult> {
  const { embedder, signal } = options;
  const { database, generations } = repositories;
  await moveVectors(repositories, signal); // those of a run before, which are in use
  const from = database.read(() => generations.newest()!.embedderId);
  const run = new ReembedRun(repositories, options);
  if (from === embedder.id && !database.read(() => run.wouldHeal())) {
    return { reembedded: false, from, to: from, carriedSummaryCount: 0, switchMs: 0, ...run.counts };
  }
  const switched = await run.toTheEnd();
  return { reembedded: true, from, to: embedder.id, ...switched, ...run.counts };
}

/**
 * Bring vectors that came into use with a new generation to their messages, a few in a transaction, with a turn for others
 * after each. Where the process that put it in place was stopped, upkeep goes on with it.
 *
 * @throws the signal's reason when it is aborted; what was moved by then stays.
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
  /** Id up to which every message has its vector. */
  #stagedTo = 0;
  #embeddedCount = 0;
  /** Texts refused by themselves since one was accepted. */
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

  /** With the embedder in use: whether a message of the forest lacks a vector that it could have. */
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
      await moveVectors(this.#repositories, this.#options.signal).catch(() => {}); // upkeep goes on with it
      return switched;
    }
    return { carriedSummaryCount: 0, switchMs: 0 };
  }

  /**
   * Make every vector that is missing, but for a few that may have come last: whoever appends without a pause is not chased.
   *
   * Where another process makes the same ones, this one goes on half-way to the end, and comes back for the rest: so no more
   * than a few batches are paid for twice.
   */
  async #stageAll(): Promise<void> {
    const { database, messages, reembedding } = this.#repositories;
    const { embedder } = this.#options;
    const limit = isRemote(embedder) ? Math.min(embedder.textsMax, BATCH_MESSAGES_MAX) : BATCH_MESSAGES_MAX;
    const { messageCount } = database.read(() => reembedding.unstagedCount(this.#target));
    const totalCount = this.#embeddedCount + messageCount;
    let ahead: number | undefined; // id up to which it has come there
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
   * Where a batch is refused, one text of it may be to blame: so each half is tried by itself, and what is refused alone,
   * while others are accepted, does without a vector. However many such texts stand in a row, they do not keep a store from
   * being embedded again.
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

  /** Again, after a while, where the service is away or answers nonsense; as long as it says, where it does. */
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

  /** Follow the log to its end. @returns false where vectors are missing, or it has to begin again. */
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

  /** Each session once: what is caught up with later goes through the same code. */
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

  /** Inside the transaction: take in the last that came, or give up for now where that is much. */
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
   * Messages that have come since the last look. A local embedder makes their vectors on the spot. Of a remote one, those in
   * the hot window get theirs later, as new messages do; one that is in the forest already is worth another round.
   *
   * @returns those left without a vector; undefined where another round is worth it.
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
   * Whether another process has put a new generation in place, with this very embedder: then all is done.
   *
   * @throws {StoreError} `EMBEDDER_MISMATCH` where it is of another embedder.
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
