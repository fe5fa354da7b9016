import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { isAbsolute } from "node:path";
import type { PoolConfig } from "pg";
import { StoreError } from "../core/errors.ts";

/** Where a hub is. It has no password. */
export interface HubAddress {
  /** The server and the database, without the user. */
  name: string;
  /** A host, or the folder of a socket. */
  host: string;
  port: number | undefined;
  database: string;
  user: string | undefined;
  /** False for a socket, for this machine, and where the URL says `sslmode=disable`. */
  isEncrypted: boolean;
  /** True if what is sent crosses a network as plain text. */
  isExposed: boolean;
  /** The file of the certificates that are trusted; without it, those that Node trusts. */
  rootFile: string | undefined;
}

/** Names of roles and databases. Without `:` and `%`, so that no password stands in their place. */
const NAME = /^[\p{L}\p{N}_.@$+ -]{1,63}$/u;
const HOST = /^[\w.:-]{1,255}$/;

/** These encrypt, and we always verify. Hosting companies give URLs with `require`. */
const VERIFYING = ["require", "verify-ca", "verify-full"];

/**
 * Reads the URL of a hub. Everything that it may say is listed here: the driver would take options for the server, files to send, and
 * passwords from other places of it. Errors quote nothing of the URL, because it may have a password anywhere.
 *
 * @throws {StoreError} `OPTION_INVALID`.
 */
export function hubAddressOf(url: string): HubAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw refused("a URL such as postgres://ada@hub.example/agents", "another");
  }
  if (parsed.password !== "") throw refused(WITHOUT_PASSWORD, "one with a password");
  const user = decoded(parsed.username);
  if (user === undefined || (user !== "" && !NAME.test(user))) {
    throw refused(`${WITHOUT_PASSWORD}, and with the name of a role before the @`, "another");
  }
  const query = optionsOf(parsed);
  const folder = query.get("host");
  const host = folder ?? decoded(parsed.hostname)?.replace(/^\[(.*)\]$/, "$1") ?? "";
  const isSocket = isAbsolute(host) && !host.includes("\0");
  if (folder !== undefined && (!isSocket || parsed.hostname !== "")) {
    throw refused("the folder of a socket in `host`, and then no other host", "another");
  }
  if (!isSocket && !HOST.test(host)) throw refused("a URL with the name of one host", "another");
  const database = decoded(parsed.pathname.slice(1)) ?? "";
  if (!NAME.test(database) || parsed.hash !== "")
    throw refused("a URL that ends with the name of a database", "another");
  const mode = query.get("sslmode");
  if (mode !== undefined && mode !== "disable" && !VERIFYING.includes(mode)) {
    throw refused("sslmode=verify-full, or sslmode=disable to send everything as plain text", "another sslmode");
  }
  const rootFile = query.get("sslrootcert");
  if (rootFile !== undefined && !isAbsolute(rootFile)) {
    throw refused("the whole path of a file of certificates in `sslrootcert`", "another");
  }
  const isNear = isSocket || host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
  return {
    name: `${isSocket ? host : parsed.host}/${database}`,
    host,
    port: parsed.port === "" ? undefined : Number(parsed.port),
    database,
    user: user === "" ? undefined : user,
    isEncrypted: !isSocket && (mode === undefined ? !isNear : mode !== "disable"),
    isExposed: !isNear && mode === "disable",
    rootFile,
  };
}

const WITHOUT_PASSWORD = "a URL without a password, which comes from PGPASSWORD or .pgpass";
const OPTIONS = ["host", "sslmode", "sslrootcert"];

function optionsOf({ searchParams }: URL): ReadonlyMap<string, string> {
  const names = [...searchParams.keys()];
  if (names.some((name) => !OPTIONS.includes(name)) || new Set(names).size < names.length) {
    throw refused(`of options only ${OPTIONS.join(", ")}, once each`, "others");
  }
  return new Map(searchParams);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function refused(expected: string, actual: string): StoreError {
  return new StoreError("OPTION_INVALID", { option: "url", expected, actual });
}

/** What the driver is told, so that it takes nothing about TLS from elsewhere. @throws {StoreError} `FILE_NOT_USABLE`. */
export async function driverConfigOf(address: HubAddress): Promise<PoolConfig & { sslnegotiation: string }> {
  const { host, port, database, user, rootFile } = address;
  const config = { host, database, ...(port !== undefined && { port }), ...(user !== undefined && { user }) };
  const ca = rootFile === undefined ? undefined : await certificatesIn(rootFile);
  const ssl = address.isEncrypted && {
    host,
    minVersion: "TLSv1.2" as const,
    rejectUnauthorized: true,
    ...(ca && { ca }),
  };
  return { ...config, ssl, sslnegotiation: "postgres" };
}

async function certificatesIn(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => error);
  if (typeof text === "string" && text.includes("-----BEGIN CERTIFICATE-----")) return text;
  const reason = typeof text === "string" ? "it has no certificate in PEM" : String(text.code);
  throw new StoreError("FILE_NOT_USABLE", { path, reason, fix: "Name a file of certificates in `sslrootcert`." });
}
