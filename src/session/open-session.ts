import { v7 as uuidv7 } from "uuid";
import { StoreError } from "../core/errors.ts";
import type { JsonValue } from "../core/message.ts";
import { once } from "../core/once.ts";
import type { SessionOptions, SessionSettings } from "../core/options.ts";
import { identifier, parseValue } from "../core/schema.ts";
import { sessionOptions, sessionSettings } from "../core/settings.ts";
import { heldTime } from "../core/times.ts";
import {
  assertOnPath,
  changeSettings,
  completeSession,
  createSession,
  projectNow,
  type Repositories,
} from "../store/index.ts";
import type { SessionPorts } from "./ports.ts";

/** Identifies an imported session in the program or the store that it comes from. */
export interface SessionOrigin {
  source: string;
  externalId: string;
  /** The external id of the session that started this one. Both have the same source. */
  parentExternalId?: string;
  /** For a fork: the external id of the last message of the parent that the fork continues. */
  forkedAfter?: string;
  createdAtMs?: number;
  metadata?: Record<string, JsonValue>;
  /** Set if the session comes from another Coppice store, where its id was `externalId`. Its names and settings are restored. */
  exported?: {
    source?: string;
    externalId?: string;
    forkSeq?: number;
    settings?: Partial<SessionSettings>;
  };
}

/**
 * Creates the session with this id, or brings its names and settings up to date.
 *
 * @returns the session's id. It differs from `id` if another process has just created a session with the same origin.
 * @throws {StoreError} `SESSION_CONFLICT`, `SESSION_SUPERSEDED`, `OPTION_INVALID`, `STORE_READONLY`.
 */
export function openSession(ports: SessionPorts, id: string, options: SessionOptions, origin?: SessionOrigin): string {
  const { repositories, clock, changes } = ports;
  checkId("session id", id);
  const { project: named, title, ...given } = sessionOptions(options);
  const { database, sessions } = repositories;
  const project = named === undefined ? undefined : database.read(() => projectNow(repositories, named));
  const { row, parentSessionId, names, forkSeq } = database.read(() => {
    const parentSessionId = parentOf(repositories, origin);
    const forkSeq = forkSeqOf(repositories, parentSessionId, origin);
    return { row: sessions.byId(id), parentSessionId, names: namesOf(repositories, id, origin), forkSeq };
  });
  assertOnPath(row);
  if (row === undefined) {
    const known = createSession(repositories, {
      id,
      project,
      title,
      ...names,
      parentSessionId,
      forkSeq,
      settings: sessionSettings({ ...origin?.exported?.settings, ...given }),
      metadata: origin?.metadata,
      createdAtMs: origin?.createdAtMs ?? clock(),
    });
    // Another process has just created it: resume that session, after the same checks.
    return known === undefined ? id : openSession(ports, known, options, origin);
  }
  if (project !== undefined && row.project !== null && project !== row.project) {
    const conflict = { sessionId: id, field: "project", stored: row.project, given: project };
    throw new StoreError("SESSION_CONFLICT", conflict);
  }
  const hasNews =
    (row.title === null && title !== undefined) ||
    (row.project === null && project !== undefined) ||
    (row.parentSessionId === null && parentSessionId !== undefined);
  if (hasNews) completeSession(repositories, id, { title, project, parentSessionId });
  const settings = sessionSettings(given, row.settings);
  if (JSON.stringify(settings) !== JSON.stringify(sessionSettings({}, row.settings))) {
    changeSettings(repositories, id, settings);
    changes.count += 1;
  }
  return id;
}

/** Returns the session id for an imported session. Every import of the session gets the same id. */
export function importedSessionId({ repositories }: SessionPorts, origin: SessionOrigin): string {
  const { database, sessions } = repositories;
  const { source, externalId, createdAtMs, exported } = origin;
  checkId("externalId", externalId);
  return database.read(() => {
    const row = sessions.byId(externalId);
    const isSame =
      exported !== undefined &&
      row !== undefined &&
      heldTime(row.createdAtMs) === createdAtMs &&
      row?.source === (exported.source ?? null) &&
      row?.externalId === (exported.externalId ?? null);
    if (isSame) return externalId;
    // A new session takes its external id as its id, unless another session has that id.
    return sessions.idByExternalId(source, externalId) ?? (row === undefined ? externalId : uuidv7());
  });
}

function parentOf({ sessions }: Repositories, origin: SessionOrigin | undefined): string | undefined {
  if (origin?.parentExternalId === undefined) return undefined;
  const { source, parentExternalId, exported } = origin;
  const known = sessions.idByExternalId(source, parentExternalId);
  return known ?? (exported === undefined ? undefined : sessions.byId(parentExternalId)?.id);
}

function forkSeqOf(
  { messages }: Repositories,
  parentSessionId: string | undefined,
  origin: SessionOrigin | undefined,
): number | undefined {
  if (origin?.exported?.forkSeq !== undefined) return origin.exported.forkSeq;
  if (parentSessionId === undefined || origin?.forkedAfter === undefined) return undefined;
  return messages.byExternalId(parentSessionId, origin.forkedAfter)?.seq;
}

/**
 * Returns the source and external id by which later imports find a new session. A session from another store keeps its own. If
 * these are taken here, its id in the other store becomes its external id.
 */
function namesOf({ sessions }: Repositories, id: string, origin: SessionOrigin | undefined) {
  const own = { source: origin?.source, externalId: origin?.externalId };
  if (origin?.exported === undefined || id !== origin.externalId) return own;
  const { source, externalId } = origin.exported;
  const isTaken =
    source !== undefined && externalId !== undefined && sessions.idByExternalId(source, externalId) !== undefined;
  return isTaken ? own : { source, externalId };
}

const IDENTIFIER = once(identifier);

/** @throws {StoreError} `OPTION_INVALID` for a text that cannot be an id or a name. */
export function checkId(option: string, value: unknown): void {
  parseValue(option, IDENTIFIER(), value);
}
