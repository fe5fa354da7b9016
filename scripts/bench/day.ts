import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openStore } from "../../src/index.ts";
import { KEY_HEADER } from "../../src/view/questions.ts";
import { compile } from "../crash/compile.ts";
import type { DayOfWriter } from "./day-writer.ts";
import { quantile, sessionMessages } from "./messages.ts";
import { transcriptLine } from "./transcript-line.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const [WRITER, WATCH, VIEW] = ["day-writer", "watch-child", "view-child"].map((name) =>
  fileURLToPath(new URL(`./${name}.ts`, import.meta.url)),
) as [string, string, string];

const WRITERS = 4;
const READERS = 2;
/** How often the length of the log is looked at, and a line is written to the transcript that is watched, in milliseconds. */
const LOOK_EVERY_MS = 20;
const LINE_EVERY_MS = 100;
const MB = 1e6;

/**
 * Lets four writers, two MCP servers that are asked without a pause, a view that is looked at, and a watch work on one store, and looks
 * at its write-ahead log. SQLite begins the log anew only while nobody reads from it.
 *
 * @param seconds  How long. A writer appends a hundred times a second, which is about an hour of an agent.
 * @returns `dayLogMaxMb`: the longest that the log was, and `dayLogEndMb` what it was after two more appends, when nobody reads.
 *   `dayLogCut`: how often it was cut short. `dayAppendP99Ms`, `dayAppendMaxMs`: appends of the writers.
 *   `dayFailed`: calls of readers that failed, and findings of `verify`.
 */
export async function benchDay(seconds = 120): Promise<{ name: "day"; figures: Record<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-day-"));
  const path = join(folder, "agent.db");
  const transcripts = join(folder, "transcripts");
  mkdirSync(transcripts);
  openStore(path).close();
  const compiled = compile(MAIN, WRITER, WATCH, VIEW);
  const benches = join(dirname(compiled.path), "../../scripts/bench");
  const children: ChildProcess[] = [];
  const start = (program: string, ...args: string[]): ChildProcess => {
    const child = fork(join(benches, program), args);
    children.push(child);
    return child;
  };
  const clients: Client[] = [];
  let [isOver, readCount, failedCount] = [false, 0, 0];
  const untilOver = async (work: (count: number) => Promise<unknown>): Promise<void> => {
    for (let count = 0; !isOver; count++) {
      await work(count).catch(() => {
        failedCount += 1;
      });
    }
  };
  const asked = async (count: number, ask: () => Promise<{ isError?: boolean | undefined }>): Promise<void> => {
    const { isError = false } = await ask();
    readCount += 1;
    if (isError) failedCount += 1;
    else if (count % 50 === 0) await wait(100);
  };
  try {
    const writers = Array.from({ length: WRITERS }, (_, number) => start("day-writer.js", path, String(number + 1)));
    start("watch-child.js", path, transcripts);
    const work: Promise<void>[] = [];
    for (let number = 0; number < READERS; number++) {
      const client = new Client({ name: "day", version: "1" });
      const args = [compiled.path, "mcp", "--db", path];
      await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
      clients.push(client);
      const query = (count: number): string =>
        String([...sessionMessages(count).next().value!.content!].slice(0, 80).join(""));
      work.push(
        untilOver((count) =>
          asked(count, () => client.callTool({ name: "recall", arguments: { query: query(count % 40) } })),
        ),
      );
    }
    const [url] = (await once(start("view-child.js", path), "message")) as [string];
    const [base, token] = url.split("/#t=") as [string, string];
    const headers = { "content-type": "application/json" };
    const entered = await fetch(`${base}/api/enter`, { method: "POST", headers, body: JSON.stringify({ token }) });
    const key = (await entered.json()).key as string;
    work.push(
      untilOver(async (count) => {
        const answer = await fetch(`${base}/api/sessions?limit=50`, { headers: { [KEY_HEADER]: key } });
        await answer.arrayBuffer();
        await asked(count, async () => ({ isError: !answer.ok }));
        await wait(50);
      }),
      untilOver(async (count) => {
        const line = sessionMessages(1_000 + count).next().value!;
        appendFileSync(
          join(transcripts, "00000000-1111-4111-8111-111111111111.jsonl"),
          `${JSON.stringify(transcriptLine(line, "day", count))}\n`,
        );
        await wait(LINE_EVERY_MS);
      }),
    );
    const log = { max: 0, cut: 0 };
    let before = 0;
    for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; await wait(LOOK_EVERY_MS)) {
      const { size } = statSync(`${path}-wal`);
      if (size < before) log.cut += 1;
      log.max = Math.max(log.max, size);
      before = size;
    }
    isOver = true;
    await Promise.all(work);
    const days = await Promise.all(
      writers.map(async (writer) => {
        writer.send("over");
        return ((await once(writer, "message")) as [DayOfWriter])[0];
      }),
    );
    const appendMs = days.flatMap((day) => day.appendMs);
    await Promise.all(clients.map((client) => client.close()));
    const store = openStore(path);
    for (let again = 0; again < 2; again++) store.session("last").append({ role: "user", content: "One more." });
    const end = statSync(`${path}-wal`).size;
    failedCount += store.verify().problemCount;
    store.close();
    return {
      name: "day",
      figures: {
        dayAppends: appendMs.length,
        dayReads: readCount,
        dayLogMaxMb: log.max / MB,
        dayLogEndMb: end / MB,
        dayLogCut: log.cut,
        dayAppendP50Ms: quantile(appendMs, 0.5),
        dayAppendP99Ms: quantile(appendMs, 0.99),
        dayAppendMaxMs: Math.max(...appendMs),
        dayFailed: failedCount,
      },
    };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    compiled.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}
