import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildPackage } from "../build/package.ts";
import { median, sessionMessages } from "./messages.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CHILD = fileURLToPath(new URL("builds-child.mjs", import.meta.url));
const TRANSCRIPTS = join(ROOT, "scripts", "demo", "transcripts");
const WORKS = ["append", "resume", "recall", "import"] as const;
const MESSAGES = 2_000;
const RUNS = 15;
/** A work that takes this many times the CPU of the other build has become slower. */
const SLOWER = 1.1;

/**
 * Compares the CPU of this build with that of another commit. Both are built and run here in turn, because figures of another
 * machine or hour say little.
 *
 * @param against  The other commit; by default the last tag.
 * @throws {Error} if a work has become slower by more than a tenth.
 */
export async function benchBuilds(
  against = git("describe", "--tags", "--abbrev=0"),
): Promise<{ name: "builds"; figures: Record<string, number> }> {
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-builds-"));
  const other = join(scratch, "tree");
  const here = join(ROOT, "node_modules", ".coppice-bench-builds"); // beside the packages that it loads
  try {
    git("worktree", "add", "--detach", other, against);
    symlinkSync(join(ROOT, "node_modules"), join(other, "node_modules"));
    execFileSync("npm", ["run", "--silent", "build"], { cwd: other, stdio: "inherit" });
    await buildPackage(here);
    const builds = { new: here, old: join(other, "dist") };
    const messages = join(scratch, "messages.json");
    const session = sessionMessages(1);
    writeFileSync(messages, JSON.stringify(Array.from({ length: MESSAGES }, () => session.next().value)));
    const taken = new Map<string, number[]>();
    for (let run = 0; run < RUNS; run++) {
      for (const work of WORKS) {
        for (const name of run % 2 === 0 ? (["new", "old"] as const) : (["old", "new"] as const)) {
          const store = join(scratch, `${name}-${work === "import" ? "imported" : "long"}-${run}.db`);
          const words = [CHILD, builds[name], work, store, work === "import" ? TRANSCRIPTS : messages];
          const ms = Number(execFileSync(process.execPath, words, { encoding: "utf8" }));
          taken.set(`${work} ${name}`, [...(taken.get(`${work} ${name}`) ?? []), ms]);
        }
      }
    }
    const figures = Object.fromEntries(Array.from(taken, ([name, ms]) => [`${name}.cpuMs`, median(ms)]));
    const slower = WORKS.filter((work) => figures[`${work} new.cpuMs`]! > SLOWER * figures[`${work} old.cpuMs`]!);
    if (slower.length > 0) {
      throw new Error(`Slower than ${against}: ${slower.join(", ")}. ${JSON.stringify(figures)}`);
    }
    return { name: "builds", figures };
  } finally {
    git("worktree", "remove", "--force", other);
    rmSync(here, { recursive: true, force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

function git(...words: string[]): string {
  return execFileSync("git", words, { cwd: ROOT, encoding: "utf8" }).trim();
}
