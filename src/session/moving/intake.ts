import { digestOf } from "../../core/digest.ts";
import { StoreError } from "../../core/errors.ts";
import { type MessageInput, parseMessage } from "../../core/message.ts";
import type { SessionOptions } from "../../core/options.ts";
import type { RememberedMessage } from "../../core/remembered.ts";
import type { TranscriptPoint } from "../../core/transcript-point.ts";
import { type AppendResult, appendToBranch } from "../../ingest/append.ts";
import { prepareMessage } from "../../ingest/prepare.ts";
import { type FoundInFile, type ImportedFile, type KnownPart, noteImportedFiles } from "../../store/index.ts";
import { importedSessionId, openSession, type SessionOrigin } from "../open-session.ts";
import type { OpenedSession } from "../opened-session.ts";
import type { SessionPorts } from "../ports.ts";
import { isUsual, type PreparedMessage } from "../prepared.ts";

export type { FoundInFile, ImportedFile, KnownPart };

export interface IncomingMessage extends RememberedMessage {
  message: MessageInput;
  /** The message as another thread prepared it: see `Intake.takesPrepared`. */
  prepared: PreparedMessage | undefined;
  /** Its seq in the store that exported it. */
  seq: number | undefined;
}

export interface IntakeTerms<M> {
  /** The digests of the first messages in the file: see `OPENING_MESSAGES`. */
  opening: readonly Buffer[];
  /**
   * For a transcript whose user went back: returns the point just before a message. The session goes to the point of its first new
   * message.
   */
  pointOf?: ((message: M) => TranscriptPoint) | undefined;
}

/** Brings what imports read into a store: sessions, their messages, and which files were read whole. */
export class Intake {
  readonly #ports: SessionPorts;
  readonly #sessionOf: (id: string) => OpenedSession;

  constructor(ports: SessionPorts, sessionOf: (id: string) => OpenedSession) {
    this.#ports = ports;
    this.#sessionOf = sessionOf;
  }

  /** True if the store uses the default embedder, counter and clock. Then `prepareApart` may prepare its messages. */
  get takesPrepared(): boolean {
    return isUsual(this.#ports);
  }

  session(origin: SessionOrigin, options: SessionOptions = {}): OpenedSession {
    const id = importedSessionId(this.#ports, origin);
    return this.#sessionOf(openSession(this.#ports, id, options, origin));
  }

  has({ source, externalId }: SessionOrigin): boolean {
    const { database, sessions } = this.#ports.repositories;
    return database.read(() => sessions.idByExternalId(source, externalId)) !== undefined;
  }

  /** The external id of the session with this origin, or of its part in another project, that holds a message. */
  holderOf({ source, externalId }: SessionOrigin, messageId: string): string | undefined {
    const { database, sessions } = this.#ports.repositories;
    return database.read(() => sessions.holderOf({ source, externalId, messageId }));
  }

  /** True if the session with this origin holds a message, has superseded it, or has forgotten it. */
  knows(origin: SessionOrigin, messageId: string): boolean {
    if (this.holderOf(origin, messageId) !== undefined) return true;
    const { database, tombstones } = this.#ports.repositories;
    const sessionId = importedSessionId(this.#ports, origin);
    return database.read(() => tombstones.forgottenMessage(sessionId, messageId)) !== undefined;
  }

  /**
   * True if an import must leave out a whole session, because it was forgotten. A fork or a subagent that is not in the store is
   * left out with its parent.
   */
  isForgotten(given: SessionOrigin): boolean {
    const { source, externalId, parentExternalId, exported } = given;
    const { database, tombstones, sessions } = this.#ports.repositories;
    return database.read(() => {
      const digests = tombstones.digests();
      if (digests === undefined) return false;
      if (tombstones.has(digests.origin(source, externalId))) return true;
      const isOfForgotten = parentExternalId !== undefined && tombstones.has(digests.origin(source, parentExternalId));
      if (isOfForgotten && sessions.byId(importedSessionId(this.#ports, given)) === undefined) return true;
      if (exported === undefined) return false;
      const origin =
        exported.externalId !== undefined && digests.origin(exported.source ?? source, exported.externalId);
      return tombstones.has(digests.session(externalId)) || (origin && tombstones.has(origin));
    });
  }

  /**
   * True if a session that is not in the store begins like a forgotten one: its file is a copy under another name.
   *
   * @param opening  The digests of its first messages: see `OPENING_MESSAGES`.
   * @param isEnd  True if there are no further messages.
   */
  isForgottenCopy(origin: SessionOrigin, opening: readonly Buffer[], isEnd: boolean): boolean {
    const { database, tombstones, sessions } = this.#ports.repositories;
    return database.read(() => {
      if (!tombstones.hasCopied(opening, isEnd)) return false;
      return sessions.byId(importedSessionId(this.#ports, origin)) === undefined;
    });
  }

  /**
   * Takes messages into a session, without those that were forgotten, in one transaction. A superseded message stays where it is. If it
   * has grown, the new part goes to its branch.
   *
   * @returns the place of each message, and whether it is new; undefined for those that were forgotten.
   * @throws {StoreError} the errors of `append`; also `MESSAGE_CONFLICT` for a superseded message with other content.
   */
  take<M extends IncomingMessage>(
    sessionId: string,
    messages: readonly M[],
    { opening, pointOf }: IntakeTerms<M>,
  ): (AppendResult | undefined)[] {
    const { database, tombstones, sessions, messages: stored } = this.#ports.repositories;
    const session = this.#sessionOf(sessionId);
    try {
      return database.writeWhole("append", () => {
        const isForgotten = tombstones.recognizer(sessionId, opening);
        const results = new Map<M, AppendResult | undefined>();
        for (const message of messages) {
          const isLeftOut = isForgotten(message);
          const superseded = isLeftOut ? undefined : this.#supersededAs(sessionId, message);
          if (isLeftOut || superseded !== undefined) results.set(message, superseded);
        }
        const isNew = ({ name }: M): boolean => stored.byExternalId(sessionId, name) === undefined;
        for (const message of messages) {
          if (message.growthOf === undefined || results.has(message) || !isNew(message)) continue;
          const grown = sessions.superseded(sessionId, message.growthOf);
          if (grown !== undefined) results.set(message, this.#takeToBranch(grown.branchId, message));
        }
        const others = messages.filter((message) => !results.has(message));
        const first = pointOf && others.find(isNew);
        if (first !== undefined) session.followTranscript(pointOf!(first));
        const appended = this.#takeToPath(session, others);
        for (const [index, result] of appended.entries()) results.set(others[index]!, result);
        return messages.map((message) => results.get(message));
      });
    } catch (error) {
      session.release(); // it has in memory what was rolled back
      throw error;
    }
  }

  /** Seqs are given again after a rewind, so a message without an id is compared by its content, too. */
  #supersededAs(sessionId: string, { name, digest }: IncomingMessage): AppendResult | undefined {
    const { sessions } = this.#ports.repositories;
    const named = sessions.superseded(sessionId, name);
    if (named !== undefined && !named.digest.equals(digest())) {
      throw new StoreError("MESSAGE_CONFLICT", { sessionId, externalId: name, messageId: named.id });
    }
    const found = /^#\d+$/.test(name) ? sessions.supersededAt(sessionId, Number(name.slice(1))) : [];
    const same = named ?? found.find((one) => one.digest.equals(digest()));
    return same && { messageId: same.id, seq: same.seq, appended: false };
  }

  #takeToBranch(branchId: string, message: IncomingMessage): AppendResult {
    const { repositories, embedder } = this.#ports;
    return appendToBranch(repositories, branchId, this.#prepared(message), embedder);
  }

  /**
   * Exported messages keep their order, but not their seqs if some are missing. If a message with the same seq is already here, the two
   * are compared and nothing is appended, so the same export can be imported twice. One that was forgotten comes back at the end.
   *
   * @throws {StoreError} `MESSAGE_INVALID` if a different message has the seq.
   */
  #takeToPath(session: OpenedSession, messages: readonly IncomingMessage[]): AppendResult[] {
    if (messages.every(({ seq }) => seq === undefined)) {
      return session.appendPrepared(messages.map((message) => this.#prepared(message)));
    }
    const nextSeq = this.#ports.repositories.messages.nextSeq({ sessionId: session.id });
    const isPast = ({ seq }: IncomingMessage): boolean => seq !== undefined && seq < nextSeq;
    const seqs = messages.filter(isPast).map(({ seq }) => seq!);
    const range = { seqFrom: Math.min(...seqs), seqTo: Math.max(...seqs) };
    const stored = seqs.length === 0 ? [] : session.messages(range);
    const bySeq = new Map(stored.map((message) => [message.seq, message]));
    const results = new Map<IncomingMessage, AppendResult>();
    for (const one of messages) {
      const found = isPast(one) ? bySeq.get(one.seq!) : undefined;
      if (found === undefined) continue;
      if (found.externalId !== one.message.id || !digestOf(found).equals(one.digest())) {
        const reason = `session "${session.id}" has another message with seq ${one.seq}`;
        throw new StoreError("MESSAGE_INVALID", { path: "seq", reason });
      }
      results.set(one, { messageId: found.id, seq: found.seq, appended: false });
    }
    const others = messages.filter((one) => !results.has(one));
    // The seq of a forgotten message is not given again, so the next import must find the message by an id.
    const ordered = [...others.filter(isPast), ...others.filter((one) => !isPast(one))];
    const rows = ordered.map((one) =>
      isPast(one) ? { ...this.#prepared(one), externalId: one.name } : this.#prepared(one),
    );
    for (const [index, result] of session.appendPrepared(rows, nextSeq).entries()) results.set(ordered[index]!, result);
    return messages.map((one) => results.get(one)!);
  }

  #prepared({ message, prepared }: IncomingMessage): PreparedMessage {
    return prepared ?? prepareMessage(parseMessage(message), this.#ports);
  }

  /** Moves a session to the end of its transcript, unless the session has more than the transcript. */
  endTranscript(sessionId: string, point: TranscriptPoint): void {
    this.#ports.repositories.database.write("append", () => this.#sessionOf(sessionId).followTranscript(point));
  }

  /** Returns what the last import found in the file, if nothing was forgotten since, and if the file was in this state and read whole. */
  foundInFile(path: string, state: string): { found: FoundInFile; isUnchanged: boolean } | undefined {
    const { database, importedFiles } = this.#ports.repositories;
    return database.read(() => importedFiles.found(path, state));
  }

  /** Records which files were imported, unless something was forgotten since `forgetCount` was read. */
  noteFiles(files: readonly ImportedFile[], forgetCount: number): void {
    noteImportedFiles(this.#ports.repositories, files, forgetCount);
  }
}
