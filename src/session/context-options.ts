import * as z from "zod/mini";
import { once } from "../core/once.ts";
import { STRATEGIES, type Strategy } from "../core/options.ts";
import { type FieldsOf, oneWordOf } from "../core/schema.ts";
import { type TokenBudget, tokenBudgetFields } from "../core/token-budget.ts";
import type { RecallQuery } from "../recall/search.ts";

export interface ContextOptions extends TokenBudget {
  /** Defaults to the session's strategy. */
  strategy?: Strategy;
}

export interface RenderOptions extends ContextOptions {
  /** A question, or a description of the next step. Messages that answer it become evidence, and get most of a small budget. */
  query?: RecallQuery;
  /** Evidence comes from this session (the default), or from all sessions of its project. Ignored without a query. */
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
    query: z.optional(z.custom<RecallQuery>()), // checked by `recall`
    scope: z._default(oneWordOf(["session", "project"]), "session"),
  } satisfies FieldsOf<Omit<RenderOptions, keyof ContextOptions>>),
);
