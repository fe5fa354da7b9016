import { basename, extname } from "node:path";
import type { JsonValue, Part } from "../../core/message.ts";
import { fileNameOf, timeOf } from "../conversations.ts";
import { type MessageEntry, messageEntry, partKeyOf } from "../entry.ts";
import { dataPartOf, resultContentOf, resultPart, textParts, thoughtParts } from "../file-parts.ts";
import { injected } from "../injected.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { booleanOf, derivedId, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

export interface GooseMessage {
  line: number;
  value: JsonObject;
}

/** What asks the user, or tells what the program does. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "conversationCompacted",
  "systemNotification",
  "toolConfirmationRequest",
]);

/** Names that Goose gives a session before it has one. */
const NO_TITLE = /^(?:CLI Session|New (?:chat|session).*)$/i;

/**
 * Turns the messages of one session into events. When Goose compacts a session it writes all messages anew, and gives some of them
 * other ids, so a message is known by its time and its words. It is given the session's row, or what a file tells about it.
 */
export class GooseTranslator extends Translator<GooseMessage, JsonObject> {
  /** True if the model no longer gets the newest message. */
  #isCompacted = false;

  protected override read({ line, value }: GooseMessage): MessageEntry[] | string | undefined {
    const { role, content, metadata } = value;
    if ((role !== "user" && role !== "assistant") || !Array.isArray(content)) {
      return "expected a role, user or assistant, and a list as content";
    }
    const { userVisible, agentVisible } = objectOf(metadata);
    const parts = content.flatMap(partsOf);
    const results = parts.filter(({ type }) => type === "tool_result");
    const others = parts.filter(({ type }) => type !== "tool_result");
    const isOfProgram = userVisible === false && role === "user";
    const isSummary = this.#isCompacted && userVisible === false && results.length === 0 && others.length > 0;
    this.#isCompacted = agentVisible === false;
    const time = timeOf(value);
    const id = derivedId(role, time, parts.map(partKeyOf));
    const entries: MessageEntry[] = results.map((part) =>
      messageEntry(line, "tool", `${id}:${part.toolCallId}`, [part], time),
    );
    if (others.length > 0) {
      const said = isOfProgram && !isSummary ? injected(others) : others;
      entries.push(messageEntry(line, role, id, said, time, isSummary ? { isCompactSummary: true } : {}));
    }
    return entries;
  }

  protected override session(): SessionFacts {
    const { id, working_dir, name, description, parent_session_id, session_type, provider_name } = this.given;
    const stem = basename(this.file.path, extname(this.file.path));
    const title = stringOf(name) ?? stringOf(description) ?? "";
    const kind = session_type === "user" ? undefined : session_type;
    return {
      externalId: stringOf(id) ?? (/^\d{8}_\d+$/.test(stem) ? stem : fileNameOf(this.file.path)),
      source: "goose",
      parentExternalId: stringOf(parent_session_id),
      isSubagent: session_type === "sub_agent",
      folder: stringOf(working_dir),
      title: NO_TITLE.test(title) ? undefined : stringOf(title),
      metadata: saidOf({ cwd: working_dir, provider: provider_name, kind }),
    };
  }
}

function partsOf(block: JsonValue): Part[] {
  const { type, text, thinking, signature, data, mimeType, id, toolCall, toolResult } = objectOf(block);
  switch (type) {
    case "text":
      return typeof text === "string" ? textParts(text) : [dataPartOf(block)];
    case "thinking":
    case "reasoning": {
      const thought = thoughtParts(stringOf(thinking) ?? text, saidOf({ signature }));
      return thought.length > 0 ? thought : [dataPartOf(block)];
    }
    case "redactedThinking":
      return [{ type: "reasoning", text: "", ...saidOf({ redacted: data }) }];
    case "image":
      return typeof data === "string"
        ? [{ type: "file", mediaType: stringOf(mimeType) ?? "image/png", data }]
        : [dataPartOf(block)];
    case "toolRequest":
    case "frontendToolRequest": {
      const { value, error } = objectOf(toolCall);
      const { name, arguments: args } = objectOf(value);
      if (!stringOf(id)) return [dataPartOf(block)];
      const called = stringOf(name) ?? "unknown";
      return [{ type: "tool_call", toolCallId: id as string, name: called, args: args ?? {}, ...saidOf({ error }) }];
    }
    case "toolResponse":
      return stringOf(id) ? [resultOf(id as string, objectOf(toolResult))] : [dataPartOf(block)];
    default:
      return BOOKKEEPING.has(type) ? [] : [dataPartOf(block)];
  }
}

/** Returns a result. What is only for the user repeats what the model gets, in colors. */
function resultOf(toolCallId: string, { value, error }: JsonObject): Part {
  if (value === undefined)
    return resultPart(toolCallId, stringOf(error) ?? JSON.stringify(error ?? ""), { isError: true });
  const listed = objectsOf(isObject(value) ? value.content : value);
  const forModel = listed.filter(({ annotations }) => {
    const { audience } = objectOf(annotations);
    return !Array.isArray(audience) || audience.includes("assistant");
  });
  const parts = (forModel.length > 0 ? forModel : listed).flatMap(partsOf);
  const content = parts.length === 0 && typeof value === "string" ? value : resultContentOf(parts);
  return resultPart(toolCallId, content, { isError: booleanOf(objectOf(value).isError) });
}
