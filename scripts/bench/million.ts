import { execFileSync, spawnSync } from "node:child_process";
import { constants, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/index.ts";
import { compile } from "../crash/compile.ts";
import { questions } from "./recall-questions.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const CHILD = fileURLToPath(new URL("./million-child.ts", import.meta.url));
const USAGE = new URL("./million-usage.mjs", import.meta.url).href;
const SESSION = "session-7";
/** The exit status of a command that does not exist, or was called in a wrong way. */
const MISUSED = 2;
const COMMAND_MS_MAX = 20 * 60_000;

/**
 * Runs every command and every public method in a fresh process, on a copy of the store of a million messages that `bench -- recall
 * --build-million` makes. It does not run `mcp` and `watch`, which do not end, and `reembed`.
 *
 * @returns for each the time and the CPU time in milliseconds, and the peak memory of its process in MiB. The times of a command are
 *   those of its process.
 */
export async function benchMillion(folder = "."): Promise<{ name: "million"; figures: Record<string, number> }> {
  const path = join(folder, "recall-1000000.db");
  if (!existsSync(path)) throw new Error(`No ${path}. \`bench -- recall --folder DIR --build-million\` makes it.`);
  const scratch = mkdtempSync(join(folder, "million-"));
  const compiled = compile(MAIN, CHILD);
  const child = compiled.path.replace("src/cli/main.js", "scripts/bench/million-child.js");
  try {
    const copy = join(scratch, "agent.db");
    for (const suffix of ["", "-coppice-ann.hnsw", "-coppice-ann.json"])
      if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix, constants.COPYFILE_FICLONE);
    const figures: Record<string, number> = {};
    const note = (name: string, { ms, cpuMs, mb }: { ms: number; cpuMs: number; mb: number }): void => {
      figures[`${name}: ms`] = ms;
      figures[`${name}: CPU ms`] = cpuMs;
      figures[`${name}: MiB`] = mb;
      const [wall, cpu, memory] = [ms.toFixed(1), cpuMs.toFixed(1), mb.toFixed(0)];
      console.error(`${name.padEnd(32)} ${wall.padStart(9)} ms ${cpu.padStart(9)} CPU ms ${memory.padStart(5)} MiB`);
    };
    const methods = JSON.parse(execFileSync(process.execPath, [child], { encoding: "utf8" })) as string[];
    for (const method of methods) {
      const printed = execFileSync(process.execPath, [child, copy, method], { encoding: "utf8" });
      note(method, JSON.parse(printed));
    }
    for (const args of commands(copy, scratch)) {
      const usage = join(scratch, "usage.json");
      rmSync(usage, { force: true });
      const { stderr, status } = spawnSync(
        process.execPath,
        ["--import", USAGE, compiled.path, args[0]!, "--db", copy, ...args.slice(1)],
        {
          env: { ...process.env, COPPICE_BENCH_USAGE: usage },
          stdio: ["ignore", "ignore", "pipe"],
          timeout: COMMAND_MS_MAX,
        },
      );
      if (status !== MISUSED && existsSync(usage)) note(args[0]!, JSON.parse(readFileSync(usage, "utf8")));
      else console.error(`${args[0]} did not end: ${stderr}`);
    }
    return { name: "million", figures };
  } finally {
    compiled.remove();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Returns the commands with their arguments. Those that change most of the file are last. */
function commands(path: string, scratch: string): string[][] {
  const store = openStore(path, { readonly: true });
  const { root } = store.resume(SESSION).roots()[0]!;
  const [subject] = store.subjects({ limit: 1 });
  const transcript = join(scratch, "transcript.jsonl");
  const lines = Array.from(store.export({ sessions: [SESSION] }), (line) => JSON.stringify(line));
  writeFileSync(transcript, `${lines.join("\n")}\n`.replaceAll(SESSION, "imported"));
  store.close();
  return [
    ["sessions"],
    ["show", SESSION],
    ["resume", SESSION],
    ["recall", questions(1, 4)[0]!.text],
    ["recap"],
    ["subjects"],
    ...(subject === undefined ? [] : [["subjects", subject.subject]]),
    ["expand", root],
    ["forest", SESSION],
    ["sql", "SELECT count(*) FROM sessions"],
    ["doctor"],
    ["import", transcript],
    ["export"],
    ["backup", join(scratch, "backup.db")],
    ["verify"],
    ["forget", SESSION, "--yes"],
  ];
}
