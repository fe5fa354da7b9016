import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { AGENT_NAMES } from "../../src/importers/formats.ts";
import { openStore } from "../../src/index.ts";
import { samplesBut } from "../contract/importer-samples.ts";
import { CliFolder, longSession } from "../support/cli.ts";
import { slow } from "../support/effort.ts";

/** @returns the process, its events so far, and a function that waits until there are so many of a kind. */
function startWatch(folder: CliFolder, args: readonly string[]) {
  const watch = folder.start(["watch", ...args, "--json"]);
  const events = () =>
    watch
      .stdout()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const until = async (event: string, count = 1): Promise<void> => {
    const told = () => events().filter((one) => one.event === event).length;
    await expect.poll(told, { timeout: 20_000, message: `${event} ${watch.stderr()}` }).toBeGreaterThanOrEqual(count);
  };
  return { ...watch, events, until };
}

describe("coppice watch", () => {
  test("shows the standard locations, and reads none of them without consent", async () => {
    const folder = new CliFolder();
    const projects = join(folder.path, ".claude", "projects", "web");
    mkdirSync(projects, { recursive: true });
    const sample = fileURLToPath(samplesBut("")[0]!);
    cpSync(sample, join(projects, basename(sample)));
    const refusal = await folder.refusal(2, "watch");
    expect(refusal).toMatch(/Claude Code\t.*\.claude\/projects\t1\t0\.0\n/);
    const missing = /^Not there yet: (.*)\.$/m.exec(refusal)?.[1]?.split(", ");
    expect(missing?.sort()).toEqual(AGENT_NAMES.filter((name) => name !== "Claude Code").sort());
    expect(refusal).toContain("Add --yes to agree, or name the paths to follow.");

    const { exitCode, stdout, stderr } = await folder.run(["watch", "--once", "--yes", "--json"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ event }) => event)).toEqual(["locations", "imported", "caught_up", "stopped"]);
    expect(events[0].locations[1]).toEqual({
      agent: "Gemini CLI",
      path: join(folder.path, ".gemini", "tmp"),
      fileCount: null,
      byteLength: 0,
    });
    expect(events[3].newCount).toBe(events[1].newCount);
    expect((await folder.json("sessions")).length).toBe(events[1].sessionIds.length);
  });

  test("with --once says what came from which agent", async () => {
    const folder = new CliFolder();
    folder.jsonl("long.jsonl", longSession("long", 120));
    expect((await folder.run(["watch", "long.jsonl", "--once"])).stdout).toBe(
      "Agent\tFiles\tSessions\tNew messages\njsonl\t1\t1\t120\n120 new messages in 1 session, from 1 file.\n",
    );
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s ends it, with everything in the store", async (signal) => {
    const folder = new CliFolder();
    const file = folder.jsonl("a.jsonl", longSession("a", 2));
    const { child, events, stderr, ended, until } = startWatch(folder, [folder.path]);
    await until("caught_up");
    appendFileSync(file, `${JSON.stringify({ session: "a", role: "user", content: "more" })}\n`);
    await until("imported", 2);
    child.kill(signal);
    expect([await ended, stderr()]).toEqual([0, ""]);
    expect(events().at(-1)).toEqual({ event: "stopped", newCount: 3 });
    expect((await folder.json("doctor")).stats.messageCount).toBe(3);
  });

  slow(test)("ends when nobody reads its output any more", async () => {
    const folder = new CliFolder();
    const file = folder.jsonl("a.jsonl", longSession("a", 2));
    const { child, ended, until } = startWatch(folder, [folder.path]);
    await until("caught_up");
    child.stdout.destroy();
    appendFileSync(file, `${JSON.stringify({ session: "a", role: "user", content: "more" })}\n`);
    expect(await ended).toBe(0);
  });

  /**
   * Goal: whenever it dies, nothing is lost and nothing comes twice.
   * Method: write the samples of all agents piece by piece, while a watch is killed and started again; let a last one catch
   * up, and compare with an import of the finished files.
   */
  slow(test)("killed at any moment and started again, stores the same as one import", async () => {
    const folder = new CliFolder();
    const samples = samplesBut("opencode")
      .map((url) => fileURLToPath(url))
      .filter((path) => path.endsWith(".jsonl"));
    const written = samples.map((sample) => {
      const path = join(folder.path, "agents", basename(dirname(sample)), basename(sample));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "");
      return { path, rest: readFileSync(sample) };
    });
    const writing = (async () => {
      for (let turn = 0; written.some(({ rest }) => rest.length > 0); turn++) {
        const file = written[turn % written.length]!;
        const length = 1 + ((turn * 7_919) % 1_500);
        appendFileSync(file.path, file.rest.subarray(0, length));
        file.rest = file.rest.subarray(length);
        await wait(25);
      }
    })();
    for (const aliveMs of [150, 700, 300]) {
      const { child, ended, until } = startWatch(folder, [join(folder.path, "agents")]);
      if (aliveMs > 500) await until("caught_up");
      await wait(aliveMs);
      child.kill("SIGKILL");
      await ended;
    }
    await writing;
    expect((await folder.run(["watch", "agents", "--once"])).exitCode).toBe(0);

    const clean = new CliFolder();
    await clean.json("import", join(folder.path, "agents"));
    const content = contentOf(clean.db);
    expect(Object.keys(content).length).toBeGreaterThan(samples.length);
    expect(contentOf(folder.db)).toEqual(content);
    expect((await folder.json("verify")).ok).toBe(true);
  });
});

/** Returns the sorted parts of each session by role. A message that was incomplete when it was first read has a second one. */
function contentOf(path: string): Record<string, string[]> {
  const store = openStore(path, { readonly: true });
  try {
    const content: Record<string, string[]> = {};
    for (const { id } of store.sessions()) {
      const messages = store.resume(id).messages();
      content[id] = messages
        .flatMap(({ role, parts }) => parts.map((part) => `${role} ${JSON.stringify(part)}`))
        .sort();
    }
    return content;
  } finally {
    store.close();
  }
}
