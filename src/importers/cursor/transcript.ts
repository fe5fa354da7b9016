import { basename, dirname } from "node:path";
import type { JsonValue, Part } from "../../core/message.ts";
import { fileNameOf } from "../conversations.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import { callPart, dataPartOf, textParts } from "../file-parts.ts";
import type { Importer } from "../importer.ts";
import { wordsWithin } from "../injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "../lines.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { derivedId, objectOf, stringOf } from "../values.ts";

/**
 * Reads the transcripts of Cursor's agent, `~/.cursor/projects/<folder>/agent-transcripts/<session>/<session>.jsonl`. They have
 * neither times nor the results of calls. Sessions that were imported from the database, which has both, are left out.
 */
export const cursorAgent: Importer = {
  name: "cursor-agent",
  isFollowable: true,
  // The editor writes only the ends of turns there.
  detect: (head) =>
    headObjects(head).some((record) => isMessage(record) || (record.type === "turn_ended" && stringOf(record.status))),
  read: (file) => new TranscriptTranslator(file).translate(readJsonLines(file)),
};

function isMessage({ role, type, message }: JsonObject): boolean {
  const { role: own, content } = objectOf(message);
  const isSaid = role === "user" || role === "assistant";
  return isSaid && type === undefined && own === undefined && (typeof content === "string" || Array.isArray(content));
}

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

class TranscriptTranslator extends Translator<JsonLine> {
  protected override read({ value: record, line }: JsonLine): MessageEntry[] | string | undefined {
    const { role, type, message } = record;
    if (type === "turn_ended") return;
    if ((role !== "user" && role !== "assistant") || !isObject(message)) {
      return `unknown kind of record: ${JSON.stringify(type ?? role ?? null)}`;
    }
    const id = derivedId(record);
    const { content } = message;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const parts = (Array.isArray(blocks) ? blocks : []).flatMap((block, index) => partsOf(block, `${id}.${index}`));
    const said = role === "user" ? parts.flatMap((part) => wordsWithin("user_query", part)) : parts;
    return said.length === 0 ? [] : [messageEntry(line, role, id, said, undefined)];
  }

  protected override session(): SessionFacts {
    const { path } = this.file;
    const name = basename(path, ".jsonl");
    const [folder, parent] = [dirname(path), basename(dirname(dirname(path)))];
    return {
      externalId: ID.test(name) ? name : fileNameOf(path),
      source: "cursor-agent",
      unlessFrom: "cursor",
      parentExternalId: basename(folder) === "subagents" && ID.test(parent) ? parent : undefined,
      isSubagent: basename(folder) === "subagents",
    };
  }
}

function partsOf(block: JsonValue, callId: string): Part[] {
  const { type, text, id, name, input } = objectOf(block);
  if (type === "text" && typeof text === "string") return textParts(text);
  return [type === "tool_use" ? callPart(stringOf(id) ?? callId, name, input, block) : dataPartOf(block)];
}
