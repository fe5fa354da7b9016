import type { JsonValue, Part } from "../../core/message.ts";
import { type MessageEntry, messageEntry, resultEntry } from "../entry.ts";
import { dataPartOf } from "../file-parts.ts";
import { injected } from "../injected.ts";
import { isObject, type JsonObject, valueIn } from "../lines.ts";
import { millisecondsOf, numberOf, objectOf, objectsOf, pathOfAddress, saidOf, stringOf } from "../values.ts";
import { pathIn } from "./prompt.ts";

/** Kinds of items that the editor shows while it works, or that repeat a call. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "autoModeResolution",
  "clearToPreviousToolInvocation",
  "codeblockUri",
  "command",
  "disabledClaudeHooks",
  "extensions",
  "mcpServersStarting",
  "multiDiffData",
  "prepareToolInvocation",
  "progressMessage",
  "progressTask",
  "progressTaskSerialized",
  "undoStop",
]);

/** A call of the model, as it was sent. Its id has another ending than where the editor shows it. */
interface Call {
  id: string;
  shownId: string;
  name: string;
  args: JsonValue;
  round: number;
  time: number | undefined;
}

/** Tools that the editor and the model call by different names. */
const SHOWN_NAMES: Readonly<Record<string, string>> = {
  findfiles: "filesearch",
  findtextinfiles: "grepsearch",
  searchcodebase: "semanticsearch",
};

/**
 * Returns the messages of a response. It has the words, the thoughts and the calls as they were shown; what the calls were given and
 * what they returned stands beside it, by round. A message has the words and the calls of a round, and its results follow.
 */
export function replyOf(request: JsonObject, requestId: string, line: number): MessageEntry[] {
  const { response, responseId, modelId, modelState, result } = request;
  const metadata = objectOf(objectOf(result).metadata);
  const calls = callsIn(metadata);
  const items = typeof response === "string" ? [response] : Array.isArray(response) ? response : [];
  const { shown, hidden } = pairsOf(items, calls);
  const id = stringOf(responseId) ?? `${requestId}/response`;
  const entries: MessageEntry[] = [];
  let parts: Part[] = [];
  let results: Part[] = [];
  let newest: Call | undefined;
  const end = (): void => {
    if (parts.length === 0) return;
    const entryId = entries.length === 0 ? id : `${id}/${entries.length}`;
    const about = saidOf({ model: modelId });
    entries.push(messageEntry(line, "assistant", entryId, parts, newest?.time, about));
    for (const part of results) entries.push(resultEntry(line, entryId, part, newest?.time));
    [parts, results, newest] = [[], [], undefined];
  };
  const say = (part: Part): void => {
    if (parts.some(({ type }) => type === "tool_call")) end();
    const last = parts.at(-1);
    if (last?.type === "text" && part.type === "text" && !part.injected) last.text += part.text;
    else parts.push(part);
  };
  const callOf = (call: Call | undefined, tool: JsonObject): void => {
    if (newest !== undefined && call !== undefined && call.round !== newest.round) end();
    newest = call ?? newest;
    const toolCallId = call?.id ?? stringOf(tool.toolCallId) ?? `${id}#${entries.length}.${parts.length}`;
    const name = call?.name ?? stringOf(tool.toolId) ?? "unknown";
    parts.push({ type: "tool_call", toolCallId, name, args: call?.args ?? argsOf(tool) });
    const answer = resultOf(call, metadata, tool);
    if (answer !== undefined) results.push({ type: "tool_result", toolCallId, name, ...answer } as Part);
  };
  for (const [index, item] of items.entries()) {
    const { kind, value } = typeof item === "string" ? { kind: undefined, value: item } : objectOf(item);
    if (TOOLS.has(kind)) {
      callOf(shown.get(index), objectOf(item));
    } else if (kind === "thinking") {
      const text = [value].flat().filter((one) => typeof one === "string");
      if (text.join("") !== "") say({ type: "reasoning", text: text.join("") });
    } else if (kind === "textEditGroup" || kind === "notebookEditGroup") {
      if (calls.length === 0) say(editOf(objectOf(item)));
    } else if (!BOOKKEEPING.has(kind)) {
      const text = textOf(item);
      if (text !== "") say(text === undefined ? dataPartOf(item) : { type: "text", text });
    }
  }
  for (const call of hidden) callOf(call, {});
  for (const [toolCallId, value] of Object.entries(objectOf(metadata.toolCallResults))) {
    if (calls.every((call) => call.id !== toolCallId)) say(dataPartOf({ toolCallId, content: answerIn(value) }));
  }
  const error = stringOf(objectOf(objectOf(result).errorDetails).message);
  if (error !== undefined) say(injected([{ type: "text", text: error }])[0]!);
  end();
  const last = entries.findLast(({ message }) => message.role === "assistant");
  if (last !== undefined) {
    Object.assign(last.message.metadata, saidOf({ usage: usageOf(request, metadata) }));
    const time = millisecondsOf(objectOf(modelState).completedAt);
    if (time !== undefined && last === entries.at(-1)) last.message.createdAt ??= time;
  }
  return entries;
}

/** Cuts a response off before its first call: what the calls were given and returned comes at the end of the response. */
export function beforeCalls(request: JsonObject): JsonObject {
  const items = Array.isArray(request.response) ? request.response : [];
  const at = items.findIndex((item) => TOOLS.has(objectOf(item).kind));
  return at === -1 ? request : { ...request, response: items.slice(0, at) };
}

function callsIn({ toolCallRounds }: JsonObject): Call[] {
  return objectsOf(toolCallRounds).flatMap(({ toolCalls, timestamp }, round) =>
    objectsOf(toolCalls).map((call, index): Call => {
      const { arguments: given } = call;
      const id = stringOf(call.id) ?? `${round}.${index}`;
      const name = stringOf(call.name) ?? "unknown";
      const args = typeof given === "string" && given !== "" ? valueIn(given, { text: given }) : given || {};
      return { id, shownId: id.replace(/__vscode-\d+$/, ""), name, args, round, time: millisecondsOf(timestamp) };
    }),
  );
}

/** Finds the call of each tool that is shown, by the index of its item: by its id, or else the next one with its name. */
function pairsOf(items: readonly JsonValue[], calls: readonly Call[]): { shown: Map<number, Call>; hidden: Set<Call> } {
  const shown = new Map<number, Call>();
  const hidden = new Set(calls);
  /** Each tool with the same key takes the next of the calls. */
  const take = (field: string, callsOf: (key: string) => readonly Call[]): void => {
    const waiting = new Map<string, Iterator<Call>>();
    for (const [index, item] of items.entries()) {
      const tool = objectOf(item);
      const key = stringOf(tool[field]);
      if (!TOOLS.has(tool.kind) || shown.has(index) || key === undefined) continue;
      const next = waiting.get(key) ?? callsOf(key)[Symbol.iterator]();
      waiting.set(key, next);
      let found = next.next();
      while (!found.done && !hidden.has(found.value)) found = next.next();
      if (found.done) continue;
      hidden.delete(found.value);
      shown.set(index, found.value);
    }
  };
  const byId = new Map<string, Call[]>();
  for (const call of calls) {
    for (const id of new Set([call.id, call.shownId])) {
      const same = byId.get(id);
      if (same === undefined) byId.set(id, [call]);
      else same.push(call);
    }
  }
  take("toolCallId", (id) => byId.get(id) ?? []);
  take("toolId", (toolId) => calls.filter(({ name }) => isNamed(name, toolId)));
  return { shown, hidden };
}

const TOOLS: ReadonlySet<unknown> = new Set(["toolInvocation", "toolInvocationSerialized"]);

function isNamed(name: string, toolId: string): boolean {
  const [sent, own] = [name, toolId.replace(/^(?:copilot|vscode)_/, "")].map((one) =>
    one.replace(/[^a-z\d]/gi, "").toLowerCase(),
  ) as [string, string];
  const known = SHOWN_NAMES[own] ?? own;
  return sent.startsWith(known) || known.startsWith(sent);
}

/** Returns the arguments of a call that only the editor has, as far as it shows them. */
function argsOf({ resultDetails, toolSpecificData, invocationMessage }: JsonObject): JsonValue {
  const { kind, commandLine, command, rawInput } = objectOf(toolSpecificData);
  const { userEdited, toolEdited, original } = objectOf(commandLine);
  const line = stringOf(userEdited) ?? stringOf(toolEdited) ?? stringOf(original) ?? stringOf(command);
  if (kind === "terminal" && line !== undefined) return { command: line };
  const { input } = objectOf(resultDetails);
  const given = typeof input === "string" ? valueIn(input) : undefined;
  if (isObject(given)) return given;
  if (isObject(rawInput)) return rawInput;
  const [address] = Object.keys(objectOf(objectOf(invocationMessage).uris));
  return saidOf({ filePath: pathOfAddress(address), message: textOf(invocationMessage ?? null) || null });
}

function resultOf(call: Call | undefined, metadata: JsonObject, tool: JsonObject): JsonObject | undefined {
  const stored = call && objectOf(metadata.toolCallResults)[call.id];
  const { output, isError } = objectOf(tool.resultDetails);
  const told = typeof isError === "boolean" ? { isError } : {};
  if (isObject(stored)) {
    const content = answerIn(stored);
    return FAILED.test(content) ? { content, isError: true } : { content, ...told };
  }
  const texts = typeof output === "string" ? [output] : objectsOf(output).flatMap(({ value }) => stringOf(value) ?? []);
  const printed = stringOf(objectOf(objectOf(tool.toolSpecificData).terminalCommandOutput).text);
  if (texts.length === 0 && printed === undefined && tool.isComplete !== true) return undefined;
  const content = texts.length > 0 ? texts.join("\n") : (printed ?? textOf(tool.pastTenseMessage ?? null) ?? "");
  return { content, ...told };
}

const FAILED = /^ERROR while calling tool: /;

function answerIn(result: JsonValue): string {
  return objectsOf(objectOf(result).content)
    .map(({ value }) => contentOf(value))
    .join("\n");
}

/** Returns the text of a result: a text, or a tree of elements with texts. */
function contentOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  const { node, text, children, lineBreakBefore } = objectOf(value);
  if (isObject(node)) return contentOf(node);
  const own = typeof text === "string" ? text : objectsOf(children).map(contentOf).join("");
  return lineBreakBefore === true ? `\n${own}` : own;
}

/** Returns the words of an item, or the name of what it links to; undefined if it has neither. */
function textOf(item: JsonValue): string | undefined {
  if (typeof item === "string") return item;
  const { kind, value, content, name, inlineReference } = objectOf(item);
  if (kind === "inlineReference") return stringOf(name) ?? pathIn(inlineReference) ?? "";
  if (typeof value === "string") return value;
  return content === undefined ? undefined : textOf(content);
}

/** Returns an edit that the model made without a call. */
function editOf({ kind, uri, edits }: JsonObject): Part {
  const texts = [edits].flat(2).map((edit) => {
    const { text, edit: inner } = objectOf(edit);
    return stringOf(text) ?? stringOf(objectOf(inner).text) ?? "";
  });
  return dataPartOf(saidOf({ kind, path: pathIn(uri), text: texts.join("") }));
}

/** Returns the usage under the names that it has in OpenAI's replies. */
function usageOf({ completionTokens }: JsonObject, { promptTokens, outputTokens }: JsonObject): JsonObject {
  return saidOf({
    input_tokens: numberOf(promptTokens),
    output_tokens: numberOf(outputTokens) ?? numberOf(completionTokens),
  });
}
