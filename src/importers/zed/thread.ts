import type { JsonValue, Part } from "../../core/message.ts";
import type { Element } from "../document-scanner.ts";
import { type MessageEntry, messageEntry, resultEntry } from "../entry.ts";
import { callPart, dataPartOf, resultPart, resultTextOf, textParts } from "../file-parts.ts";
import type { Row } from "../foreign-database.ts";
import { injected } from "../injected.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { booleanOf, derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

/** Turns the messages of one thread into events. They have no times, and only those of the user have ids. */
export class ThreadTranslator extends Translator<Element, Row> {
  readonly #about: JsonObject = {};

  protected override read({ line, key, value }: Element): MessageEntry[] | string | undefined {
    if (key !== "messages") {
      if (key !== undefined) this.#about[key] = value;
      return;
    }
    if (value === "Resume") return;
    const kind = Object.keys(objectOf(value))[0] ?? JSON.stringify(value);
    return entriesOf(objectOf(value), line) ?? `thread ${this.given.id}: unknown kind of message: ${kind}`;
  }

  protected override session(): SessionFacts {
    const { id, summary, parent_id, folder_paths, created_at, updated_at } = this.given;
    const { model, profile, initial_project_snapshot } = this.#about;
    const [snapshot] = objectsOf(objectOf(initial_project_snapshot).worktree_snapshots);
    return {
      externalId: String(id),
      source: "zed",
      parentExternalId: stringOf(parent_id),
      isSubagent: stringOf(parent_id) !== undefined,
      // Several folders are on lines.
      folder: stringOf(folder_paths)?.split("\n")[0] ?? stringOf(snapshot?.worktree_path),
      title: stringOf(summary),
      createdAtMs: millisecondsOf(created_at) ?? millisecondsOf(updated_at),
      metadata: saidOf({ model: objectOf(model).model, provider: objectOf(model).provider, profile }),
    };
  }
}

function entriesOf(message: JsonObject, line: number): MessageEntry[] | undefined {
  const { User: user, Agent: agent, role } = message;
  if (isObject(user)) return said(line, "user", stringOf(user.id) ?? derivedId(user), contentOf(user.content));
  if (isObject(agent)) return replyOf(line, contentOf(agent.content), Object.values(objectOf(agent.tool_results)));
  // The first versions of the format.
  if (role !== "user" && role !== "assistant") return undefined;
  const { segments, context, tool_uses, tool_results } = message;
  const parts = objectsOf(segments).flatMap(segmentOf);
  if (role === "assistant") {
    return replyOf(line, [...parts, ...objectsOf(tool_uses).map(callOf)], objectsOf(tool_results));
  }
  return said(line, "user", derivedId(message), [...injected(textParts(context)), ...parts]);
}

function said(line: number, role: "user" | "assistant", id: string, parts: Part[]): MessageEntry[] {
  return parts.length === 0 ? [] : [messageEntry(line, role, id, parts, undefined)];
}

/** A reply is known by its words and calls. */
function replyOf(line: number, parts: Part[], results: readonly JsonValue[]): MessageEntry[] {
  const id = derivedId(parts);
  const answers = results.map((result) => {
    const { tool_use_id, tool_name, is_error, content, output } = objectOf(result);
    const toolCallId = stringOf(tool_use_id) ?? "";
    const text = [content].flat().map(textOf).join("\n") || resultTextOf(output);
    const facts = { isError: booleanOf(is_error), name: stringOf(tool_name) };
    return resultEntry(line, id, resultPart(toolCallId, text, facts), undefined);
  });
  return [...said(line, "assistant", id, parts), ...answers];
}

/** Returns the text of a result: `{ Text }`, a text, or something else as JSON. */
function textOf(content: JsonValue | undefined): string {
  return resultTextOf(stringOf(objectOf(content).Text) ?? content);
}

function contentOf(content: JsonValue | undefined): Part[] {
  return (Array.isArray(content) ? content : []).flatMap((block): Part[] => {
    const {
      Text: text,
      Thinking: thinking,
      RedactedThinking: redacted,
      ToolUse: call,
      Mention,
      Image,
    } = objectOf(block);
    if (typeof text === "string") return textParts(text);
    if (isObject(thinking)) return segmentOf({ ...thinking, type: "thinking" });
    if (redacted !== undefined) return [{ type: "reasoning", text: "", redacted }];
    if (isObject(call)) return [callOf(call)];
    const { uri, content: words } = objectOf(Mention);
    if (typeof words === "string") return injected([{ type: "text", text: words, ...saidOf({ uri }) }]);
    const { source } = objectOf(Image);
    return typeof source === "string" ? [{ type: "file", mediaType: "image/png", data: source }] : [dataPartOf(block)];
  });
}

function segmentOf(segment: JsonObject): Part[] {
  const { type, text, signature } = segment;
  if (typeof text !== "string") return [dataPartOf(segment)];
  if (type === "thinking") return [{ type: "reasoning", text, ...saidOf({ signature }) }];
  return textParts(text);
}

function callOf(call: JsonObject): Part {
  return callPart(call.id, call.name, call.input, call);
}
