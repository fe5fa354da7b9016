import { randomUUID } from "node:crypto";
import { StoreError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/message.ts";
import type { ImportEvent, ImportedMessage, ImportedSession } from "../../importers/importer.ts";
import { cleanName, titleOf } from "../../importers/names.ts";
import { internalsOf, type OpenedStore } from "../../session/opened-store.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { eventsOf } from "./transcript.ts";

// The SDK's types, in its shapes, so that this module does not need the SDK.

export interface SessionKey {
  projectKey: string;
  sessionId: string;
  /** Set for a transcript beside the session's own, such as `subagents/agent-1`. */
  subpath?: string;
}

export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

export interface SessionSummaryEntry {
  sessionId: string;
  /** Unix milliseconds of the last append, by the clock of this machine. */
  mtime: number;
  data: Record<string, unknown>;
}

export interface CoppiceSessionStoreOptions {
  /** The SDK's function of this name. With it, the store keeps the summaries that `listSessionSummaries` returns. */
  foldSessionSummary?: (
    previous: SessionSummaryEntry | undefined,
    key: SessionKey,
    entries: SessionStoreEntry[],
    options: { mtime: number },
  ) => SessionSummaryEntry;
}

/** What the store knows of a transcript: the session with its entries, the time of the last append, and the folded summary. */
interface Transcript {
  session: string;
  mtime: number;
  summary?: SessionSummaryEntry;
}

/** A message to append, and the session that it is said in. */
interface Said {
  origin: ImportedSession;
  message: ImportedMessage;
}

const ROOT = "claude-agent-sdk";
const SOURCE = "claude-code";

/** Entries that are read at once. */
const PAGE_ENTRIES = 1_000;

/**
 * A `SessionStore` of the Claude Agent SDK. `load` returns the entries as they were appended. The same entries become messages, as an
 * import of the transcript would make them: `recall` finds them, and a later import of the file adds nothing twice.
 */
export class CoppiceSessionStore {
  readonly #store: OpenedStore;
  readonly #fold: CoppiceSessionStoreOptions["foldSessionSummary"];
  /** Returns the summaries of a project's sessions. Undefined without `foldSessionSummary`. */
  readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;

  constructor(store: Store, { foldSessionSummary }: CoppiceSessionStoreOptions = {}) {
    this.#store = internalsOf(store);
    this.#fold = foldSessionSummary;
    if (foldSessionSummary !== undefined) {
      this.listSessionSummaries = async (projectKey) =>
        this.#mainTranscripts(projectKey).flatMap(({ transcript }) => transcript.summary ?? []);
    }
  }

  /** Appends entries, their messages and the new summary in one transaction. An entry whose `uuid` is known replaces it. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const events = await eventsOf(nameOf(key), entries);
    const said = saidIn(events);
    const title = titleIn(events, entries);
    this.#store.atomically(() => {
      const known = this.#transcript(key);
      const session = known === undefined ? this.#newSession(key, said) : this.#store.session(known.session);
      session.entries.append(
        entries.map((value) => (isId(value.uuid) ? { value, id: value.uuid } : { value })),
        { known: "replace" },
      );
      this.#appendMessages(key, session, said);
      if (title !== undefined) this.#store.session(session.id, { title: titleOf(title) });
      const mtime = Math.max(Date.now(), known?.mtime ?? 0);
      const summary = key.subpath === undefined ? this.#fold?.(known?.summary, key, entries, { mtime }) : undefined;
      const transcript: Transcript = { session: session.id, mtime, ...(summary && { summary }) };
      this.#store.items.put(namespaceOf(key), key.subpath ?? "", transcript, { session: session.id });
    });
  }

  /** Returns the entries in order, or null if none was ever appended. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const transcript = this.#transcript(key);
    if (transcript === undefined) return null;
    const { entries } = this.#store.session(transcript.session);
    const loaded: JsonValue[] = [];
    for (let after = 0; ; ) {
      const page = entries.list({ after, limit: PAGE_ENTRIES });
      loaded.push(...page.map(({ value }) => value));
      if (page.length < PAGE_ENTRIES) return loaded as SessionStoreEntry[];
      after = page.at(-1)!.position;
    }
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return this.#mainTranscripts(projectKey).map(({ sessionId, transcript: { mtime } }) => ({ sessionId, mtime }));
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    return this.#store.items.list(namespaceOf(key)).flatMap(({ key: subpath }) => (subpath === "" ? [] : [subpath]));
  }

  /**
   * Forgets a transcript, its messages too. With the session's own transcript, those beside it go as well. The file is then
   * rewritten without them: see `Store.forget`.
   */
  async delete(key: SessionKey): Promise<void> {
    const isForgotten = this.#store.atomically(() => {
      const items = this.#store.items.list(namespaceOf(key));
      const wanted = items.filter((item) => key.subpath === undefined || item.key === key.subpath);
      for (const { value } of wanted) this.#store.forget(transcriptIn(value).session);
      return wanted.length > 0;
    });
    if (isForgotten) this.#store.erase();
  }

  #transcript(key: SessionKey): Transcript | undefined {
    const item = this.#store.items.get(namespaceOf(key), key.subpath ?? "");
    return item && transcriptIn(item.value);
  }

  #mainTranscripts(projectKey: string): { sessionId: string; transcript: Transcript }[] {
    return this.#store.items.list([ROOT, projectKey]).flatMap(({ namespace, key, value }) => {
      return key === "" ? [{ sessionId: namespace[2]!, transcript: transcriptIn(value) }] : [];
    });
  }

  /** Opens the session that an import of the transcript would fill, unless it holds the transcript of another project. */
  #newSession(key: SessionKey, said: readonly Said[]): Session {
    const name = nameOf(key);
    const origin = said.find(({ origin: { externalId } }) => externalId === name)?.origin;
    const parent = key.subpath === undefined ? {} : { parentExternalId: key.sessionId };
    const { project, title, ...found } = origin ?? { externalId: name, source: SOURCE, ...parent };
    const cleanProject = project && cleanName(project);
    const options = { ...(cleanProject && { project: cleanProject }), ...(title && { title: titleOf(title) }) };
    if (!isId(name)) return this.#store.session(randomUUID(), options);
    const session = this.#store.importedSession(found, withoutConflict(this.#store, name, options));
    return session.entries.list({ limit: 1 }).length === 0 ? session : this.#store.session(randomUUID(), options);
  }

  #appendMessages(key: SessionKey, own: Session, said: readonly Said[]): void {
    for (const { origin, message } of said) {
      const { project: _project, title: _title, ...other } = origin;
      const session = origin.externalId === nameOf(key) ? own : this.#store.importedSession(other);
      try {
        session.append(message);
      } catch (error) {
        // The first version of a message stays. The entry has the last.
        if (!StoreError.is(error, "MESSAGE_CONFLICT") && !StoreError.is(error, "MESSAGE_INVALID")) throw error;
      }
    }
  }
}

function namespaceOf({ projectKey, sessionId }: SessionKey): string[] {
  return [ROOT, projectKey, sessionId];
}

/** The external id that the importer gives to the session of a transcript. */
function nameOf({ sessionId, subpath }: SessionKey): string {
  return subpath === undefined ? sessionId : `${sessionId}/${subpath.replace(/^subagents\//, "")}`;
}

function transcriptIn(value: JsonValue | Uint8Array): Transcript {
  return value as unknown as Transcript;
}

/** Returns the messages of events, each with the newest description of its session. */
function saidIn(events: readonly ImportEvent[]): Said[] {
  const origins = new Map<string, ImportedSession>();
  const said: Said[] = [];
  for (const event of events) {
    if (event.kind === "session") origins.set(event.session.externalId, event.session);
    if (event.kind === "message") said.push({ origin: origins.get(event.session)!, message: event.message });
  }
  return said;
}

/** The title that Claude Code gave the session, if it is in these entries. */
function titleIn(events: readonly ImportEvent[], entries: readonly SessionStoreEntry[]): string | undefined {
  for (const event of events) if (event.kind === "title") return event.title;
  const given = entries.map(({ customTitle, aiTitle }) => customTitle ?? aiTitle).findLast((title) => isId(title));
  return given as string | undefined;
}

/** A session that an import has opened keeps its project. */
function withoutConflict(store: OpenedStore, externalId: string, options: { project?: string; title?: string }) {
  const isKnown = store.sessionIds({ prefix: externalId }).includes(externalId);
  const { project: _, ...others } = options;
  return isKnown ? others : options;
}

function isId(value: unknown): value is string {
  return typeof value === "string" && /^[^\0-\x1f]{1,512}$/.test(value) && value.isWellFormed();
}
