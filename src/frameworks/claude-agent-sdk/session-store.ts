import { randomUUID } from "node:crypto";
import { StoreError, unless } from "../../core/errors.ts";
import type { JsonValue } from "../../core/message.ts";
import { projectAt } from "../../core/project.ts";
import type { ImportEvent, ImportedMessage, ImportedSession } from "../../importers/importer.ts";
import { titleOf } from "../../importers/names.ts";
import { internalsOf, type OpenedStore } from "../../session/opened-store.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { everyEntry, everyItem } from "../every.ts";
import { eventsOf, waitingFrom } from "./transcript.ts";

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

/** The stored state of a transcript: the session with its entries, the time of the last append, and the folded summary. */
interface Transcript {
  session: string;
  mtime: number;
  summary?: SessionSummaryEntry;
  /** The position of the first entry that is not read for messages yet: a thought is joined to what follows it. */
  waitingFrom?: number;
}

interface Said {
  origin: ImportedSession;
  message: ImportedMessage;
}

const ROOT = "claude-agent-sdk";
const SOURCE = "claude-code";

/**
 * A `SessionStore` of the Claude Agent SDK. `load` returns the entries as they were appended. The same entries become messages, as an
 * import of the transcript would make them: `recall` finds them, and a later import of the file adds nothing twice.
 */
export class CoppiceSessionStore {
  readonly #store: OpenedStore;
  readonly #fold: CoppiceSessionStoreOptions["foldSessionSummary"];
  /** The newest write. The next one begins after it, because an append of many entries takes longer than one of few. */
  #newestWrite: Promise<unknown> = Promise.resolve();
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
    const given = structuredClone(entries);
    await this.#inOrder(async () => {
      while (!(await this.#tryAppend(key, given)));
    });
  }

  /** @returns false if another process has changed the transcript meanwhile. */
  async #tryAppend(key: SessionKey, entries: SessionStoreEntry[]): Promise<boolean> {
    const { waitingFrom: from, session: id } = this.#transcript(key) ?? {};
    const waiting =
      id === undefined || from === undefined ? [] : this.#store.session(id).entries.list({ after: from - 1 });
    const lines = [...waiting.map(({ value }) => value as unknown as SessionStoreEntry), ...entries];
    const readEnd = waitingFrom(lines);
    const events = await eventsOf(nameOf(key), lines.slice(0, readEnd));
    const said = saidIn(events);
    const title = titleIn(events, entries);
    return this.#store.atomically(() => {
      const known = this.#transcript(key);
      if (known?.waitingFrom !== from) return false;
      const session = known === undefined ? this.#newSession(key, said) : this.#store.session(known.session);
      const appended = session.entries.append(
        entries.map((value) => (isId(value.uuid) ? { value, id: value.uuid } : { value })),
        { known: "replace" },
      );
      this.#describe(session, ownOrigin(key, said), title);
      this.#appendMessages(key, session, said);
      const mtime = Math.max(Date.now(), known?.mtime ?? 0);
      const summary = key.subpath === undefined ? this.#fold?.(known?.summary, key, entries, { mtime }) : undefined;
      const position = [...waiting, ...appended][readEnd]?.position;
      const transcript: Transcript = {
        session: session.id,
        mtime,
        ...(summary && { summary }),
        ...(position !== undefined && { waitingFrom: position }),
      };
      this.#store.items.put(namespaceOf(key), key.subpath ?? "", transcript, { session: session.id });
      return true;
    });
  }

  async #inOrder(write: () => Promise<void>): Promise<void> {
    const result = this.#newestWrite.then(write);
    this.#newestWrite = result.catch(() => {}); // whoever asked for the write gets its error
    await result;
  }

  /** Returns the entries in order, or null if none was ever appended. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const transcript = this.#transcript(key);
    if (transcript === undefined) return null;
    const { entries } = this.#store.session(transcript.session);
    return Array.from(everyEntry(entries), ({ value }) => value as unknown as SessionStoreEntry);
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return this.#mainTranscripts(projectKey).map(({ sessionId, transcript: { mtime } }) => ({ sessionId, mtime }));
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    return everyItem(this.#store.items, namespaceOf(key)).flatMap(({ key: subpath }) =>
      subpath === "" ? [] : [subpath],
    );
  }

  /**
   * Forgets a transcript, its messages too. With the session's own transcript, those beside it go as well. The file is then
   * rewritten without them: see `Store.forget`.
   */
  async delete(key: SessionKey): Promise<void> {
    await this.#inOrder(async () => {
      const isForgotten = this.#store.atomically(() => {
        const wanted = everyItem(this.#store.items, namespaceOf(key)).filter(
          (item) => key.subpath === undefined || item.key === key.subpath,
        );
        for (const { value } of wanted) this.#store.forget(transcriptIn(value).session);
        return wanted.length > 0;
      });
      if (isForgotten) this.#store.erase();
    });
  }

  #transcript(key: SessionKey): Transcript | undefined {
    const item = this.#store.items.get(namespaceOf(key), key.subpath ?? "");
    return item && transcriptIn(item.value);
  }

  #mainTranscripts(projectKey: string): { sessionId: string; transcript: Transcript }[] {
    return everyItem(this.#store.items, [ROOT, projectKey]).flatMap(({ namespace, key, value }) => {
      return key === "" ? [{ sessionId: namespace[2]!, transcript: transcriptIn(value) }] : [];
    });
  }

  /** Opens the session that an import of the transcript would fill, unless it holds the transcript of another project. */
  #newSession(key: SessionKey, said: readonly Said[]): Session {
    const name = nameOf(key);
    const parent = key.subpath === undefined ? {} : { parentExternalId: key.sessionId };
    const {
      folder: _folder,
      title: _title,
      ...origin
    } = ownOrigin(key, said) ?? ({ externalId: name, source: SOURCE, ...parent } as ImportedSession);
    if (!isId(name)) return this.#store.session(randomUUID());
    const session = this.#store.intake.session(origin);
    return session.entries.list({ limit: 1 }).length === 0 ? session : this.#store.session(randomUUID());
  }

  /** Names the session. The first entries may say nothing of it. What a session is called already stays. */
  #describe(session: Session, { folder = "", title }: Partial<ImportedSession> = {}, given = title): void {
    if (given !== undefined) this.#store.session(session.id, { title: titleOf(given) });
    const project = projectAt(folder);
    if (project === undefined) return;
    unless(["SESSION_CONFLICT"], () => this.#store.session(session.id, { project }));
  }

  #appendMessages(key: SessionKey, own: Session, said: readonly Said[]): void {
    for (const { origin, message } of said) {
      const { folder: _folder, title: _title, ...other } = origin;
      const session = origin.externalId === nameOf(key) ? own : this.#store.intake.session(other);
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

function ownOrigin(key: SessionKey, said: readonly Said[]): ImportedSession | undefined {
  return said.find(({ origin }) => origin.externalId === nameOf(key))?.origin;
}

/** The title that Claude Code gave the session, if it is in these entries. */
function titleIn(events: readonly ImportEvent[], entries: readonly SessionStoreEntry[]): string | undefined {
  for (const event of events) if (event.kind === "title") return event.title;
  const given = entries.map(({ customTitle, aiTitle }) => customTitle ?? aiTitle).findLast((title) => isId(title));
  return given as string | undefined;
}

function isId(value: unknown): value is string {
  return typeof value === "string" && /^[^\0-\x1f]{1,512}$/.test(value) && value.isWellFormed();
}
