import { chooseTold, type Told, ToldReader, toldIn } from "../../models/told.ts";
import { words } from "../../models/words.ts";
import type { NotableMessage } from "../../store/index.ts";
import { sourcesIn, type WorkLine } from "./work-lines.ts";

/** Who comes back later needs what came out more than what was asked and how it went on, and the last words most. */
const LAST_WORTH = 1.5;
const CLOSING_WORTH = 0.6;
const PASSING_WORTH = -0.4;
const ASKED_WORTH = -1;
/** A user's sentence of fewer words that tell something needs its neighbors to be understood. */
const ASKED_WORDS_MIN = 3;
/** A sentence costs about so many characters for each token. */
const CHARS_PER_TOKEN = 4;
/** The message that a line names costs about so many tokens. */
const SOURCE_TOKENS = 6;

/**
 * Returns what messages of one or more sessions tell to somebody who comes back: first of all what came out, in the words that closed the
 * turns, then what was asked. Each line has the sentences of one message.
 *
 * @param messages  Of each session in order.
 * @param tokensMax  About the tokens of all lines.
 */
export function toldLines(messages: readonly NotableMessage[], tokensMax: number): WorkLine[] {
  const bySession = new Map<string, NotableMessage[]>();
  for (const message of messages) {
    const own = bySession.get(message.sessionId);
    if (own === undefined) bySession.set(message.sessionId, [message]);
    else own.push(message);
  }
  const told = [...bySession.values()].flatMap((own) => {
    const reader = new ToldReader();
    const read = own.flatMap((message) => reader.of(message) ?? []).filter(({ by }) => by !== "summary");
    const lines = toldIn(read).filter(({ by, text }) => by !== "user" || new Set(words(text)).size >= ASKED_WORDS_MIN);
    const lastId = lines.findLast(({ isClosing }) => isClosing)?.messageId;
    return lines.map((line) => ({ ...line, worth: line.worth + worthToReturn(line, lastId) }));
  });
  const chosen = chooseTold(told, tokensMax, {
    of: ({ text }) => text.length / CHARS_PER_TOKEN,
    first: () => SOURCE_TOKENS,
  });
  const lineOf = sourcesIn(messages);
  const lines = new Map<number, string>();
  for (const { messageId, text } of chosen) {
    const before = lines.get(messageId);
    lines.set(messageId, before === undefined ? text : `${before} ${text}`);
  }
  return Array.from(lines, ([messageId, text]) => lineOf({ text, messageId }));
}

function worthToReturn({ by, isClosing, messageId }: Told, lastId: number | undefined): number {
  if (by === "user") return ASKED_WORTH;
  if (messageId === lastId) return LAST_WORTH;
  return isClosing ? CLOSING_WORTH : PASSING_WORTH;
}
