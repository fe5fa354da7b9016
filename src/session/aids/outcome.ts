import { unless } from "../../core/errors.ts";
import type { Repositories } from "../../store/index.ts";
import { internalsOf } from "../opened-store.ts";
import type { Store } from "../store.ts";
import { toldLines } from "./told-lines.ts";

/** The newest messages with words that are read. */
const SAID_MAX = 12;
/** The tokens of what is told: a sentence or two. */
const TOLD_TOKENS = 60;

/** Returns what came of a session, in the words that a recap would tell first; null if the agent said nothing that tells it, or if that is damaged. */
export function outcomeOf(store: Store, sessionId: string): string | null {
  const { database, messages } = internalsOf(store).repositories;
  return unless(["STORE_CORRUPT"], () => database.read(() => outcomeIn(messages, sessionId))) ?? null;
}

function outcomeIn(messages: Repositories["messages"], sessionId: string): string | null {
  const newest = { seqFrom: 0, seqEnd: Number.MAX_SAFE_INTEGER };
  const said = messages.saidBefore(sessionId, { ...newest, limit: SAID_MAX });
  // The last message tells whether the words before it closed a turn.
  const last = messages.notableBefore(sessionId, { ...newest, limit: 1 });
  const read = [...said, ...last.filter(({ seq }) => seq > (said.at(-1)?.seq ?? -1))];
  return toldLines(read, TOLD_TOKENS).findLast(({ by }) => by === "assistant")?.text ?? null;
}
