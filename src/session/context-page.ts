import { messageText } from "../context/message-element.ts";
import type { ContextMessage, RenderResult } from "../context/result.ts";
import { StoreError } from "../core/errors.ts";
import { element, escapeText, visibleText } from "../core/markup.ts";
import type { Role } from "../core/message.ts";
import type { RenderOptions } from "./context-options.ts";
import { RECORD_NOTE, type ResultBudget } from "./result-pages.ts";
import type { Session } from "./session.ts";

/** The ratio of the next smaller budget, if the page turned out too long, and the most tries. */
const TOKENS_RATIO = 0.85;
const TRIES_MAX = 6;

/** A context as a record of the session, for a model that does not take part in it. */
export interface ContextPage {
  sessionId: string;
  project: string | null;
  tokenCount: number;
  messages: { role: Role; name?: string; text: string }[];
  /** How many messages of the session are shown (whole or shortened), summarized, and only named. */
  shownCount: number;
  summarizedCount: number;
  omittedCount: number;
  /** The whole page as one element. Texts in it are escaped, so none can end it. */
  text: string;
}

/**
 * Returns a session's context as a record, as text and as values. Both fit the budget, unless even the smallest of a few renders
 * is too long. Calls and results are written as text, files are named, and reasoning is left out.
 *
 * @throws {StoreError} what `render` throws.
 */
export function contextPage(
  session: Session,
  options: Omit<RenderOptions, "tokensMax">,
  budget: ResultBudget,
): ContextPage {
  let { tokensMax } = budget;
  let page: ContextPage | undefined;
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    try {
      page = pageOfRender(session, session.render({ ...options, tokensMax }), budget);
    } catch (error) {
      if (page === undefined || !StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
      break; // it can be no shorter
    }
    if (page.tokenCount <= budget.tokensMax) break;
    tokensMax = Math.floor(tokensMax * TOKENS_RATIO);
  }
  return page!;
}

function pageOfRender(session: Session, result: RenderResult, { tokenCounter }: ResultBudget): ContextPage {
  const { id, project } = session;
  const composed = new Set(result.composed);
  const pieces = result.messages.map((message, index) => pieceOf(message, composed.has(index)));
  const lines = pieces.map(({ line }) => line).join("\n");
  const text = element("context", { session: id, project: project ?? undefined }, `${RECORD_NOTE}\n${lines}\n`);
  const messages = pieces.map(({ value }) => value);
  const count = (entries: readonly { messageCount: number }[]): number =>
    entries.reduce((sum, { messageCount }) => sum + messageCount, 0);
  const summaries = result.sources.filter(({ how }) => how === "summary");
  return {
    sessionId: id,
    project: project === null ? null : visibleText(project),
    tokenCount: Math.max(tokenCounter.count(text), tokenCounter.count(JSON.stringify(messages))),
    messages,
    shownCount: count(result.sources) - count(summaries),
    summarizedCount: count(summaries),
    omittedCount: count(result.omitted),
    text,
  };
}

/** Converts a message. Messages that the render composed already consist of elements. */
function pieceOf({ role, name, parts }: ContextMessage, isComposed: boolean) {
  const { text } = messageText({ parts });
  if (isComposed) return { line: text, value: { role, text } };
  const line = element("message", { role, name }, escapeText(text));
  return { line, value: { role, ...(name !== undefined && { name: visibleText(name) }), text: visibleText(text) } };
}
