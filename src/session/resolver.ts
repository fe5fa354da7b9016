import { setMaxListeners } from "node:events";
import * as z from "zod/mini";
import { once } from "../core/once.ts";
import { STRATEGIES } from "../core/options.ts";
import { abortSignal, callback, type FieldsOf, type Given, oneWordOf, parseOptions, whole } from "../core/schema.ts";
import { tokenBudgetFields } from "../core/token-budget.ts";
import { untilAborted } from "../core/until-aborted.ts";
import { isRemote } from "../models/embedder.ts";
import { CallBudget } from "../summaries/call-budget.ts";
import type { OnResolveEvent } from "../summaries/events.ts";
import { RESOLVE_CONCURRENCY, type Resolved, resolveDirty } from "../summaries/resolve.ts";
import type { ResolveResult } from "../summaries/resolve-run.ts";
import { Background, type Resolving } from "./background.ts";
import type { ContextOptions } from "./context-options.ts";
import type { Contexts } from "./contexts.ts";
import type { SessionPorts } from "./ports.ts";

export interface StartResolvingOptions extends Omit<ContextOptions, "tokensMax"> {
  /** The token budget that `flat` and `sandwich` make summaries for; by default the session's setting. */
  contextTokensMax?: number;
  /** The most calls of the summarizer at the same time: 1 to 64, by default 8. */
  concurrency?: number;
  /** The most calls to begin; by default any number. A local summarizer is not limited. */
  callsMax?: number;
  /**
   * The most tokens to send and receive; by default any number. A summary is only begun if its estimate fits into the rest. The
   * estimate is the sources plus the longest reply. The total may be a little higher, because the estimate leaves out
   * instructions and the model's thoughts. After a call, the count of the service replaces the estimate.
   */
  tokensMax?: number;
  /** Called with each event of a summary, such as `started`, `resolved` or `failed`. */
  onEvent?: OnResolveEvent;
}

export interface ResolveDirtyOptions extends StartResolvingOptions {
  signal?: AbortSignal;
}

const START_OPTIONS = once(() => {
  const { tokensMax: contextTokensMax, ...window } = tokenBudgetFields();
  return z.strictObject({
    contextTokensMax,
    ...window,
    strategy: z.optional(oneWordOf(STRATEGIES)),
    concurrency: z._default(whole(1, 64), RESOLVE_CONCURRENCY),
    callsMax: z.optional(whole(0)),
    tokensMax: z.optional(whole(0)),
    onEvent: z.optional(callback<OnResolveEvent>()),
  } satisfies FieldsOf<StartResolvingOptions>);
});
const RESOLVE_OPTIONS = once(() => z.extend(START_OPTIONS(), { signal: z.optional(abortSignal()) }));

type CheckedOptions = Given<z.infer<ReturnType<typeof START_OPTIONS>>>;

interface HowToResolve {
  isImported: boolean;
  /** True if the upkeep of the whole store runs afterwards. */
  hasUpkeep: boolean;
}

export class Resolver {
  readonly #ports: SessionPorts;
  readonly #sessionId: string;
  readonly #contexts: Contexts;
  /** Resolves at the end of the newest run. Never rejects. */
  #running: Promise<void> | undefined;
  #background: Background | undefined;

  constructor(ports: SessionPorts, sessionId: string, contexts: Contexts) {
    this.#ports = ports;
    this.#sessionId = sessionId;
    this.#contexts = contexts;
  }

  async resolveDirty(given: ResolveDirtyOptions, how: HowToResolve): Promise<ResolveResult> {
    const { database } = this.#ports.repositories;
    database.assertWritable("resolveDirty");
    database.refuseAtomic("resolveDirty");
    const { signal, ...options } = parseOptions("resolveDirty", RESOLVE_OPTIONS(), given);
    return (await this.#resolve(options, this.#budgetOf(options), this.#ports.signalOf(signal), how)).result;
  }

  start(given: StartResolvingOptions, how: HowToResolve): Resolving {
    const { closing, clock, repositories } = this.#ports;
    repositories.database.assertWritable("startResolving");
    const options = parseOptions("startResolving", START_OPTIONS(), given);
    this.#contextOf(options); // throws if no tokens are left for the context
    const budget = this.#budgetOf(options);
    void this.#background?.stop();
    const resolve = async (signal: AbortSignal) => (await this.#resolve(options, budget, signal, how)).nextTryAtMs;
    this.#background = new Background(closing, clock, resolve);
    return this.#background;
  }

  /** Call this after each change of the session. */
  wake(): void {
    this.#background?.wake();
  }

  async #resolve(
    options: CheckedOptions,
    budget: CallBudget,
    signal: AbortSignal,
    { isImported, hasUpkeep }: HowToResolve,
  ): Promise<Resolved> {
    const { tokenCounter, clock, claimant, embedder, vectors, upkeep } = this.#ports;
    const { concurrency, onEvent } = options;
    this.#contextOf(options); // throws if no tokens are left for the context
    setMaxListeners(0, signal); // each call in progress adds several listeners
    signal.throwIfAborted();
    const embedFromMs = isRemote(embedder) ? clock() : 0;
    // Runs follow one another. An event listener may start the next run while this one works.
    const before = this.#running ?? Promise.resolve();
    const running = (async () => {
      await untilAborted(before, signal);
      const context = this.#contextOf(options);
      const limits = { concurrency, budget, isImported };
      return resolveDirty({ ...context, ...limits, tokenCounter, clock, claimant, signal, onEvent });
    })();
    this.#running = Promise.allSettled([before, running]).then(() => {});
    // If one of the two fails, the other continues, because its calls are paid for.
    const embedding = vectors.embed({ sessionId: this.#sessionId, signal });
    await Promise.allSettled([running, embedding]);
    const { result, nextTryAtMs } = await running;
    await embedding;
    if (hasUpkeep) await upkeep.runBehind(signal);
    const tries = [nextTryAtMs, vectors.nextTryAfter(this.#sessionId, embedFromMs)].filter((at) => at !== undefined);
    return { result, nextTryAtMs: tries.length === 0 ? undefined : Math.min(...tries) };
  }

  #contextOf({ contextTokensMax, tokensMax: _, ...given }: CheckedOptions) {
    return this.#contexts.asked(contextTokensMax === undefined ? given : { ...given, tokensMax: contextTokensMax });
  }

  #budgetOf({ callsMax, tokensMax }: CheckedOptions): CallBudget {
    return this.#ports.summarizer.isLocal ? new CallBudget() : new CallBudget(callsMax, tokensMax);
  }
}
