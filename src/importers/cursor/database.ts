import { changedSession, parentsFirst } from "../database-sessions.ts";
import {
  type DatabaseFile,
  type DatabaseFormat,
  type ForeignDatabase,
  objectIn,
  type Row,
} from "../foreign-database.ts";
import type { ImportEvent } from "../importer.ts";
import type { DamagedLine, JsonObject } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";
import { type Bubble, type Conversation, ConversationTranslator } from "./conversation.ts";

const TABLES = {
  cursorDiskKV: { required: ["key", "value"], content: "value" },
  composerHeaders: { required: ["composerId", "value"], content: "value", isOptional: true },
} as const;

const CONVERSATION = "composerData:";
const BUBBLE = "bubbleId:";

interface ConversationRows {
  rowid: number | undefined;
  bubbles: Map<string, number>;
  /** The number of rows, the newest one and the bytes. Changes when something is added, or grows. */
  sums: [count: number, rowid: number, bytes: number];
}

/**
 * Reads the database of Cursor, `…/Cursor/User/globalStorage/state.vscdb`, with all of its conversations. Only rows of
 * conversations are read: other rows hold settings and keys. In warnings, the line is the row id.
 */
export const cursorDatabase: DatabaseFormat<keyof typeof TABLES> = { tables: TABLES, eventsIn };

async function* eventsIn(database: CursorDatabase, file: DatabaseFile): AsyncGenerator<ImportEvent> {
  const rows = await conversationRows(database);
  const headers = await headersIn(database);
  const conversations: Conversation[] = [];
  for (const [id, one] of rows) {
    if (one.rowid === undefined) continue;
    await database.breathe();
    const stored = database.stored("cursorDiskKV", one.rowid, { column: "key", value: `${CONVERSATION}${id}` });
    const data = "problem" in stored ? stored.problem : objectIn(stored.content);
    if (typeof data === "string") {
      yield { kind: "warning", line: one.rowid, reason: `conversation ${id}: ${data}` };
      continue;
    }
    conversations.push({ id, ...aboutOf(data), header: headers.get(id) ?? {} });
  }
  for (const conversation of inOrder(conversations)) {
    const { id } = conversation;
    const { bubbles, sums } = rows.get(id)!;
    yield* changedSession(file, id, sums.join(), () =>
      new ConversationTranslator(file, conversation).translate(bubblesOf(database, conversation, bubbles)),
    );
  }
}

type CursorDatabase = ForeignDatabase<keyof typeof TABLES>;

async function conversationRows(database: CursorDatabase): Promise<Map<string, ConversationRows>> {
  const conversations = new Map<string, ConversationRows>();
  const note = (id: string, { rowid, byteLength }: Row): ConversationRows => {
    const one = conversations.get(id) ?? { rowid: undefined, bubbles: new Map(), sums: [0, 0, 0] };
    conversations.set(id, one);
    one.sums = [one.sums[0] + 1, rowid, one.sums[2] + byteLength];
    return one;
  };
  for await (const row of database.rows("cursorDiskKV")) {
    const key = String(row.key);
    if (key.startsWith(CONVERSATION)) note(key.slice(CONVERSATION.length), row).rowid = row.rowid;
    else if (key.startsWith(BUBBLE)) {
      const [, id = "", bubble = ""] = key.split(":");
      note(id, row).bubbles.set(bubble, row.rowid);
    }
  }
  return conversations;
}

/** Newer versions keep the name and the folder of a conversation in a table of their own. */
async function headersIn(database: CursorDatabase): Promise<Map<string, JsonObject>> {
  const headers = new Map<string, JsonObject>();
  for await (const { rowid, composerId } of database.rows("composerHeaders")) {
    const stored = database.stored("composerHeaders", rowid, { column: "composerId", value: composerId });
    const value = "problem" in stored ? stored.problem : objectIn(stored.content);
    if (typeof value !== "string") headers.set(String(composerId), value);
  }
  return headers;
}

/** Keeps what is needed of a conversation. Its other fields are long, or keys. */
function aboutOf(data: JsonObject): Omit<Conversation, "id" | "header"> {
  const { name, createdAt, status, modelConfig, workspaceIdentifier, unifiedMode } = data;
  const { fullConversationHeadersOnly, conversation, subagentComposerIds, subComposerIds } = data;
  return {
    data: { name, createdAt, status, modelConfig, workspaceIdentifier, unifiedMode } as JsonObject,
    order: objectsOf(fullConversationHeadersOnly).flatMap(({ bubbleId }) => stringOf(bubbleId) ?? []),
    inside: objectsOf(conversation),
    children: [subagentComposerIds, subComposerIds].flatMap((ids) =>
      Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [],
    ),
  };
}

/** Returns the conversations by time, but each after the one that started it. */
function inOrder(conversations: readonly Conversation[]): Conversation[] {
  const parents = new Map(conversations.flatMap(({ id, children }) => children.map((child) => [child, id] as const)));
  const timeOf = ({ data }: Conversation): number => Number(data.createdAt ?? 0) || 0;
  const sorted = [...conversations].sort((a, b) => timeOf(a) - timeOf(b));
  const ordered = parentsFirst(
    sorted,
    ({ id }) => id,
    ({ id }) => parents.get(id),
  );
  return ordered.map((one) => {
    const parent = parents.get(one.id);
    return parent === undefined || parent === one.id ? one : { ...one, parent };
  });
}

/** Yields the messages in the order of the conversation. Messages that the user took back are no longer in that order. */
async function* bubblesOf(
  database: CursorDatabase,
  { id, order, inside }: Conversation,
  rowids: ReadonlyMap<string, number>,
): AsyncGenerator<Bubble | DamagedLine> {
  if (inside.length > 0) {
    for (const [index, value] of inside.entries()) {
      yield {
        line: index + 1,
        id: stringOf(value.bubbleId) ?? String(index),
        value,
        isLast: index === inside.length - 1,
      };
    }
    return;
  }
  for (const bubble of order) {
    await database.breathe();
    const rowid = rowids.get(bubble);
    // Cursor may not have written it yet.
    if (rowid === undefined) continue;
    const stored = database.stored("cursorDiskKV", rowid, { column: "key", value: `${BUBBLE}${id}:${bubble}` });
    if ("content" in stored && String(stored.content) === "null") continue;
    const value = "problem" in stored ? stored.problem : objectIn(stored.content);
    if (typeof value === "string") yield { line: rowid, problem: `message ${bubble}: ${value}` };
    else yield { line: rowid, id: bubble, value: objectOf(value), isLast: bubble === order.at(-1) };
  }
}
