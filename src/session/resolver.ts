import { setMaxListeners } from "node:events";
import { StoreError } from "../core/errors.ts";
import { oneOf, wholeNumber } from "../core/options.ts";
import type { TokenBudget } from "../core/token-budget.ts";
import { untilAborted } from "../core/until-aborted.ts";
import { isRemote } from "../models/embedder.ts";
import { CallBudget } from "../summaries/call-budget.ts";
import type { OnResolveEvent } from "../summaries/events.ts";
import { RESOLVE_CONCURRENCY, type Resolved, resolveDirty } from "../summaries/resolve.ts";
import type { SplitOptions } from "../summaries/span.ts";
import { Background, type Resolving } from "./background.ts";
import type { ContextOptions, Contexts } from "./contexts.ts";
import type { SessionPorts } from "./ports.ts";

export interface StartResolvingOptions extends Omit<ContextOptions, "tokensMax"> {
  /** Of the context that `flat` and `sandwich` compact for; the session's setting if left out. */
  contextTokensMax?: number;
  /** Calls of the summarizer under way at once, from 1 to 64; 8 unless given. */
  concurrency?: number;
  /** Most calls that are begun. A summarizer on this machine is not limited. */
  callsMax?: number;
  /**
   * Most tokens that are sent and received: as the service counts them where it reports what a reply cost, else, and before a
   * call is made, estimated from what is sent of messages and summaries and a reply of full length. A summary that may cost
   * more than is left is not begun; what instructions and thoughts add is known only afterwards.
   */
  tokensMax?: number;
  /** Told of each summary as it happens. */
  onEvent?: OnResolveEvent;
}

export interface ResolveDirtyOptions extends StartResolvingOptions {
  signal?: AbortSignal;
}

const START_OPTIONS: readonly string[] = [
  "contextTokensMax",
  "contextWindow",
  "reserveTokens",
  "toolTokens",
  "strategy",
  "concurrency",
  "callsMax",
  "tokensMax",
  "onEvent",
] satisfies (keyof StartResolvingOptions)[];
const RESOLVE_OPTIONS: readonly string[] = [...START_OPTIONS, "signal" satisfies keyof ResolveDirtyOptions];

/** What a resolver needs of its session. */
interface SessionAccess {
  asked: Contexts["asked"];
  splitOptions(tokensMax: number): SplitOptions;
}

/** Summaries of one session: on request, and in the background. */
export class Resolver {
  readonly #ports: SessionPorts;
  readonly #sessionId: string;
  readonly #access: SessionAccess;
  /** Ends, and never rejects, with the last run that was begun. */
  #running: Promise<void> | undefined;
  #background: Background | undefined;

  constructor(ports: SessionPorts, sessionId: string, access: SessionAccess) {
    this.#ports = ports;
    this.#sessionId = sessionId;
    this.#access = access;
  }

  /**
   * @see Session.resolveDirty
   * @param hasUpkeep  Whether the store does its upkeep behind it, which looks at every session.
   */
  async resolveDirty(options: ResolveDirtyOptions, hasUpkeep = true): Promise<Resolved> {
    this.#assertWritable("resolveDirty");
    for (const name of Object.keys(options)) oneOf("an option of resolveDirty", name, RESOLVE_OPTIONS);
    const budget = budgetOf(options);
    const { closing } = this.#ports;
    const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
    return this.#resolve(options, budget, signal, hasUpkeep);
  }

  /** @see Session.startResolving */
  start(options: StartResolvingOptions): Resolving {
    this.#ports.repositories.database.assertOpen();
    this.#assertWritable("startResolving");
    for (const name of Object.keys(options)) oneOf("an option of startResolving", name, START_OPTIONS);
    this.#check(options);
    const budget = budgetOf(options);
    void this.#background?.stop();
    const { closing, clock } = this.#ports;
    const background = new Background({
      closing,
      clock,
      resolve: async (signal) => (await this.#resolve(options, budget, signal)).nextTryAtMs,
    });
    this.#background = background;
    return background;
  }

  /** The session has changed: the background looks for something to do. */
  wake(): void {
    this.#background?.wake();
  }

  /** @param signal  One of the store's own. */
  async #resolve(
    options: StartResolvingOptions,
    budget: CallBudget,
    signal: AbortSignal,
    hasUpkeep = true,
  ): Promise<Resolved> {
    const { repositories, summarizer, tokenCounter, clock, claimant, embedder, vectors, upkeep } = this.#ports;
    const { strategy, tokensMax, concurrency } = this.#check(options);
    setMaxListeners(0, signal); // several for each call under way
    signal.throwIfAborted();
    const embedFromMs = isRemote(embedder) ? clock() : 0;
    // One at a time: a second one finds what the first has left, also where a listener of the first begins it.
    const before = this.#running ?? Promise.resolve();
    const running = (async () => {
      await untilAborted(before, signal);
      return resolveDirty(repositories, this.#sessionId, {
        ...this.#access.splitOptions(tokensMax),
        ...{ summarizer, tokenCounter, clock, claimant, strategy, concurrency, budget, signal },
        onEvent: options.onEvent,
      });
    })();
    this.#running = Promise.allSettled([before, running]).then(() => {});
    // Vectors that are due come beside it: no summary depends on them. Where one of the two breaks the other goes on, for it
    // has been paid for; nothing of either is left when this rejects.
    const embedding = vectors.embed({ sessionId: this.#sessionId, signal });
    await Promise.allSettled([running, embedding]);
    const { result, nextTryAtMs } = await running;
    await embedding;
    if (hasUpkeep) await upkeep.runBehind(signal);
    return { result, nextTryAtMs: earlier(nextTryAtMs, vectors.nextTryAfter(this.#sessionId, embedFromMs)) };
  }

  #check(options: StartResolvingOptions) {
    const { contextTokensMax, contextWindow, reserveTokens, toolTokens, strategy } = options;
    if (contextTokensMax !== undefined) wholeNumber("contextTokensMax", contextTokensMax, 1, Number.MAX_SAFE_INTEGER);
    const budget: TokenBudget = {
      ...(contextTokensMax !== undefined && { tokensMax: contextTokensMax }),
      ...(contextWindow !== undefined && { contextWindow }),
      ...(reserveTokens !== undefined && { reserveTokens }),
      ...(toolTokens !== undefined && { toolTokens }),
    };
    const concurrency = wholeNumber("concurrency", options.concurrency ?? RESOLVE_CONCURRENCY, 1, 64);
    return { ...this.#access.asked({ ...budget, ...(strategy !== undefined && { strategy }) }), concurrency };
  }

  #assertWritable(operation: string): void {
    const { database } = this.#ports.repositories;
    if (database.readonly) throw new StoreError("STORE_READONLY", { path: database.path, operation });
  }
}

function earlier(left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return Math.min(left, right);
}

function budgetOf({ callsMax, tokensMax, onEvent }: StartResolvingOptions): CallBudget {
  if (callsMax !== undefined) wholeNumber("callsMax", callsMax, 0, Number.MAX_SAFE_INTEGER);
  if (tokensMax !== undefined) wholeNumber("tokensMax", tokensMax, 0, Number.MAX_SAFE_INTEGER);
  if (onEvent !== undefined && typeof onEvent !== "function") {
    throw new StoreError("OPTION_INVALID", { option: "onEvent", expected: "a function", actual: onEvent });
  }
  return new CallBudget({ callsMax, tokensMax });
}
