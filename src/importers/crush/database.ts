import { basename, dirname, resolve } from "node:path";
import type { JsonValue, Part } from "../../core/message.ts";
import { timeOf } from "../conversations.ts";
import { eventsOfSessions, type StoredJson } from "../database-sessions.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import {
  dataPartOf,
  filePartOf,
  functionCallOf,
  type PlainPart,
  resultPart,
  textParts,
  thoughtParts,
} from "../file-parts.ts";
import type { DatabaseFormat } from "../foreign-database.ts";
import { injected } from "../injected.ts";
import type { JsonObject } from "../lines.ts";
import { notYet } from "../message-event.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "../values.ts";

const TABLES = {
  sessions: { required: ["id", "title", "created_at"], others: ["parent_session_id", "summary_message_id"] },
  messages: {
    required: ["id", "session_id", "role", "parts", "created_at", "finished_at"],
    others: ["model", "provider", "is_summary_message"],
    content: "parts",
  },
} as const;

/**
 * Reads the database of Crush, `.crush/crush.db` in a project's folder, with all of its sessions and subagents. In warnings, the line
 * is the row id.
 */
export const crushDatabase: DatabaseFormat<keyof typeof TABLES> = {
  tables: TABLES,
  eventsIn: (database, file) =>
    eventsOfSessions(database, file, (session, messages) => new CrushTranslator(file, session).translate(messages)),
};

/** Names that Crush gives a session before it has one. */
const NO_TITLE = /^(?:New|Untitled) Session$/;

const ROLES = ["system", "user", "assistant", "tool"] as const;

class CrushTranslator extends Translator<StoredJson, JsonObject> {
  protected override read({ line, row, content }: StoredJson): MessageEntry[] | string {
    const role = ROLES.find((one) => one === row.role);
    if (role === undefined) return `unknown role: ${JSON.stringify(row.role)}`;
    const blocks = objectsOf(content);
    const isOpen = role === "assistant" && !blocks.some(({ type }) => type === "finish");
    if (isOpen && this.file.isFinished !== true) return notYet("the reply is still being written");
    const { id, model, provider, is_summary_message } = row;
    const isSummary = is_summary_message === 1 || id === this.given.summary_message_id;
    const parts = blocks.flatMap((block) => partsOf(block));
    if (parts.length === 0) return [];
    const about = { ...saidOf({ model, provider }), ...(isSummary && { isCompactSummary: true }) };
    return [messageEntry(line, role, String(id), parts, timeOf({ ...row }), about)];
  }

  protected override session(): SessionFacts {
    const { id, title, parent_session_id } = this.given;
    const data = dirname(resolve(this.file.path));
    const folder = basename(data) === ".crush" ? dirname(data) : undefined;
    const parentExternalId = stringOf(parent_session_id);
    return {
      externalId: String(id),
      source: "crush",
      parentExternalId,
      isSubagent: parentExternalId !== undefined,
      folder,
      title: NO_TITLE.test(String(title)) ? undefined : stringOf(title),
      createdAtMs: timeOf(this.given),
      metadata: saidOf({ cwd: folder }),
    };
  }
}

function partsOf({ type, data }: JsonObject): Part[] {
  const { text, hidden, thinking, signature, url, id, name, input, MIMEType, Data, Path, ...about } = objectOf(data);
  switch (type) {
    case "text":
      return hidden === true ? injected(textParts(text)) : textParts(text);
    case "reasoning":
      return thoughtParts(thinking, saidOf({ signature }));
    case "image_url":
      return [filePartOf(String(url), undefined)];
    case "binary":
      return [{ type: "file", mediaType: stringOf(MIMEType) ?? "", data: String(Data), ...saidOf({ name: Path }) }];
    case "tool_call":
      return [functionCallOf({ id: id ?? null, function: saidOf({ name, arguments: input || "{}" }) })];
    case "tool_result":
      return [resultOf(objectOf(data))];
    case "shell_command": {
      const { command, output, exit_code } = about;
      const shown = [output, `(exit code ${exit_code})`].filter(Boolean).join("\n");
      return [{ type: "text", text: `$ ${command}` }, ...injected([{ type: "text", text: shown }])];
    }
    default:
      return type === "finish" ? [] : [dataPartOf({ type: type ?? null, data: data as JsonValue })];
  }
}

function resultOf({ tool_call_id, name, content, data, mime_type, is_error }: JsonObject): Part {
  const words = stringOf(content) ?? "";
  const image = stringOf(data) && stringOf(mime_type);
  const file: PlainPart[] = image ? [{ type: "file", mediaType: image, data: data as string }] : [];
  const said = image ? [{ type: "text" as const, text: words }, ...file] : words;
  return resultPart(String(tool_call_id), said, { name: stringOf(name), isError: is_error === true || undefined });
}
