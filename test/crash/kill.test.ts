import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { logFault } from "../../src/store/file/foreign-log.ts";
import { someOf } from "../support/effort.ts";
import { numberedMessage } from "../support/numbered-message.ts";
import { prepared } from "../support/prepared-event.ts";
import { allRows } from "../support/rows.ts";
import { inputOf } from "../support/said.ts";
import { openForEvent, STORE_EVENTS } from "../support/store-events.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

interface Acknowledged {
  number: number;
  messageId: number;
  seq: number;
}

const APPENDING = fileURLToPath(new URL("../support/appending-child.ts", import.meta.url));
const DYING = fileURLToPath(new URL("../support/dying-child.ts", import.meta.url));

/** A process that appends, and what it has been told was appended, line by line as it says so. */
function appending(path: string, first: number, count: number): { child: ChildProcess; lines: AsyncIterable<string> } {
  const child = spawn(process.execPath, [...process.execArgv, APPENDING, path, String(first), String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { child, lines: createInterface({ input: child.stdout! }) };
}

/** All that the process acknowledged by the time it was dead. It is killed after `countMax` lines, whatever it does then. */
async function acknowledgedUntilKilled(path: string, first: number, countMax: number): Promise<Acknowledged[]> {
  const { child, lines } = appending(path, first, 1_000_000);
  const acknowledged: Acknowledged[] = [];
  for await (const line of lines) {
    acknowledged.push(JSON.parse(line));
    if (acknowledged.length === countMax) child.kill("SIGKILL");
  }
  return acknowledged;
}

function expectAll(path: string, acknowledged: readonly Acknowledged[]): number {
  expect(logFault(path)).toBeUndefined();
  const store = openedStore(path);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  const messages = store.resume("s").messages();
  for (const { number, messageId, seq } of acknowledged) {
    const message = messages[seq]!;
    expect(message.id).toBe(messageId);
    const { createdAt, ...said } = inputOf(message);
    expect(said).toEqual(numberedMessage(number));
  }
  expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, index) => index));
  store.close();
  return messages.length;
}

/**
 * Goal: what a process was told was appended is there after `kill -9`, unaltered, and the file is sound.
 * Method: several times, a process appends to one session as fast as it can and says what it was told; it is killed after
 * some number of lines, in the middle of whatever it does by then. The next one goes on with the numbers that follow.
 */
test("promise 1: nothing that was acknowledged is lost when the process is killed, several times over", async () => {
  const path = temporaryPath();
  const acknowledged: Acknowledged[] = [];
  for (const linesUntilKill of someOf([1, 9, 27, 60, 120], 3)) {
    const first = (acknowledged.at(-1)?.number ?? -1) + 1;
    // The number after the last acknowledged one may be there already: its id says so, and it is not appended again.
    acknowledged.push(...(await acknowledgedUntilKilled(path, first, linesUntilKill)));
    const count = expectAll(path, acknowledged);
    expect(count - acknowledged.length).toBeLessThanOrEqual(1); // at most the one that was under way
  }
  expect(acknowledged.map(({ number, seq }) => number - seq)).toEqual(acknowledged.map(() => 0));
  expect(acknowledged.length).toBeGreaterThanOrEqual(148);
});

/**
 * Goal: two processes append to one session at once, one is killed, and neither loses a message.
 * Method: as above with two; the second is to finish its forty.
 */
test("promise 1: a process that is killed takes nothing from another that appends to the same session", async () => {
  const path = temporaryPath();
  openedStore(path).close(); // made before, so that both find it
  const survivor = appending(path, 1_000, 40);
  const killed = acknowledgedUntilKilled(path, 0, 30);
  const acknowledged: Acknowledged[] = [];
  for await (const line of survivor.lines) acknowledged.push(JSON.parse(line));
  expect(acknowledged).toHaveLength(40);
  acknowledged.push(...(await killed));
  expect(acknowledged.length).toBeGreaterThanOrEqual(70);
  expectAll(path, acknowledged);
});

const DEADLY = ["a message is appended that moves the frontier", "a session goes back", "a rewind is taken back"];

/**
 * Goal: a death in the middle of a transaction is no different for a process than for the copies of its files that
 * every-statement.test.ts takes.
 * Method: count the statements of a long event in this process; three others die before the first of them, the
 * middle one and COMMIT.
 */
test.each(someOf(DEADLY, 1))(
  "promise 1: a process that dies when %s leaves the file as it was before",
  async (name) => {
    const event = STORE_EVENTS[name]!;
    const { folder, path, before, count } = await prepared(event);
    const { rowsOf = allRows } = event;
    expect(count).toBeGreaterThan(20);
    const deaths = [1, Math.floor(count / 2), count].map(async (number) => {
      const file = copyStore(path, join(folder, `${number}.db`));
      const child = spawn(process.execPath, [...process.execArgv, DYING, file, name, String(number)], {
        stdio: "inherit",
      });
      expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
      const survivor = openForEvent(file);
      expect(survivor.verify()).toMatchObject({ ok: true, problems: [] });
      expect(rowsOf(file)).toEqual(before);
      survivor.close();
    });
    await Promise.all(deaths);
  },
);
