import { messageText } from "../../context/message-element.ts";
import type { ContextMessage, RenderResult } from "../../context/result.ts";
import { StoreError } from "../../core/errors.ts";
import { element, escapeText, visibleText } from "../../core/markup.ts";
import type { Role } from "../../core/message.ts";
import type { RenderOptions } from "../context-options.ts";
import type { Session } from "../session.ts";
import type { Store } from "../store.ts";
import { projectNamer } from "./project-meant.ts";
import { renderRemembering } from "./remembered-context.ts";
import { RECORD_NOTE, type ResultBudget } from "./result-pages.ts";

/** A page that turned out too long is rendered again with this share of its budget, at most this often. */
const TOKENS_RATIO = 0.85;
const TRIES_MAX = 6;

/** A context as a record of a session, for a model that does not take part in the session. */
export interface ContextPage {
  sessionId: string;
  project: string | null;
  tokenCount: number;
  messages: { role: Role; name?: string; text: string }[];
  /** The numbers of messages that are shown (whole or shortened), summarized, and only named. */
  shownCount: number;
  summarizedCount: number;
  omittedCount: number;
  /** The whole page as one element. The texts in it are escaped, so they cannot end the element. */
  text: string;
}

/**
 * Returns a session's context as a record. Calls and results are written as text, files are named, and reasoning is left out.
 * Its text and its JSON each fit the budget. If no try fits, the last one is returned. @throws the errors of `render`.
 */
export function contextPage(
  store: Store,
  session: Session,
  options: Omit<RenderOptions, "tokensMax">,
  budget: ResultBudget,
): ContextPage {
  const project = projectNamer(store)(session.project) || null;
  let { tokensMax } = budget;
  let page: ContextPage | undefined;
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    try {
      page = pageOfRender(session, project, renderRemembering(store, session, { ...options, tokensMax }), budget);
    } catch (error) {
      if (page === undefined || !StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
      break; // a smaller budget cannot be rendered
    }
    if (page.tokenCount <= budget.tokensMax) break;
    tokensMax = Math.floor(tokensMax * TOKENS_RATIO);
  }
  return page!;
}

function pageOfRender(
  { id }: Session,
  project: string | null,
  result: RenderResult,
  { tokenCounter }: ResultBudget,
): ContextPage {
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

function pieceOf({ role, name, parts }: ContextMessage, isComposed: boolean) {
  const { text } = messageText({ parts });
  if (isComposed) return { line: text, value: { role, text } };
  const line = element("message", { role, name }, escapeText(text));
  return { line, value: { role, ...(name !== undefined && { name: visibleText(name) }), text: visibleText(text) } };
}
