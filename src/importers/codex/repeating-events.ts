import type { JsonValue, Part } from "../../core/message.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import { dataPartOf, filePartOf, resultPart, resultTextOf } from "../file-parts.ts";
import type { JsonObject } from "../lines.ts";
import { derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

const CALL_ENDS: ReadonlySet<unknown> = new Set([
  "exec_command_end",
  "mcp_tool_call_end",
  "patch_apply_end",
  "tool_call_end",
]);

/** An event that is held until its turn is over. */
interface OpenEvent {
  line: number;
  timestamp: string | undefined;
  event: JsonObject;
  words: string | undefined;
  callId: string | undefined;
  /** How many items came before it. */
  itemCount: number;
}

/** How a turn ended: `begun` means that the next one began. */
export type TurnEnd = "complete" | "aborted" | "begun";

/**
 * Events that usually repeat an item: they hold words, or say how a call ended. Each event is held until its turn is over. It
 * becomes a message if no item had the same words or the same call. If the item comes after all, the event has told it.
 */
export class RepeatingEvents {
  readonly #words = new Set<string>();
  readonly #callIds = new Set<string>();
  #open: OpenEvent[] = [];
  /** The held events that no item has repeated yet, by the digest of their first paragraph or by call. An import that found the end of the file here told them. */
  readonly #alone = new Map<string, OpenEvent[]>();
  #itemCount = 0;
  /** What the messages of events told, until a turn is complete in which their items may still come. */
  #told = new Set<string>();

  /** @returns the ids of messages that the events before the item became in an import without the item. */
  seeWords(words: readonly string[]): string[] {
    this.#itemCount += 1;
    this.#remember(words);
    if (this.#alone.size === 0) return [];
    // If several events have the same words, each item repeats one of them.
    const claimed = new Set<string>();
    return words.flatMap(paragraphsIn).flatMap((digest) => {
      const same = claimed.has(digest) ? [] : (this.#alone.get(digest) ?? []);
      claimed.add(digest);
      const at = same.findIndex((one) => this.hasWords(one.words!));
      if (at === -1) return [];
      const [one] = same.splice(at, 1);
      for (const other of paragraphsIn(one!.words!)) claimed.add(other);
      return idOf(one!);
    });
  }

  #remember(words: readonly string[]): void {
    // An event may hold all texts of an item, joined.
    const whole = words.length > 1 ? [words.join("")] : [];
    for (const text of [...words, ...whole])
      for (const digest of [digestOf(text), ...paragraphsIn(text)]) this.#words.add(digest);
  }

  /** An item joins the thoughts of several events, each of which may have several paragraphs. */
  hasWords(text: string): boolean {
    return this.#words.has(digestOf(text)) || paragraphsIn(text).every((digest) => this.#words.has(digest));
  }

  /** @returns as `seeWords` does, for the item of a call or of its answer. */
  seeCall(callId: string): { call: string[]; answer: string[] } {
    this.#itemCount += 1;
    this.#callIds.add(callId);
    const ends = (this.#alone.get(callId) ?? []).map(idOf);
    return { call: ends, answer: ends.map(answerIdOf) };
  }

  /** Holds an event of a kind that repeats items. Returns false for any other event. */
  see(event: JsonObject, info: { line: number; timestamp: string | undefined }): boolean {
    if (event.type === "item_completed") {
      const events = eventsOfCompleted(objectOf(event.item));
      for (const one of events ?? []) this.see(one, info);
      return events !== undefined;
    }
    const words = wordsIn(event);
    const callId = CALL_ENDS.has(event.type) ? stringOf(event.call_id) : undefined;
    if (words === undefined && callId === undefined) return false;
    if (words === "") return true;
    const one = { ...info, event, words, callId, itemCount: this.#itemCount };
    this.#hold(one);
    return true;
  }

  #hold(one: OpenEvent): void {
    this.#open.push(one);
    if (this.#isRepeated(one)) return;
    const key = one.callId ?? paragraphsIn(one.words!)[0]!;
    const same = this.#alone.get(key);
    if (same === undefined) this.#alone.set(key, [one]);
    else same.push(one);
  }

  #isRepeated({ words, callId }: OpenEvent): boolean {
    return callId === undefined ? this.hasWords(words!) : this.#callIds.has(callId);
  }

  /**
   * Ends a turn: removes the held events and returns messages for those that repeat no item. A prompt that comes just before the
   * beginning of a turn belongs to that turn.
   */
  takeUnrepeated(how: TurnEnd): MessageEntry[] {
    const isNext = ({ event, itemCount }: OpenEvent) =>
      how === "begun" && event.type === "user_message" && itemCount === this.#itemCount;
    const end = this.#open.findLastIndex((one) => !isNext(one)) + 1;
    const next = this.#open.splice(end);
    const unrepeated = this.#take();
    for (const one of next) this.#hold(one);
    this.#remember(unrepeated.flatMap(({ words }) => words ?? []));
    const entries = unrepeated.flatMap(entriesOf);
    if (how === "complete") this.#told.clear();
    const told = entries.flatMap(({ message }) => message.parts);
    for (const key of told.flatMap((part) => [...keysOf(part), ...paragraphsOf(part)])) this.#told.add(key);
    return entries;
  }

  /** Returns the parts of an item that no message of an event has told. What an event told counts for one item. */
  untold(parts: readonly Part[]): Part[] {
    if (this.#told.size === 0) return [...parts];
    return parts.filter((part) => {
      const isTold = [keysOf(part), paragraphsOf(part)].some((keys) => keys.every((key) => this.#told.has(key)));
      if (isTold) for (const key of [...keysOf(part), ...paragraphsOf(part)]) this.#told.delete(key);
      return !isTold;
    });
  }

  /**
   * Removes the held events at the end of a file that may grow, and returns those that repeat no item so far. Their items may
   * still be written.
   */
  takeOpen(): { line: number; type: string }[] {
    return this.#take().map(({ line, event }) => ({ line, type: String(event.type) }));
  }

  #take(): OpenEvent[] {
    const open = this.#open.filter((one) => !this.#isRepeated(one));
    this.#open = [];
    this.#alone.clear();
    return open;
  }
}

function keysOf(part: Part): string[] {
  if (part.type === "text" || part.type === "reasoning") return [digestOf(part.text)];
  const isOfCall = part.type === "tool_call" || part.type === "tool_result";
  return [isOfCall ? `${part.type} ${part.toolCallId}` : derivedId(part)];
}

/** An item may join what several events told. */
function paragraphsOf(part: Part): string[] {
  return part.type === "text" || part.type === "reasoning" ? paragraphsIn(part.text) : keysOf(part);
}

function paragraphsIn(text: string): string[] {
  return text.split("\n\n").map(digestOf);
}

function digestOf(words: string): string {
  return derivedId(words.trim());
}

/** Returns the words of an event, which may be empty; undefined if events of this type have none. */
function wordsIn(event: JsonObject): string | undefined {
  switch (event.type) {
    case "user_message":
    case "agent_message":
      return stringOf(event.message) ?? "";
    case "agent_reasoning":
    case "agent_reasoning_raw_content":
      return stringOf(event.text) ?? "";
    case "exited_review_mode":
      return stringOf(objectOf(event.review_output).overall_explanation) ?? "";
    default:
      return undefined;
  }
}

function idOf({ timestamp, event, callId }: OpenEvent): string {
  return callId === undefined ? derivedId("event", timestamp, event) : `event:${callId}`;
}

function answerIdOf(callEventId: string): string {
  return `${callEventId}:result`;
}

function entriesOf(open: OpenEvent): MessageEntry[] {
  const { line, timestamp, event, words, callId } = open;
  const createdAt = millisecondsOf(timestamp);
  const metadata = { type: event.type };
  const id = idOf(open);
  if (callId !== undefined) {
    const { type, call_id: _, stdout, stderr, aggregated_output, result, ...rest } = event;
    const name = stringOf(rest.tool) ?? String(type).replace(/_end$/, "");
    const outputs = [aggregated_output ?? null, stdout ?? null, stderr ?? null, result ?? null];
    const content = resultTextOf(outputs.find((output) => output !== null && output !== "") ?? "");
    const isFailed = rest.success === false || (typeof rest.exit_code === "number" && rest.exit_code !== 0);
    const answer = resultPart(callId, content, { isError: isFailed || undefined });
    const call: Part = { type: "tool_call", toolCallId: callId, name, args: rest };
    return [
      messageEntry(line, "assistant", id, [call], createdAt, metadata),
      messageEntry(line, "tool", answerIdOf(id), [answer], createdAt, metadata),
    ];
  }
  if (event.type === "user_message") {
    const parts: Part[] = [{ type: "text", text: words! }, ...attachedTo(event)];
    return [messageEntry(line, "user", id, parts, createdAt, metadata)];
  }
  const isThought = event.type === "agent_reasoning" || event.type === "agent_reasoning_raw_content";
  const part: Part = { type: isThought ? "reasoning" : "text", text: words! };
  return [messageEntry(line, "assistant", id, [part], createdAt, metadata)];
}

function attachedTo({ images, local_images: paths, others }: JsonObject): Part[] {
  const files = (Array.isArray(images) ? images : []).map((image) =>
    typeof image === "string" ? filePartOf(image, "image/*") : dataPartOf(image),
  );
  const local = (Array.isArray(paths) ? paths : []).map((path) => dataPartOf({ type: "local_image", path }));
  return [...files, ...local, ...objectsOf(others).map(dataPartOf)];
}

/** Completed items whose outcome is in an item of the model, or that say nothing about the conversation. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "ContextCompaction",
  "ImageGeneration",
  "ImageView",
  "Sleep",
  "SubAgentActivity",
  "WebSearch",
]);

/** Converts an `item_completed` event to the events of older versions, or returns undefined for an unknown kind. */
function eventsOfCompleted(item: JsonObject): JsonObject[] | undefined {
  const { type, id = null, content, text } = item;
  switch (type) {
    case "UserMessage": {
      const inputs = objectsOf(content);
      const words = inputs.flatMap((input) => (input.type === "text" ? (stringOf(input.text) ?? []) : []));
      const images = inputs.flatMap((input) => (input.type === "image" ? (stringOf(input.image_url) ?? []) : []));
      const others = inputs.filter((input) => input.type !== "text" && input.type !== "image");
      return [{ type: "user_message", id, message: words.join(""), images, others }];
    }
    case "HookPrompt":
      return textsOf(item.fragments).map((message) => ({ type: "user_message", id, message }));
    case "AgentMessage":
      return textsOf(content).map((message) => ({ type: "agent_message", id, message }));
    case "Plan":
      return stringOf(text) === undefined ? [] : [{ type: "agent_message", id, message: text! }];
    case "Reasoning":
      return [...textsOf(item.summary_text), ...textsOf(item.raw_content)].map((thought) => {
        return { type: "agent_reasoning", id, text: thought };
      });
    case "CommandExecution":
      return callEnd("exec_command_end", item);
    case "FileChange":
      return callEnd("patch_apply_end", item);
    case "McpToolCall":
    case "DynamicToolCall":
    case "CollabAgentToolCall": {
      const { error, result, content_items: items, agents_states: states, ...about } = item;
      const output = result ?? items ?? objectOf(error).message ?? error ?? states ?? null;
      return callEnd(type === "McpToolCall" ? "mcp_tool_call_end" : "tool_call_end", { ...about, result: output });
    }
    default:
      return BOOKKEEPING.has(type) ? [] : undefined;
  }
}

function callEnd(type: string, { type: _, id = null, status = null, ...rest }: JsonObject): JsonObject[] {
  const isFailed = status === "failed" || status === "declined";
  return [saidOf({ type, call_id: id, ...rest, status, success: isFailed ? false : null })];
}

function textsOf(value: JsonValue | undefined): string[] {
  const list = Array.isArray(value) ? value : [value ?? null];
  return list.flatMap((item) => stringOf(item) ?? stringOf(objectOf(item).text) ?? []);
}
