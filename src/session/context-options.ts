import * as z from "zod/mini";
import { once } from "../core/once.ts";
import { STRATEGIES, type Strategy } from "../core/options.ts";
import { type FieldsOf, oneWordOf } from "../core/schema.ts";
import { type TokenBudget, tokenBudgetFields } from "../core/token-budget.ts";
import type { RecallQuery } from "../recall/search.ts";

/** How long a context may be, and how the session becomes one. */
export interface ContextOptions extends TokenBudget {
  /** The strategy; by default the session's. */
  strategy?: Strategy;
}

export interface RenderOptions extends ContextOptions {
  /** The subject of the next step. Most of a small budget then goes to messages that answer it. */
  query?: RecallQuery;
  /** The scope of the search for evidence: in this session, the default, or in all of its project. Without a query it changes nothing. */
  scope?: "session" | "project";
}

export const CONTEXT_OPTIONS = once(() =>
  z.strictObject({
    ...tokenBudgetFields(),
    strategy: z.optional(oneWordOf(STRATEGIES)),
  } satisfies FieldsOf<ContextOptions>),
);

export const RENDER_OPTIONS = once(() =>
  z.extend(CONTEXT_OPTIONS(), {
    query: z.optional(z.custom<RecallQuery>()), // recall checks it
    scope: z._default(oneWordOf(["session", "project"]), "session"),
  } satisfies FieldsOf<Omit<RenderOptions, keyof ContextOptions>>),
);
