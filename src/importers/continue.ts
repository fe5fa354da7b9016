import { basename, dirname, join } from "node:path";
import type { JsonValue, Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import { fileNameOf } from "./conversations.ts";
import type { Element } from "./document-scanner.ts";
import { headElements, readDocument } from "./documents.ts";
import { type MessageEntry, messageEntry, resultEntry } from "./entry.ts";
import {
  dataPartOf,
  filePartOf,
  functionCallOf,
  resultContentOf,
  resultPart,
  resultTextOf,
  textParts,
  thoughtParts,
} from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import {
  derivedId,
  listOf,
  millisecondsOf,
  numberOf,
  objectOf,
  objectsOf,
  pathOfAddress,
  saidOf,
  stringOf,
} from "./values.ts";

/** Titles that Continue gives a session before it has one. */
const NO_TITLES: ReadonlySet<unknown> = new Set(["New Session", "Untitled Session"]);

/** Reads the sessions of Continue, of its extensions and its CLI: `~/.continue/sessions/<session>.json`. */
export const continueDev: Importer = {
  name: "continue",

  detect(head) {
    const keys = new Set<string | undefined>();
    let hasItem = false;
    for (const { key, value } of headElements(head)) {
      keys.add(key);
      const { message } = objectOf(value);
      hasItem ||= key === "history" && isObject(message) && ROLES.has(message.role);
    }
    return hasItem && (keys.has("sessionId") || keys.has("workspaceDirectory"));
  },

  read: (file) => new ContinueTranslator(file).translate(readDocument(file)),
};

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant", "thinking", "tool", "system"]);

/**
 * Translates the items of a session, which is written anew each time. The user may change a message, which takes back what follows,
 * so an item is known by its content. What the editor added to a message of the user is marked as injected.
 */
class ContinueTranslator extends Translator<Element> {
  readonly #about: JsonObject = {};
  /** The results that came with their calls. A list of some versions repeats them as messages. */
  readonly #results = new Map<string, string>();

  protected override isTelling({ key }: Element): boolean {
    return key === "history";
  }

  protected override read({ line, key, value }: Element): MessageEntry[] | string | undefined {
    if (key === undefined) return "expected a field of a session";
    if (key === "history") {
      const { message } = objectOf(value);
      return isObject(message) ? this.#entriesOf(objectOf(value), message, line) : "message: expected an object";
    }
    this.#about[key] = value;
    if (key === "title" && !NO_TITLES.has(value)) this.title = stringOf(value);
  }

  #entriesOf(item: JsonObject, message: JsonObject, line: number): MessageEntry[] | string {
    const { role, content, toolCalls, toolCallId } = message;
    const { reasoning, contextItems, conversationSummary } = item;
    const id = stringOf(item.id) ?? stringOf(message.id) ?? derivedId(role, content, toolCalls, toolCallId);
    const createdAt = millisecondsOf(item.timestamp) ?? millisecondsOf(objectOf(reasoning).startAt);
    const say = (speaker: "user" | "assistant", parts: Part[], about: JsonObject = {}): MessageEntry[] =>
      parts.length === 0 ? [] : [messageEntry(line, speaker, id, parts, createdAt, about)];
    const entries: MessageEntry[] = [];
    switch (role) {
      case "user":
        entries.push(...say("user", [...injected(contextParts(contextItems)), ...partsOf(content)]));
        break;
      case "system":
        // A system message would stay in every context from now on.
        entries.push(...say("user", injected(partsOf(content)), { role }));
        break;
      case "thinking": {
        const { signature, redactedThinking } = message;
        const text = textIn(content);
        if (text !== "" || redactedThinking !== undefined) {
          entries.push(...say("assistant", [{ type: "reasoning", text, ...saidOf({ signature, redactedThinking }) }]));
        }
        break;
      }
      case "assistant": {
        const states = [...objectsOf(item.toolCallStates), ...objectsOf([item.toolCallState ?? null])];
        entries.push(...this.#reply(item, message, states, say), ...this.#resultsIn(states, id, line, createdAt));
        break;
      }
      case "tool": {
        if (!stringOf(toolCallId)) return "toolCallId: expected a string";
        const text = textIn(content);
        if (this.#results.get(toolCallId as string) === text) break;
        entries.push(messageEntry(line, "tool", id, [resultPart(toolCallId as string, text)], createdAt));
        break;
      }
      default:
        return `unknown role: ${JSON.stringify(role ?? null)}`;
    }
    const summary = textParts(conversationSummary);
    if (summary.length > 0) {
      entries.push(messageEntry(line, "user", `${id}/summary`, summary, createdAt, { isCompactSummary: true }));
    }
    return entries;
  }

  #reply(
    { reasoning, promptLogs }: JsonObject,
    { content, toolCalls, usage }: JsonObject,
    states: readonly JsonObject[],
    say: (speaker: "assistant", parts: Part[], about: JsonObject) => MessageEntry[],
  ): MessageEntry[] {
    const parts: Part[] = [...thoughtParts(objectOf(reasoning).text), ...partsOf(content)];
    const called = objectsOf(toolCalls);
    const others = states
      .map(({ toolCall }) => objectOf(toolCall))
      .filter(({ id }) => called.every((call) => call.id !== id));
    for (const call of [...called, ...others]) {
      if (Object.keys(call).length > 0) parts.push(functionCallOf(call));
    }
    parts.push(...states.filter(({ toolCallId }) => !stringOf(toolCallId)).map(dataPartOf));
    const [log] = objectsOf(promptLogs);
    return say("assistant", parts, saidOf({ model: log?.modelTitle, usage: usageOf(objectOf(usage)) }));
  }

  #resultsIn(states: readonly JsonObject[], id: string, line: number, createdAt: number | undefined): MessageEntry[] {
    return states.flatMap(({ toolCallId, status, output, toolCall }) => {
      const isFailed = status === "errored" || status === "canceled";
      if (!stringOf(toolCallId) || (!isFailed && status !== "done")) return [];
      const texts = contextParts(output);
      const otherwise = typeof output === "string" ? output : isFailed ? String(status) : "";
      const content = texts.length === 0 ? otherwise : resultContentOf(texts);
      this.#results.set(toolCallId as string, typeof content === "string" ? content : textOf(content));
      const name = stringOf(objectOf(objectOf(toolCall).function).name);
      const result = resultPart(toolCallId as string, content, { name, isError: isFailed || undefined });
      return [resultEntry(line, id, result, createdAt)];
    });
  }

  protected override session(): SessionFacts {
    const { path } = this.file;
    const [, name] = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.json$/.exec(basename(path)) ?? [];
    const sessionId = stringOf(this.#about.sessionId) ?? name;
    const listed = listedAt(path, sessionId);
    const { dateCreated } = listed;
    const isText = typeof dateCreated === "string" && /^\d+$/.test(dateCreated);
    return {
      externalId: sessionId ?? fileNameOf(path),
      source: "continue",
      folder: pathOfAddress(stringOf(this.#about.workspaceDirectory) ?? stringOf(listed.workspaceDirectory)),
      createdAtMs: millisecondsOf(isText ? Number(dateCreated) : dateCreated),
      metadata: saidOf({ mode: this.#about.mode }),
    };
  }
}

function partsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return textParts(content);
  return listOf(content).flatMap((block): Part[] => {
    const { type, text, imageUrl } = objectOf(block);
    if (type === "text" && typeof text === "string") return text === "" ? [] : [{ type, text }];
    const url = type === "imageUrl" ? stringOf(objectOf(imageUrl).url) : undefined;
    return [url === undefined ? dataPartOf(block) : filePartOf(url, "image/*")];
  });
}

function textIn(content: JsonValue | undefined): string {
  return textOf(partsOf(content));
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : resultTextOf(part as JsonValue))).join("\n");
}

/** Returns what the editor or a tool lists as context: files, selections, outputs. */
function contextParts(items: JsonValue | undefined): Part[] {
  return objectsOf(items).map((item) => {
    const { name, description, content } = item;
    if (typeof content !== "string") return dataPartOf(item);
    return { type: "text", text: content, ...saidOf({ name, description: stringOf(description) }) };
  });
}

/** Returns the usage under the names that it has in OpenAI's replies. */
function usageOf({ promptTokens, completionTokens, promptTokensDetails }: JsonObject): JsonObject {
  const { cachedTokens } = objectOf(promptTokensDetails);
  return saidOf({
    input_tokens: numberOf(promptTokens),
    output_tokens: numberOf(completionTokens),
    cached_input_tokens: numberOf(cachedTokens),
  });
}

/** Returns what `sessions.json` beside a session lists of it. */
function listedAt(path: string, sessionId: string | undefined): JsonObject {
  const sessions = objectsOf(jsonAt(join(dirname(path), "sessions.json")));
  return sessions.find((one) => one.sessionId === sessionId) ?? {};
}
