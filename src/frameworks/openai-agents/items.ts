import type { AgentInputItem } from "@openai/agents-core";
import type { JsonValue, MessageInput, Part, Role } from "../../core/message.ts";
import { fromJson, getAt, type OddValue, type Path, setAt, toJson } from "./values.ts";

/** The fields of an item that a message keeps beside its parts, so that the item comes back as it was. */
interface KeptItem {
  item: JsonValue;
  /** Values of the item that are in the parts: where in the item, where in the parts, and whether the item has it as JSON text. */
  moved?: [Path, Path, "json"?][];
  odd?: OddValue[];
}

interface KeptItems {
  items: KeptItem[];
  /** True if the session's items begin here. Earlier messages stay. */
  startsHistory?: true;
}

type StoredMessage = { role: Role; parts: readonly Part[]; metadata?: Record<string, JsonValue> };
type Fields = Record<string, unknown>;

const OWN = "openaiAgents";

/** Texts of messages, by the type of the content. */
const TEXT_FIELDS: Readonly<Record<string, string>> = {
  input_text: "text",
  output_text: "text",
  reasoning_text: "text",
  refusal: "refusal",
};

/**
 * Converts items to messages. What the model says and does in one go becomes one message, so that its calls and their results are
 * one step.
 */
export function messagesOf(items: readonly AgentInputItem[]): MessageInput[] {
  const messages: { role: Role; parts: Part[]; kept: KeptItems }[] = [];
  for (const item of items) {
    const draft = new Draft(item);
    const last = messages.at(-1);
    const continues = last?.role === "assistant" && draft.role === "assistant" && !endsAnswer(last.parts, draft.parts);
    const message = continues ? last! : { role: draft.role, parts: [], kept: { items: [] } };
    if (!continues) messages.push(message);
    message.kept.items.push(draft.keptAfter(message.parts.length));
    message.parts.push(...draft.parts);
  }
  return messages.map(({ role, parts, kept }) => messageInput(role, parts, kept));
}

/** A message from which the session's items begin, for example with a compaction. Nobody searches or quotes it. */
export function startOfHistory(items: readonly AgentInputItem[]): MessageInput {
  const kept = items.map((item) => {
    const { json, odd } = toJson(item);
    return odd.length === 0 ? { item: json } : { item: json, odd };
  });
  const parts: Part[] = [{ type: "data", data: { type: "history_replaced" }, injected: true }];
  return messageInput("assistant", parts, { items: kept, startsHistory: true });
}

export function startsHistory({ metadata }: StoredMessage): boolean {
  return keptIn(metadata)?.startsHistory === true;
}

/** Returns the items of a message. A message that was no item becomes the nearest ones. */
export function itemsOf(message: StoredMessage, nameOfCall: (callId: string) => string | undefined): AgentInputItem[] {
  const kept = keptIn(message.metadata)?.items;
  const restored = kept?.map((item) => restoredItem(item, message.parts));
  if (restored !== undefined && !restored.includes(undefined)) return restored as AgentInputItem[];
  return message.parts.flatMap((part) => plainItems(message.role, part, nameOfCall)) as AgentInputItem[];
}

/** A text after a call begins another answer, and so does a second text. */
function endsAnswer(before: readonly Part[], next: readonly Part[]): boolean {
  const says = ({ type }: Part): boolean => type === "text";
  return next.some(says) && before.some((part) => says(part) || part.type === "tool_call");
}

function messageInput(role: Role, parts: readonly Part[], kept: KeptItems): MessageInput {
  return { role, parts, metadata: { [OWN]: kept } };
}

function keptIn(metadata: Record<string, JsonValue> | undefined): KeptItems | undefined {
  return metadata?.[OWN] as KeptItems | undefined;
}

function restoredItem({ item, moved = [], odd = [] }: KeptItem, parts: readonly Part[]): unknown {
  let value: unknown = structuredClone(item);
  for (const [at, from, form] of moved) {
    const found = getAt(parts, from);
    if (found === undefined) return undefined; // the context has left the part out
    value = setAt(value, at, form === "json" ? JSON.stringify(found) : structuredClone(found));
  }
  return fromJson({ json: value as JsonValue, odd });
}

/** The parts of one item. Long values are in the parts alone, and `moved` says where. */
class Draft {
  readonly role: Role;
  readonly parts: Part[] = [];
  readonly #item: JsonValue;
  readonly #odd: OddValue[];
  readonly #moved: [Path, Path, "json"?][] = [];

  constructor(given: AgentInputItem) {
    const { json, odd } = toJson(given);
    this.#item = json;
    this.#odd = odd;
    this.role = this.#fill(json as Fields);
  }

  /** @param offset  The number of parts before these in the message. */
  keptAfter(offset: number): KeptItem {
    const moved = this.#moved.map(([at, [index, ...rest], form]): [Path, Path, "json"?] => {
      const from = [(index as number) + offset, ...rest];
      return form === undefined ? [at, from] : [at, from, form];
    });
    return {
      item: this.#moved.reduce<unknown>((item, [at]) => setAt(item, at, null), this.#item) as JsonValue,
      ...(moved.length > 0 && { moved }),
      ...(this.#odd.length > 0 && { odd: this.#odd }),
    };
  }

  #fill(item: Fields): Role {
    const { type = "message", role } = item;
    if (type === "message" && (role === "user" || role === "system" || role === "assistant")) {
      if (typeof item.content === "string") this.#addText("text", item.content, ["content"]);
      else this.#addTexts("text", "content", item);
      return role;
    }
    if (type === "reasoning") {
      this.#addTexts("reasoning", "content", item);
      this.#addTexts("reasoning", "rawContent", item);
      return "assistant";
    }
    const { callId } = item;
    if (typeof type === "string" && typeof callId === "string" && callId !== "") {
      if (type.endsWith("_call")) return this.#addCall(type, callId, item);
      if (/_call_(result|output)$/.test(type)) return this.#addResult(callId, item);
    }
    this.#add({ type: "data", data: this.#item, ...(type === "compaction" && { injected: true }) });
    this.#move([], ["data"]);
    return "assistant";
  }

  #addTexts(as: "text" | "reasoning", field: string, item: Fields): void {
    const content = item[field];
    if (!Array.isArray(content)) return;
    content.forEach((block: Fields | null, index) => {
      const name = TEXT_FIELDS[String(block?.type)];
      if (name !== undefined) this.#addText(as, block?.[name], [field, index, name]);
      else this.#addFile(block, [field, index]);
    });
  }

  /** A context leaves out texts of white space, so they stay in the item. */
  #addText(type: "text" | "reasoning", text: unknown, at: Path): void {
    if (typeof text !== "string" || text.trim() === "") return;
    this.#add({ type, text });
    this.#move(at, ["text"]);
  }

  #addFile(block: Fields | null, at: Path): void {
    const field = block?.type === "input_image" ? "image" : block?.type === "input_file" ? "file" : undefined;
    const url = field === undefined ? undefined : block?.[field];
    if (field === undefined || typeof url !== "string" || url === "") return;
    const unknown = field === "image" ? "image/*" : "application/octet-stream";
    const mediaType = /^data:([^;,]{1,200})/.exec(url)?.[1] ?? unknown;
    const name = typeof block?.filename === "string" ? { name: block.filename } : {};
    this.#add({ type: "file", mediaType, url, ...name });
    this.#move([...at, field], ["url"]);
  }

  #addCall(type: string, toolCallId: string, item: Fields): Role {
    const name = typeof item.name === "string" && item.name !== "" ? item.name : type.slice(0, -"_call".length);
    const json = item.arguments;
    if (typeof json === "string") {
      const args = parsed(json);
      this.#add({ type: "tool_call", toolCallId, name, args: args === undefined ? json : args });
      if (args !== undefined && JSON.stringify(args) === json) this.#move(["arguments"], ["args"], "json");
    } else {
      const field = ["action", "actions", "operation", "arguments"].find((name) => Object.hasOwn(item, name));
      this.#add({ type: "tool_call", toolCallId, name, args: field === undefined ? {} : item[field] });
      if (field !== undefined) this.#move([field], ["args"]);
    }
    this.#move(["callId"], ["toolCallId"]);
    return "assistant";
  }

  #addResult(toolCallId: string, item: Fields): Role {
    const name = typeof item.name === "string" ? { name: item.name } : {};
    const { output } = item;
    const single = typeof output === "string" ? output : getAt(output, ["text"]);
    if (typeof single === "string") {
      this.#add({ type: "tool_result", toolCallId, content: single, ...name });
      this.#move(typeof output === "string" ? ["output"] : ["output", "text"], ["content"]);
    } else {
      const found = (Array.isArray(output) ? output : []).flatMap((block: Fields, index) =>
        ["text", "stdout", "stderr"].flatMap((field) => {
          const text = block?.[field];
          return typeof text === "string" && text.trim() !== "" ? [{ text, at: ["output", index, field] }] : [];
        }),
      );
      const content = found.map(({ text }) => ({ type: "text" as const, text }));
      this.#add({ type: "tool_result", toolCallId, content, ...name });
      for (const [index, { at }] of found.entries()) this.#move(at, ["content", index, "text"]);
    }
    this.#move(["callId"], ["toolCallId"]);
    return "tool";
  }

  #add(part: Part): void {
    this.parts.push(part);
  }

  /** The newest part has this value of the item. */
  #move(at: Path, inPart: Path, form?: "json"): void {
    const from = [this.parts.length - 1, ...inPart];
    this.#moved.push(form === undefined ? [at, from] : [at, from, form]);
  }
}

/** Returns undefined for a text that is not JSON, or that has a number out of range. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json, (_, value) => {
      if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) throw new RangeError();
      return value;
    });
  } catch {
    return undefined;
  }
}

/** The items for a part of a message that was no item, such as a summary or an imported message. */
function plainItems(role: Role, part: Part, nameOfCall: (callId: string) => string | undefined): Fields[] {
  switch (part.type) {
    case "text":
      return [said(role, part.text)];
    case "reasoning":
      return []; // only its own model takes it
    case "tool_call": {
      const { toolCallId: callId, name, args } = part;
      return [{ type: "function_call", callId, name, status: "completed", arguments: JSON.stringify(args ?? {}) }];
    }
    case "tool_result": {
      const { toolCallId: callId, content, name = nameOfCall(callId) ?? "unknown" } = part;
      const texts = typeof content === "string" ? [content] : content.map(textOf);
      const output = { type: "text", text: texts.join("\n") };
      return [{ type: "function_call_result", callId, name, status: "completed", output }];
    }
    case "file":
    case "data":
      return [said(role, textOf(part))];
  }
}

function said(role: Role, text: string): Fields {
  if (role === "system") return { role, content: text };
  if (role !== "assistant") return { role: "user", content: [{ type: "input_text", text }] };
  return { type: "message", role, status: "completed", content: [{ type: "output_text", text }] };
}

function textOf(part: Part): string {
  if (part.type === "text") return part.text;
  if (part.type === "file") return `[${part.name ?? part.mediaType}]`;
  return part.type === "data" ? JSON.stringify(part.data) : "";
}
