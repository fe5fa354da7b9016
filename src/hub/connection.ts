import { setTimeout as wait } from "node:timers/promises";
import type { Client, ClientConfig, Pool, PoolClient, PoolConfig, QueryResult } from "pg";
import { backoffMs } from "../core/backoff.ts";
import { StoreError } from "../core/errors.ts";
import { driverConfigOf, hubAddressOf } from "./address.ts";
import { MIGRATIONS, VERSION_MIN } from "./migrations.ts";

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
/** After this time of failures, a server that hangs is not asked again. Others may hold a lock as long. */
const RETRY_MS_MAX = 60_000;

/** The default is READ COMMITTED. */
type Isolation = "REPEATABLE READ";

// These use SET LOCAL, because poolers may give each transaction another connection. Everybody may add functions to the schema
// `public` of an older database, so no name is looked up there.
const LIMITS = `SET LOCAL search_path = pg_catalog; SET LOCAL statement_timeout = ${STATEMENT_MS_MAX}; SET LOCAL lock_timeout = ${LOCK_MS_MAX};
  SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS_MAX}`;

const VERSION = 'SELECT version, client_min AS "clientMin" FROM coppice.hub';

/** The codes for a missing table and a missing schema. */
const MISSING = /^(42P01|3F000)$/;

/** What OpenSSL has against a certificate. */
const UNTRUSTED = /^(CERT|CRL|DEPTH_ZERO|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|SELF_SIGNED|UNABLE_TO)_?/;

/** Connections, resources, a restart, a deadlock or a lock: the same transaction may succeed later. */
const TRANSIENT = /^(08|53|57P|40001$|40P01$|55P03$)/;

/** The server ended a statement, or a wait for a lock, after its time; or the network did. */
const TOO_LONG = /^(57014|55P03|ETIMEDOUT)$/;

/** A database with the tables of the hub. It may be any Postgres from version 14 on. */
export class HubConnection {
  readonly #pool: Pool;
  /** The server and the database, without user and password. */
  readonly name: string;

  private constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.name = name;
  }

  /**
   * Opens no connection yet. Passwords come from `PGPASSWORD` and `.pgpass`, as psql takes them.
   *
   * @throws {StoreError} `PACKAGE_MISSING`, `OPTION_INVALID`, `FILE_NOT_USABLE`.
   */
  static async to(url: string): Promise<HubConnection> {
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
    return new HubConnection(pool, name);
  }

  /**
   * Runs `work` in a transaction. If the connection breaks or the server is busy, it runs again, so `work` must begin by reading how
   * far the hub is: the first transaction may have been committed.
   *
   * Each transaction begins by reading the version of the tables. So a newer one is noticed, and `upgrade` waits until the transaction
   * ends.
   *
   * @throws {StoreError} `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`, and what `work` throws.
   */
  async transaction<T>(
    work: (client: PoolClient) => Promise<T>,
    signal?: AbortSignal,
    isolation?: Isolation,
  ): Promise<T> {
    const begin = `BEGIN ISOLATION LEVEL ${isolation ?? "READ COMMITTED"}; ${LIMITS}; ${VERSION}`;
    let failingFromMs: number | undefined;
    for (let failureCount = 1; ; failureCount += 1) {
      signal?.throwIfAborted();
      try {
        return await this.#once(begin, async (client, found) => {
          checkVersion(this.name, found);
          return await work(client);
        });
      } catch (error) {
        failingFromMs ??= performance.now();
        const isLast = failureCount === ATTEMPTS_MAX || performance.now() - failingFromMs >= RETRY_MS_MAX;
        if (isLast || !isTransient(error)) throw hubErrorOf(error, this.name);
        await wait(backoffMs(failureCount, BACKOFF) * (0.5 + Math.random()), undefined, { signal });
      }
    }
  }

  /** Runs `work` on a connection whatever the version of the tables is. */
  async administer<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await this.#once(`BEGIN; ${LIMITS}`, work);
    } catch (error) {
      throw hubErrorOf(error, this.name);
    }
  }

  /** @param begin  Statements that begin the transaction. The last one reads the version of the tables. */
  async #once<T>(begin: string, work: (client: PoolClient, version: HubVersion | undefined) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    const ignore = (): void => {}; // the pending query fails, too
    client.on("error", ignore);
    let isBroken = true;
    try {
      const result = await work(client, await versionRead(client, begin));
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

interface HubVersion {
  version: number;
  clientMin: number;
}

/** Runs statements, and returns the version that the last one reads; undefined if the database has no tables of Coppice. */
async function versionRead(client: PoolClient, statements: string): Promise<HubVersion | undefined> {
  try {
    const results = (await client.query(statements)) as unknown as QueryResult<HubVersion>[];
    return results.at(-1)!.rows[0];
  } catch (error) {
    if (MISSING.test(codeOf(error))) return undefined;
    throw error;
  }
}

/** True if the database has tables of Coppice. It locks none of them. */
export async function hasTables(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>("SELECT to_regclass('coppice.hub') IS NOT NULL AS found");
  return rows[0]!.found;
}

/** Returns undefined if the database has no tables of Coppice. */
export async function versionOf(client: PoolClient): Promise<HubVersion | undefined> {
  if (!(await hasTables(client))) return undefined;
  const { rows } = await client.query<HubVersion>(VERSION);
  return rows[0];
}

/** @throws {StoreError} `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`. */
export function checkVersion(hub: string, found: HubVersion | undefined): void {
  if (found === undefined) throw new StoreError("HUB_NOT_READY", { hub, command: "coppice hub init" });
  if (found.clientMin > MIGRATIONS.length) {
    throw new StoreError("FORMAT_UNSUPPORTED", { hub, version: found.version, known: MIGRATIONS.length });
  }
  if (found.version < VERSION_MIN) throw new StoreError("HUB_NOT_READY", { hub, command: "coppice hub upgrade" });
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
