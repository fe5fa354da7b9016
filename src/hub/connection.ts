import { setTimeout as wait } from "node:timers/promises";
import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryResult } from "pg";
import { backoffMs } from "../core/backoff.ts";
import { StoreError } from "../core/errors.ts";
import { driverConfigOf, hubAddressOf } from "./address.ts";
import { schemaOf, TEAM_PREFIX, VERSION } from "./tables.ts";

/** The server cancels a statement, or the wait for a lock, after these times. */
const STATEMENT_MS_MAX = 30_000;
const LOCK_MS_MAX = 5_000;
/** The server ends a transaction that is idle for this time, because a machine that sleeps would keep its locks. */
const IDLE_TRANSACTION_MS_MAX = 120_000;

/** A client gives up on a server that does not answer for these times. */
const CONNECT_MS_MAX = 10_000;
const ANSWER_MS_MAX = 45_000;

/** The type of ids and counts. All of them are below 2^53. */
const INT8 = 20;

const CONNECTIONS_MAX = 4;
const IDLE_MS_MAX = 10_000;

const BACKOFF = { delayMsMin: 100, delayMsMax: 5_000 };
/** A restart of the server takes a few seconds; the delays add up to fifteen. */
const ATTEMPTS_MAX = 9;
/** A server that has never answered is more likely absent than restarting, and somebody waits for the command to say so. */
const FIRST_ATTEMPTS_MAX = 3;
/** Nobody listens there, or there is no way there. */
const NOBODY_THERE = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND)$/;
/** After this time of failures, a server that hangs is not asked again. Others may hold a lock as long. */
const RETRY_MS_MAX = 60_000;

// These use SET LOCAL, because poolers may give each transaction another connection. Everybody may add functions to the schema
// `public` of an older database, so no name is looked up there.
const LIMITS = `SET LOCAL search_path = pg_catalog; SET LOCAL statement_timeout = ${STATEMENT_MS_MAX}; SET LOCAL lock_timeout = ${LOCK_MS_MAX};
  SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS_MAX}`;

const INIT = "coppice hub init --team T";

/** The codes for a missing table and a missing schema. */
const MISSING = /^(42P01|3F000)$/;

/** What OpenSSL has against a certificate. */
const UNTRUSTED = /^(CERT|CRL|DEPTH_ZERO|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|SELF_SIGNED|UNABLE_TO)_?/;

/** Connections, resources, a restart, a deadlock or a lock: the same transaction may succeed later. */
const TRANSIENT = /^(08|53|57P|40001$|40P01$|55P03$)/;

/** The server ended a statement, or a wait for a lock, after its time; or the network did. */
const TOO_LONG = /^(57014|55P03|ETIMEDOUT)$/;

/** The schemas of teams that the caller may use. */
const TEAMS = `SELECT nspname AS schema FROM pg_catalog.pg_namespace
  WHERE starts_with(nspname, $1) AND has_schema_privilege(oid, 'USAGE') AND ($2::text IS NULL OR nspname = $2)`;

// As JSON, a row may lack a column that is younger than the tables.
const VERSION_OF = (schema: string): string =>
  `SELECT version, coalesce((to_jsonb(hub) ->> 'client_min')::integer, 1) AS "clientMin", id || ' ' || '${schema}.hub'::regclass::oid AS id, has_words AS "hasWords", pg_is_in_recovery() AS "isReplica" FROM ${schema}.hub`;

/** A team's tables in a database, which may be any Postgres from version 14 on. */
export class HubConnection {
  readonly #pool: Pool;
  readonly #team: string | undefined;
  #schema: string | undefined;
  #entered: string | undefined;
  /** The server and the database, without user and password. */
  readonly name: string;

  private constructor(pool: Pool, name: string, team: string | undefined) {
    this.#pool = pool;
    this.name = name;
    this.#team = team;
  }

  /** The team's schema as an identifier, once a transaction has begun. */
  get schema(): string {
    return this.#schema!;
  }

  /** Which hub was entered: see `HubVersion.id`. */
  get id(): string {
    return this.#entered!;
  }

  /**
   * Finds out which hub this is. Transactions are then refused if another one answers.
   *
   * @param isWriting  True to refuse a replica. It may lack what was pushed last, so what it lacks is not forgotten.
   * @throws {StoreError} as `transaction` does.
   */
  async enter(isWriting: boolean, signal: AbortSignal | undefined): Promise<string> {
    const { id, isReplica } = await this.#retried(async (_, found) => checkVersion(this.name, found), signal);
    if (isWriting && isReplica) {
      const solution = "Name the server that the replica follows: `coppice hub add`.";
      throw new StoreError("HUB_REFUSED", { hub: this.name, reason: "it is a replica, which is only read", solution });
    }
    this.#entered = id; // what was known stays until then: another push or sync may be under way
    return id;
  }

  /**
   * Opens no connection yet. Passwords come from `PGPASSWORD` and `.pgpass`, as psql takes them.
   *
   * @param team  It can be left out if the caller is in one team.
   * @throws {StoreError} `PACKAGE_MISSING`, `OPTION_INVALID`, `FILE_NOT_USABLE`.
   */
  static async to(url: string, team?: string): Promise<HubConnection> {
    if (team !== undefined) schemaOf(team);
    const address = hubAddressOf(url);
    const { name, isEncrypted, isExposed } = address;
    const config = await driverConfigOf(address);
    const { default: pg } = await loadDriver();
    if (isExposed) {
      const warning = `The connection to the hub ${name} is not encrypted (sslmode=disable): whoever is on the way reads and changes it.`;
      process.emitWarning(warning, "CoppiceWarning");
    }
    const pool = new pg.Pool({
      ...config,
      ...(!isEncrypted && { Client: clientThatKeepsPasswords(pg.Client, name) }),
      types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
      application_name: "coppice",
      max: CONNECTIONS_MAX,
      idleTimeoutMillis: IDLE_MS_MAX,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
      keepAlive: true,
      allowExitOnIdle: true,
    });
    pool.on("error", () => {}); // an idle connection broke; the next transaction opens another
    return new HubConnection(pool, name, team);
  }

  /**
   * Runs `work` in a transaction. If the connection breaks or the server is busy, it runs again, so `work` must begin by reading how
   * far the hub is: the first transaction may have been committed.
   *
   * Each transaction begins by reading the version of the tables, so a newer one is noticed.
   *
   * @throws {StoreError} `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`, and what `work` throws.
   */
  transaction<T>(work: (client: PoolClient, found: HubVersion) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#retried((client, found) => work(client, this.#checked(found)), signal);
  }

  async #retried<T>(
    work: (client: PoolClient, found: HubVersion | undefined) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    let failingFromMs: number | undefined;
    for (let failureCount = 1; ; failureCount += 1) {
      signal?.throwIfAborted();
      try {
        this.#schema ??= await this.#once("", (client) => this.#schemaOf(client));
        return await this.#once(`; ${VERSION_OF(this.#schema)}`, (client, [found]) =>
          work(client, found as HubVersion | undefined),
        );
      } catch (error) {
        failingFromMs ??= performance.now();
        const isAbsent = this.#schema === undefined && NOBODY_THERE.test(codeOf(error));
        const attemptsMax = isAbsent ? FIRST_ATTEMPTS_MAX : ATTEMPTS_MAX;
        const isLast = failureCount >= attemptsMax || performance.now() - failingFromMs >= RETRY_MS_MAX;
        if (isLast || !isTransient(error)) throw hubErrorOf(error, this.name);
        await wait(backoffMs(failureCount, BACKOFF) * (0.5 + Math.random()), undefined, { signal });
      }
    }
  }

  #checked(given: HubVersion | undefined): HubVersion {
    const found = checkVersion(this.name, given);
    if (this.#entered === undefined || this.#entered === found.id) return found;
    throw new StoreError("HUB_CHANGED", { hub: this.name, reason: "another" });
  }

  /** @throws {StoreError} `HUB_NOT_READY`, `HUB_REFUSED`. */
  async #schemaOf(client: PoolClient): Promise<string> {
    const team = this.#team;
    const wanted = team === undefined ? null : schemaOf(team);
    const { rows } = await client.query<{ schema: string }>(TEAMS, [TEAM_PREFIX, wanted]);
    if (rows.length === 1) return client.escapeIdentifier(rows[0]!.schema);
    const hub = this.name;
    if (rows.length > 1)
      throw new StoreError("HUB_REFUSED", { hub, reason: "you are in several teams: name the team" });
    const { rowCount } = await client.query("SELECT 1 FROM pg_catalog.pg_namespace WHERE starts_with(nspname, $1)", [
      TEAM_PREFIX,
    ]);
    if (rowCount === 0) throw new StoreError("HUB_NOT_READY", { hub, command: INIT });
    const reason = team === undefined ? "you are in no team" : `you are not in the team "${team}"`;
    throw new StoreError("HUB_REFUSED", { hub, reason });
  }

  /** Runs `work` in one transaction, whichever tables there are. */
  async administer<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await this.#once("", work);
    } catch (error) {
      throw hubErrorOf(error, this.name);
    }
  }

  /** Connects once, and finds out whether the caller may use the team's tables. @throws {StoreError} as `transaction` does. */
  try(): Promise<void> {
    return this.administer(async (client) => {
      const { rows } = await client.query<HubVersion>(VERSION_OF(await this.#schemaOf(client)));
      checkVersion(this.name, rows[0]);
    });
  }

  /** @param more  A statement that belongs to the beginning. `work` gets its rows. */
  async #once<T>(more: string, work: (client: PoolClient, rows: unknown[]) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    const ignore = (): void => {}; // the pending query fails, too
    client.on("error", ignore);
    let isBroken = true;
    try {
      const begun = (await client.query(`BEGIN; ${LIMITS}${more}`)) as unknown as QueryResult[];
      const result = await work(client, begun.at(-1)!.rows);
      await client.query("COMMIT");
      isBroken = false;
      return result;
    } catch (error) {
      if (!isLost(error))
        isBroken = await client.query("ROLLBACK").then(
          () => false,
          () => true,
        );
      throw error;
    } finally {
      client.off("error", ignore);
      client.release(isBroken);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

async function loadDriver(): Promise<typeof import("pg")> {
  try {
    return await import("pg");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new StoreError("PACKAGE_MISSING", { package: "pg", user: "The hub" });
  }
}

/** How a server may ask for a password so that it learns it. */
const UNSAFE_METHODS = {
  authenticationCleartextPassword: "in clear text",
  authenticationMD5Password: "as an MD5 digest",
} as const;

/** A client without TLS. Anybody may answer in place of the server, so it sends no password that such a server could use. */
function clientThatKeepsPasswords(Base: typeof Client, hub: string): NonNullable<PoolConfig["Client"]> {
  return class extends Base {
    constructor(config?: ClientConfig) {
      super(config);
      for (const [event, method] of Object.entries(UNSAFE_METHODS)) {
        // The driver listens when it connects, so it answers after this and finds no connection.
        this.connection.on(event, () => {
          this.connection.stream.destroy();
          this.connection.emit("error", new StoreError("HUB_UNSAFE", { hub, reason: "password", found: method }));
        });
      }
    }
  };
}

export interface HubVersion {
  version: number;
  /** The lowest version of clients that they admit. */
  clientMin: number;
  /** Its own id, and that of its table in this database: tables that are made anew, or are restored from a dump, have another one. */
  id: string;
  /** True if they have a word index: see everywhere.ts. */
  hasWords: boolean;
  /** True if the server follows another one, and is only read. */
  isReplica: boolean;
}

/** @throws {StoreError} `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`. */
function checkVersion(hub: string, found: HubVersion | undefined): HubVersion {
  if (found === undefined) throw new StoreError("HUB_NOT_READY", { hub, command: INIT });
  const { version, clientMin } = found;
  const isClientOld = version > VERSION + 1 || clientMin > VERSION;
  if (isClientOld || version < VERSION - 1) {
    throw new StoreError("FORMAT_UNSUPPORTED", {
      hub,
      version,
      clientMin,
      known: VERSION,
      old: isClientOld ? "client" : "hub",
    });
  }
  return found;
}

/** The code of an error of the server or of the system. */
export function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? "");
}

/** Returns true if the server did not answer, so that the transaction may or may not have been committed. */
function isLost(error: unknown): boolean {
  if (StoreError.is(error)) return false;
  const { message } = error as Error;
  return /^E[A-Z]+$/.test(codeOf(error)) || /terminated|timeout|Connection ended|not queryable/i.test(message ?? "");
}

function isTransient(error: unknown): boolean {
  return !StoreError.is(error) && (TRANSIENT.test(codeOf(error)) || isLost(error));
}

/** The server's messages quote rows and values, so an error only has its code, and the text of errors about rights. */
function hubErrorOf(error: unknown, hub: string): unknown {
  if (StoreError.is(error) || (error as Error).name === "AbortError") return error;
  const code = codeOf(error);
  if (MISSING.test(code)) return new StoreError("HUB_NOT_READY", { hub, command: INIT });
  const { message } = error as Error;
  const tookTooLong = TOO_LONG.test(code) || (code === "" && /timeout/i.test(message));
  if (tookTooLong) return new StoreError("HUB_UNREACHABLE", { hub, reason: "it took too long" });
  if (isTransient(error)) return new StoreError("HUB_UNREACHABLE", { hub, reason: code || "the connection ended" });
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return new StoreError("HUB_UNSAFE", { hub, reason: "other name" });
  if (UNTRUSTED.test(code)) return new StoreError("HUB_UNSAFE", { hub, reason: "untrusted", found: message });
  if (!/^[0-9A-Z]{5}$/.test(code)) {
    if (/SSL connection/.test(message)) return new StoreError("HUB_UNSAFE", { hub, reason: "no TLS" });
    if (/password|SCRAM|SASL|SSL|certificate/i.test(message)) {
      return new StoreError("HUB_REFUSED", { hub, reason: "the password or the certificate is not accepted" });
    }
    return error;
  }
  const isAboutRights = /^(28|3D|42501)/.test(code);
  const reason = isAboutRights ? message : `the server answered with the code ${code}`;
  return new StoreError("HUB_REFUSED", { hub, reason });
}
