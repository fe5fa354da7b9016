import { isDeepStrictEqual } from "node:util";
import type { Message, MessageInput } from "../../src/index.ts";
import { saidAt } from "../crash/conversation.ts";

/** The kinds of actors. An actor numbers its messages from 0, and their ids are `ACTOR NUMBER`. */
export const WRITING = [
  "append",
  "batch",
  "shared",
  "sync",
  "rewind",
  "fork",
  "thin",
  "leave",
  "import",
  "watch",
  "mcp",
] as const;
export const OTHER = ["read", "search", "view", "upkeep", "resolve", "backup", "reembed", "verify"] as const;
export type Kind = (typeof WRITING)[number] | (typeof OTHER)[number];

/** An actor's name is its kind and a number: `append-0`. */
export function kindOf(actor: string): Kind {
  return actor.slice(0, actor.lastIndexOf("-")) as Kind;
}

/** Returns the session that an actor writes to. Actors of the kind `shared` write to one session, and `fork` also to its forks. */
export function sessionOf(actor: string): string {
  return kindOf(actor) === "shared" ? "shared" : actor;
}

/** Returns a message of an actor. Every process computes the same one, so a checker need not be told. */
export function saidBy(actor: string, number: number): MessageInput {
  const kind = kindOf(actor);
  const id = `${actor} ${number}`;
  if (kind !== "shared" && kind !== "mcp" && kind !== "fork") return { ...saidAt(actor, number), id };
  // No calls: other processes may write between any two messages, or the result may go to another fork.
  const texts = saidAt(actor, 4 * number).parts.flatMap((part) => (part.type === "text" ? part.text : []));
  return { role: "user", content: texts.join(""), id };
}

/** Returns true if a stored message is what its actor said. */
export function isAsSaid(message: Message): boolean {
  const { externalId, role, name, parts, metadata, pinned, createdAtMs } = message;
  const [actor, number] = externalId?.split(" ") ?? [];
  if (actor === undefined || number === undefined) return false;
  const said = saidBy(actor, Number(number));
  const saidParts = said.parts ?? [{ type: "text", text: said.content }];
  return (
    isDeepStrictEqual([role, name, parts, metadata], [said.role, said.name, saidParts, said.metadata]) &&
    pinned === (said.pinned ?? false) &&
    (said.createdAt === undefined || createdAtMs === said.createdAt)
  );
}
