import type { RenderResult } from "../../context/result.ts";
import { unless } from "../../core/errors.ts";
import { element, escapeText } from "../../core/markup.ts";
import { estimatingTokenCounter, MESSAGE_TOKENS } from "../../core/tokens.ts";
import { rememberedTold } from "../../core/verdicts.ts";
import type { RenderOptions } from "../context-options.ts";
import type { Session } from "../session.ts";
import type { Store } from "../store.ts";
import type { Remembered } from "./remembered.ts";

/** What people asked to remember may take this share of a context, and so many tokens. */
const SHARE = 0.1;
const TOKENS_MAX = 500;
/** So many of the newest are read, because most may have been replaced. */
const COUNT_MAX = 500;
const SHOWN_MAX = 20;
const NOTE = "What people asked to remember for this project, newest first:";

/**
 * Renders a context that begins with what people asked to remember in the project of its session, as far as there is room. `recalled`
 * names these messages.
 */
export function renderRemembering(store: Store, session: Session, options: RenderOptions): RenderResult {
  const tokensMax = options.tokensMax ?? session.pressure().tokensMax;
  const all = session.project === null ? [] : store.remembered({ project: session.project, limit: COUNT_MAX });
  const held = all.filter(({ verdict, sessionId }) => verdict === undefined && sessionId !== session.id);
  const { shown, text, tokenCount } = blockOf(held, Math.min(TOKENS_MAX, SHARE * tokensMax));
  if (shown.length === 0) return session.render(options);
  const fitting = { ...options, tokensMax: tokensMax - tokenCount };
  const context = unless(["BUDGET_TOO_SMALL"], () => session.render(fitting));
  return context === undefined ? session.render(options) : withBlock(context, { shown, text, tokenCount });
}

interface Block {
  shown: readonly Remembered[];
  text: string;
  tokenCount: number;
}

function blockOf(held: readonly Remembered[], tokensMax: number): Block {
  const lines: string[] = [];
  const shown: Remembered[] = [];
  const written = (): string => element("remembered", {}, `${NOTE}\n${lines.join("\n")}\n`);
  const tokens = (): number => MESSAGE_TOKENS + estimatingTokenCounter.count(written());
  for (const one of held) {
    lines.push(`[${one.messageId}] ${escapeText(rememberedTold(one))}`);
    if (tokens() <= tokensMax) shown.push(one);
    else lines.pop();
    if (shown.length === SHOWN_MAX) break;
  }
  return { shown, text: written(), tokenCount: tokens() };
}

/** Puts the block after the system messages at the beginning. */
function withBlock(context: RenderResult, { shown, text, tokenCount }: Block): RenderResult {
  const first = context.messages.findIndex(({ role }) => role !== "system");
  const at = first === -1 ? context.messages.length : first;
  const moved = <T extends { messageIndex: number }>(entries: readonly T[]): T[] =>
    entries.map((entry) => (entry.messageIndex < at ? entry : { ...entry, messageIndex: entry.messageIndex + 1 }));
  const block = { role: "user" as const, parts: [{ type: "text" as const, text }] };
  return {
    ...context,
    messages: context.messages.toSpliced(at, 0, block),
    composed: [at, ...context.composed.map((index) => (index < at ? index : index + 1))],
    tokenCount: context.tokenCount + tokenCount,
    stablePrefixTokens: context.stablePrefixTokens + tokenCount,
    sources: moved(context.sources),
    omitted: moved(context.omitted),
    recalled: [
      ...shown.map(({ messageId, sessionId, seq }) => {
        return { messageId, sessionId, seq, messageIndex: at, how: "verbatim" as const };
      }),
      ...moved(context.recalled),
    ],
    story: moved(context.story),
  };
}
