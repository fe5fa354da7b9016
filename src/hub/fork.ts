import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import type { Message, MessageInput, PartInput } from "../core/message.ts";
import type { OpenedStore } from "../session/opened-store.ts";
import {
  type FactRow,
  type FactTables,
  ForgottenMessages,
  freeIdBlock,
  type MessagePlace,
  needsIdBlock,
  type Repositories,
  sessionRows,
  takeIdBlock,
  WITHOUT_PATH,
  type WriteRowsTerms,
  type WrittenSession,
} from "../store/index.ts";
import { isInOwnBlock } from "./id-block.ts";
import type { SessionOnHub } from "./read-session.ts";
import { digestOf } from "./rows.ts";

/** The parts of a session that only this store has. */
export interface Own {
  /** The messages of the path, and those of each superseded branch, in order. */
  messages: Map<string, MessagePlace[]>;
  /** Superseded branches, with or without messages. */
  branchCount: number;
  entries: FactTables["entries"][];
  items: FactTables["items"][];
  summaryCount: number;
  /** Messages on the hub that were forgotten in this store. */
  forgottenIds: number[];
  /** How many messages of this store were forgotten on the hub. */
  forgottenThereCount: number;
}

/**
 * Writes what the hub has of a session, and puts what only this store has into sessions of their own: one for the path with its
 * entries and items, and one for each superseded branch. Their messages get new ids, and no copy of this file gives the same ones.
 * Call it inside a transaction.
 *
 * @param newestId  The highest id of the session on the hub.
 * @param known  The session that the path goes on in, if it is still there; else a new one. Messages are told apart by the ids that
 *   an agent gave to them.
 */
export function writeForked(
  store: OpenedStore,
  sessionId: string,
  onHub: SessionOnHub,
  own: Own,
  terms: WriteRowsTerms,
  { newestId, known }: { newestId: number; known?: string | undefined },
): WrittenSession & { forkId: string | null } {
  const { repositories } = store;
  if (hasSaidMore(own) && (needsIdBlock(repositories, newestId) || isInOwnBlock(repositories, newestId))) {
    const { takeBlock = freeIdBlock } = terms;
    takeIdBlock(repositories, takeBlock(Math.max(newestId, repositories.sequences.newest())));
  }
  const { messages, entries, items, summaryCount, forgottenIds } = own;
  const path = messages.get(sessionId) ?? [];
  const forkId = path.length + entries.length === 0 ? null : makeFork(store, sessionId, path, entries, known);
  const branches = [...messages].filter(([id]) => id !== sessionId);
  const ofBranches = branches.map(([, superseded]) => makeFork(store, sessionId, superseded, []));
  const written = store.writeRows(onHub.rows(), { ...terms, replaces: true });
  const notes = [
    ...written.notes,
    ...ofBranches.map((id) => `Superseded messages of this store are in session ${id}.`),
  ];
  for (const item of items) repositories.items.put({ ...item, sessionId: forkId ?? sessionId });
  if (summaryCount > 0) {
    notes.push(`Summaries that only this store had are left out: ${summaryCount}. \`resolveDirty\` makes others.`);
  }
  if (forgottenIds.length > 0) store.forget(sessionId, { messageIds: forgottenIds });
  return { ...written, notes, forkId };
}

/** False if the store has only forgotten messages of what is on the hub. */
export function hasSaidMore({ messages, branchCount, entries }: Own): boolean {
  return messages.size + branchCount + entries.length > 0;
}

export function ownOf({ repositories }: OpenedStore, sessionId: string, onHub: SessionOnHub): Own {
  const onHubIds = { entries: new Set(), items: new Set(), summaries: new Set(), sessions: new Set() };
  // Two copies of one file give the same id to different messages.
  const digests = new Map<number, Buffer>();
  let forgottenThere = new ForgottenMessages(null);
  for (const fact of onHub.rows()) {
    if (fact.table === "origin") forgottenThere = new ForgottenMessages(fact.row.tombstoneKey);
    if (fact.table === "tombstones") forgottenThere.add(fact.row);
    if (fact.table === "messages") digests.set(fact.row.id, fact.row.digest);
    if (fact.table === "entries" || fact.table === "summaries" || fact.table === "sessions")
      onHubIds[fact.table].add(fact.row.id);
    if (fact.table === "items") onHubIds.items.add(nameOf(fact.row));
  }
  const facts: FactRow[] = [];
  for (const fact of sessionRows(repositories, sessionId, null, WITHOUT_PATH)) {
    if (fact.table === "entries" || fact.table === "items" || fact.table === "summaries") facts.push(fact);
  }
  const places = repositories.pushedRows.places({ id: sessionId });
  const missing = places.filter(({ id, digest }) => !digests.get(id)?.equals(digest));
  // The store that pushed last knows nothing of what was forgotten elsewhere under another key.
  const unknown = missing.filter(({ id, digest }) => !(forgottenThere.has(id, digest) ?? onHub.forgottenIds.has(id)));
  const named = namedAsForgotten(repositories, sessionId, unknown);
  const messages = new Map<string, MessagePlace[]>();
  for (const place of unknown) {
    if (!named.has(place.id)) messages.set(place.sessionId, [...(messages.get(place.sessionId) ?? []), place]);
  }
  const forgottenHere = repositories.tombstones.forgottenIn(sessionId);
  return {
    messages,
    branchCount: repositories.sessions.branchIds(sessionId).filter((id) => !onHubIds.sessions.has(id)).length,
    entries: facts.flatMap((fact) => (fact.table === "entries" && !onHubIds.entries.has(fact.row.id) ? fact.row : [])),
    items: facts.flatMap((fact) => (fact.table === "items" && !onHubIds.items.has(nameOf(fact.row)) ? fact.row : [])),
    summaryCount: facts.filter(({ table, row }) => table === "summaries" && !onHubIds.summaries.has(row.id)).length,
    forgottenIds: [...digests].flatMap(([id, digest]) => (forgottenHere.has(id, digest) ? id : [])),
    forgottenThereCount: missing.length - unknown.length,
  };
}

/** Returns the messages whose names are those of forgotten ones: an import brought them before the fork that had them was forgotten. */
function namedAsForgotten(
  { tombstones }: Repositories,
  sessionId: string,
  places: readonly MessagePlace[],
): Set<number> {
  const { hasName } = tombstones.recognizersIn(sessionId);
  const named = tombstones.named(JSON.stringify(places.map(({ id }) => id)));
  return new Set(named.flatMap(({ id, externalId }) => (externalId !== null && hasName(externalId) ? id : [])));
}

function nameOf({ namespace, key }: FactTables["items"]): string {
  return JSON.stringify([namespace, key]);
}

/** Puts messages and entries into a session, in the order in which they were said, and returns its id. */
function makeFork(
  store: OpenedStore,
  parentSessionId: string,
  places: readonly MessagePlace[],
  entries: readonly FactTables["entries"][],
  known?: string,
): string {
  const { sessions, messages, tombstones } = store.repositories;
  const { project, title, settings, createdAtMs } = sessions.known(parentSessionId);
  const id = known !== undefined && sessions.byId(known) !== undefined ? known : randomUUID();
  const inOrder = [...places].sort((left, right) => left.seq - right.seq);
  const forkSeq = (inOrder[0]?.seq ?? messages.nextSeq({ sessionId: parentSessionId })) - 1;
  if (id !== known) sessions.insert({ id, project, title, settings, createdAtMs, parentSessionId, forkSeq });
  const fork = store.resume(id);
  const { hasName: hasForgotten } = tombstones.recognizersIn(id);
  for (let from = 0; from < inOrder.length; from += BATCH_MESSAGES_MAX) {
    const ids = inOrder.slice(from, from + BATCH_MESSAGES_MAX).map((place) => place.id);
    const inputs = messages.byIds(ids).map(inputOf);
    fork.append(id === known ? inputs.flatMap((input) => unknownOf(store, id, input, hasForgotten)) : inputs);
  }
  for (const { id: _, ...entry } of entries) {
    const beforeSeq = inOrder.filter(({ seq }) => seq < entry.beforeSeq).length;
    store.repositories.entries.add({ ...entry, sessionId: id, beforeSeq });
  }
  return id;
}

/**
 * Returns what a fork lacks of a message. The parts that a message has gained since are a message of their own, under the name that an
 * import gives it. A message that was changed in another way is there twice.
 */
function unknownOf(
  store: OpenedStore,
  forkId: string,
  { id, ...input }: ForkedInput,
  hasForgotten: (name: string) => boolean,
): ForkedInput[] {
  if (id === undefined) return [input];
  if (hasForgotten(id)) return [];
  const known = store.repositories.messages.byExternalId(forkId, id);
  if (known === undefined) return [{ ...input, id }];
  const { role, parts } = store.message(known.id);
  const beginning = input.parts.slice(0, parts.length);
  const isGrown = role === input.role && isDeepStrictEqual(parts, beginning);
  if (isGrown && input.parts.length === parts.length) return [];
  const rest = isGrown
    ? { ...input, id: `${id}+${parts.length}`, parts: input.parts.slice(parts.length) }
    : { ...input, id: `${id}+${digestOf(JSON.stringify([input.role, input.parts])).toString("hex")}` };
  return unknownOf(store, forkId, rest, hasForgotten);
}

type ForkedInput = MessageInput & { parts: readonly PartInput[] };

function inputOf({ role, parts, name, externalId, metadata, pinned, createdAtMs }: Message): ForkedInput {
  return {
    role,
    parts: parts as readonly PartInput[],
    createdAt: createdAtMs,
    ...(name !== undefined && { name }),
    ...(externalId !== undefined && { id: externalId }),
    ...(metadata !== undefined && { metadata }),
    ...(pinned && (role === "user" || role === "assistant") && { pinned }),
  };
}
