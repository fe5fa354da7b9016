import type { JsonValue } from "../../core/message.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { derivedId, objectOf, objectsOf, stringOf } from "../values.ts";

/** Claude Code derives a uuid for each block of a message. It keeps this many characters of the message's uuid. */
const UUID_PREFIX_LENGTH = 24;

/**
 * Restores the lines of a subagent from the `progress` lines of its session.
 *
 * A progress line shows the newest message of the subagent (`data.message`). In some versions it also lists all messages so far,
 * one content block each (`data.normalizedMessages`). Either may lack a block that the other has, and a subagent may repeat a
 * block. So the copies of each block are counted, in each list and over all newest messages. A block is added when either count
 * exceeds the number of copies added before.
 */
export class AgentProgress {
  readonly #held = new Map<string, number>();
  readonly #newest = new Map<string, number>();
  readonly #newestUuids = new Set<string>();

  /** Returns the new lines in a progress line, as the subagent's own file would hold them. */
  linesOf(progress: JsonObject): JsonObject[] {
    const data = objectOf(progress.data);
    const lines = this.#added(objectsOf(data.normalizedMessages), new Map());
    const newest = isObject(data.message) ? [data.message] : [];
    const untold = newest.filter(({ uuid }) => typeof uuid !== "string" || !this.#newestUuids.has(uuid));
    lines.push(...this.#added(untold, this.#newest));
    for (const { uuid } of untold) if (typeof uuid === "string") this.#newestUuids.add(uuid);
    const { sessionId, cwd, gitBranch, version } = progress;
    return lines.map((line) => ({ ...line, sessionId, cwd, gitBranch, version }) as JsonObject);
  }

  #added(messages: readonly JsonObject[], counts: Map<string, number>): JsonObject[] {
    const added: JsonObject[] = [];
    for (const message of messages) {
      const fresh = blocksOf(message).filter((block) => {
        const key = keyOf(message, block);
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        if (count <= (this.#held.get(key) ?? 0)) return false;
        this.#held.set(key, count);
        return true;
      });
      if (fresh.length === 0) continue;
      const { message: said } = message;
      added.push(isObject(said) ? { ...message, message: { ...said, content: fresh } } : message);
    }
    return added;
  }
}

/** Returns the blocks of a message. Anything else, such as an attachment, counts as one block. */
function blocksOf(message: JsonObject): JsonValue[] {
  if (!isObject(message.message)) return [message];
  const { content } = message.message;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [];
}

function keyOf({ uuid, message }: JsonObject, block: JsonValue): string {
  const owner = objectOf(message).id ?? objectOf(block).tool_use_id ?? stringOf(uuid)?.slice(0, UUID_PREFIX_LENGTH);
  return derivedId(`${owner}`, block);
}
