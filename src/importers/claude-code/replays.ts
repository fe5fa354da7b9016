import type { JsonValue } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { contentId, derivedId, objectOf, stringOf } from "../values.ts";

const SAID_TYPES: ReadonlySet<unknown> = new Set(["user", "assistant", "attachment"]);

interface KnownLine {
  parent: string | undefined;
  digest: string;
}

/**
 * Finds lines that repeat earlier lines of the file under new uuids, as some versions write them when a session is resumed.
 *
 * A reply is a repeat if its `message.id`, its `requestId` and its content are known, and a prompt or another reply came between.
 * Any other line is a repeat if it has the time and the content of an earlier line, or if it follows a repeat and says what
 * followed the original. A prompt whose time is new is found out by the reply that follows it.
 *
 * In the lines that are left, `parentUuid` names the original.
 */
export class Replays {
  readonly #lines = new Map<string, KnownLine>();
  readonly #originals = new Map<string, string>();
  /** The first line of each reply, and of each content under its time or under the line that it follows. */
  readonly #uuids = new Map<string, string>();
  readonly #replies = new Set<string>();
  readonly #owners = new Map<string, number>();
  #reply: string | undefined;
  #isReplayed = false;

  /**
   * Returns the line as if its parent had not been repeated, or undefined if the line repeats an earlier one.
   *
   * @param onRepeat  Called with the uuid of each line before it that now turns out to be a repeat.
   */
  see(line: JsonObject, onRepeat: (uuid: string) => void): JsonObject | undefined {
    const uuid = stringOf(line.uuid);
    if (uuid === undefined) return line;
    const given = stringOf(line.parentUuid);
    const parent = given === undefined ? undefined : (this.#originals.get(given) ?? given);
    const found = parent === given ? line : { ...line, parentUuid: parent! };
    if (!SAID_TYPES.has(line.type)) return found;
    const digest = `${line.type} ${contentId(contentOf(line))}`;
    const keys = this.#keysOf(line, digest, parent, parent !== given);
    const original = keys.known.map((key) => this.#uuids.get(key)).find((known) => known !== undefined);
    if (original !== undefined && original !== uuid) {
      this.#originals.set(uuid, original);
      if (line.type === "assistant") this.#provePrompts(given, this.#lines.get(original)?.parent, onRepeat);
      return undefined;
    }
    for (const key of keys.own) if (!this.#uuids.has(key)) this.#uuids.set(key, uuid);
    if (!this.#lines.has(uuid)) this.#lines.set(uuid, { parent, digest });
    return found;
  }

  /** Returns the keys under which the line is found later, and those under which it may be known already. */
  #keysOf(line: JsonObject, digest: string, parent: string | undefined, isAfterRepeat: boolean) {
    const { type, sessionId, agentId, timestamp } = line;
    const owner = this.#ownerOf(sessionId, agentId);
    const atTime = timestamp === undefined ? [] : [JSON.stringify([owner, timestamp, digest])];
    if (type !== "assistant") {
      if (type === "user" && !isResult(line)) this.#reply = undefined;
      const afterParent = parent === undefined ? [] : [JSON.stringify([owner, "after", parent, digest])];
      const own = [...atTime, ...afterParent];
      return { own, known: isAfterRepeat ? own : atTime };
    }
    const { id } = objectOf(line.message);
    // Proxies for other models write no request id and repeat their message ids.
    const reply = JSON.stringify([owner, id, line.requestId ?? timestamp]);
    if (reply !== this.#reply) this.#isReplayed = this.#replies.has(reply);
    this.#reply = reply;
    this.#replies.add(reply);
    const own = stringOf(id) ? [derivedId(reply, digest)] : [];
    return { own, known: this.#isReplayed ? own : [] };
  }

  /** Returns a number for the session and the agent, so that keys are short. */
  #ownerOf(...names: unknown[]): number {
    const name = JSON.stringify(names);
    const owner = this.#owners.get(name) ?? this.#owners.size;
    this.#owners.set(name, owner);
    return owner;
  }

  /** Goes up from a repeated reply and its original, as long as the lines before them say the same. */
  #provePrompts(copied: string | undefined, original: string | undefined, onRepeat: (uuid: string) => void): void {
    for (let [copy, first] = [copied, original]; copy !== undefined && first !== undefined && copy !== first; ) {
      const [line, known] = [this.#lines.get(copy), this.#lines.get(first)];
      if (line === undefined || line.digest !== known?.digest) return;
      this.#originals.set(copy, first);
      this.#lines.delete(copy);
      onRepeat(copy);
      [copy, first] = [line.parent, known.parent];
    }
  }
}

function contentOf({ message, attachment }: JsonObject): JsonValue {
  return objectOf(message).content ?? attachment ?? null;
}

function isResult({ message }: JsonObject): boolean {
  const { content } = objectOf(message);
  return Array.isArray(content) && content.some((block) => objectOf(block).type === "tool_result");
}
