import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openHub } from "../../src/hub/index.ts";
import { openStore } from "../../src/index.ts";
import { buildPackage } from "../../test/support/build.ts";
import { sessionMessages, take } from "./messages.ts";

const USAGE = fileURLToPath(new URL("./million-usage.mjs", import.meta.url));
const APPENDED = 200;
const MORE = 1_000;

/**
 * Measures `coppice hub pull` of the built package in a process of its own: of a long session, and again after it has grown.
 *
 * @returns `pullRssMb`, `pullSeconds`, `pullCpuSeconds`: the peak memory of the process, and its time. `pullAgain…`: the same of the
 *   second pull.
 */
export async function measurePull(url: string, messages: number): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-hub-"));
  const built = buildPackage();
  const store = openStore(join(folder, "home.db"));
  const hub = await openHub(url);
  try {
    const said = sessionMessages(1);
    const grow = async (count: number): Promise<void> => {
      const session = store.session("long", { project: "web" });
      for (let seq = 0; seq < count; seq += APPENDED) session.append(take(said, APPENDED));
      await hub.push(store, { projects: ["web"] });
    };
    const away = join(folder, "away.db");
    const usage = join(folder, "usage.json");
    const coppice = (...args: string[]): { ms: number; cpuMs: number; mb: number } => {
      const program = ["--import", USAGE, join(built.folder, "dist", "coppice.cjs"), ...args, "--db", away];
      execFileSync(process.execPath, program, { env: { ...process.env, COPPICE_BENCH_USAGE: usage }, stdio: "ignore" });
      return JSON.parse(readFileSync(usage, "utf8"));
    };
    const pull = (name: string): Record<string, number> => {
      const { ms, cpuMs, mb } = coppice("hub", "pull", "long");
      return { [`${name}RssMb`]: mb, [`${name}Seconds`]: ms / 1_000, [`${name}CpuSeconds`]: cpuMs / 1_000 };
    };
    await grow(messages);
    coppice("hub", "add", url, "--project", "web");
    const first = pull("pull");
    await grow(MORE);
    return { ...first, ...pull("pullAgain") };
  } finally {
    await hub.close();
    store.close();
    built.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}
