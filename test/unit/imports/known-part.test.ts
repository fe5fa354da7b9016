import { appendFileSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { Redactor } from "../../../src/imports/redaction/redact.ts";
import { watchFiles } from "../../../src/imports/watch-files.ts";
import type { KnownPart } from "../../../src/session/moving/intake.ts";
import type { Store } from "../../../src/session/store.ts";
import { sampleOf, samplesByFormat } from "../../contract/importer-samples.ts";
import { type Said, sessionIdOf, writeTranscript } from "../../support/claude-lines.ts";
import { runs, seenInRuns } from "../../support/effort.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { bring, fileOf, jsonLines } from "../importers/read.ts";

const STATES = 6;

/** Importers look at so many bytes before they yield anything. */
const BLANK = Buffer.from(`${" ".repeat(8_000)}\n`);

const REAL = ["claude-code", "codex", "copilot-cli", "pi"].flatMap((agent) => {
  const folder = fileURLToPath(new URL(`../../fixtures/importers/real/${agent}/`, import.meta.url));
  return readdirSync(folder).flatMap((name) => (name.endsWith(".jsonl") ? [join(folder, name)] : []));
});
const SAMPLES = [
  "claude-code",
  "qwen-code",
  "codex",
  "llxprt",
  "pi",
  "copilot-cli",
  "droid",
  "kimi",
  "kimi-code",
  "openclaw",
  "jsonl",
]
  .flatMap((format) => samplesByFormat[format]![0]!)
  .map((name) => fileURLToPath(sampleOf(name)));

async function importBytes(store: Store, path: string, bytes: Uint8Array, isFinished: boolean, known?: KnownPart) {
  const run = new ImportRun(store);
  const report = await run.read({ ...fileOf(bytes, 65_536, path), isUncertain: true, isFinished, known });
  return { report, part: run.takePart(path) };
}

/** Returns the messages of each session in order, without facts that a file gives later, such as usage. */
function contentOf(store: Store) {
  const said = (id: string) =>
    store
      .resume(id)
      .messages()
      .map(({ externalId, role, parts }) => [externalId, role, parts]);
  return Object.fromEntries(store.sessions().map(({ id }) => [id, said(id)]));
}

/**
 * Goal: a file whose known part is passed over comes to the store that it comes to when it is imported once.
 * Method: import each transcript at places drawn at random, each time with the part that the import before has read.
 */
test.each([...SAMPLES, ...REAL])("the known part of %s is passed over", async (path) => {
  const bytes = Buffer.concat([BLANK, readFileSync(path)]);
  const clean = temporaryStore();
  await importBytes(clean, path, bytes, true);
  let passedCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { minLength: STATES, maxLength: STATES }), async (cuts) => {
      const grown = temporaryStore();
      let known: KnownPart | undefined;
      for (const cut of cuts.sort((a, b) => a - b)) {
        ({ part: known } = await importBytes(grown, path, bytes.subarray(0, cut), false, known));
        passedCount += known?.messageCount ?? 0;
      }
      const { report } = await importBytes(grown, path, bytes, true, known);
      expect(report).toMatchObject({ error: null, warnings: [] });
      expect(contentOf(grown)).toEqual(contentOf(clean));
      expect(grown.verify().problems).toEqual([]);
      grown.close();
    }),
    { numRuns: runs(5) },
  );
  expect(passedCount).toBeGreaterThan(seenInRuns(10));
});

/** A conversation that is long enough to have a part to pass over. */
const saidBefore = (count: number): Said[] =>
  Array.from({ length: count }, (_, number) => ({
    number,
    text: `Sound ${number} of the fog signal. ${"It is loud. ".repeat(40)}`,
  }));

describe("of a grown file", () => {
  /** Returns how many messages were redacted, and so prepared and compared with the store. */
  async function redactedIn(work: () => Promise<unknown>): Promise<number> {
    const redacted = vi.spyOn(Redactor.prototype, "event");
    await work();
    const count = redacted.mock.calls.filter(([{ kind }]) => kind === "message").length;
    redacted.mockRestore();
    return count;
  }

  function scene(count = 60) {
    const folder = temporaryFolder();
    const path = join(folder, "projects", `${sessionIdOf(1)}.jsonl`);
    const write = (said: readonly Said[], ageMs = 0): void => {
      writeTranscript(path, sessionIdOf(1), said);
      const atMs = Date.now() - ageMs;
      utimesSync(path, atMs / 1_000, atMs / 1_000);
    };
    write(saidBefore(count), 3_600_000);
    return { path, write, store: temporaryStore() };
  }

  test("an import compares the beginning and what is new", async () => {
    const { path, write, store } = scene();
    await bring(store, path);
    write(saidBefore(62), 1_800_000);
    expect(
      await redactedIn(async () => expect(await bring(store, path)).toMatchObject({ newCount: 2, knownCount: 60 })),
    ).toBeLessThan(12);
    expect(await redactedIn(() => bring(store, path, { again: true }))).toBe(62);
  });

  test("a watch does so after it was ended while the file grew, and an import after it", async () => {
    const { path, write, store } = scene();
    write(saidBefore(60), 1_000);
    expect(await redactedIn(() => watchFiles(store, path, { once: true }))).toBeGreaterThan(59);
    write(saidBefore(62), 500);
    expect(await redactedIn(() => watchFiles(store, path, { once: true }))).toBeLessThan(12);
    write(saidBefore(64), 100);
    expect(await redactedIn(() => bring(store, path))).toBeLessThan(12);
    expect(store.resume(sessionIdOf(1)).messages()).toHaveLength(64);
  });

  test.each([true, false])(
    "a watch reads a file whole that is shorter now (with its last line end: %s)",
    async (isEnded) => {
      const { path, write, store } = scene();
      await bring(store, path);
      const others = Array.from({ length: 30 }, (_, at) => ({ number: 300 + at, text: `Lamp ${at} is lit.` }));
      write(others, 500);
      if (!isEnded) writeFileSync(path, readFileSync(path, "utf8").trimEnd());
      await watchFiles(store, path, { once: true });
      const texts = store.sessions().flatMap(({ id }) =>
        store
          .resume(id)
          .messages()
          .map(({ text }) => text),
      );
      expect(texts.filter((text) => text.startsWith("Lamp"))).toHaveLength(30);
    },
  );

  test("everything is compared if an earlier line is another one, or was forgotten", async () => {
    const { path, write, store } = scene();
    await bring(store, path);
    const said = saidBefore(62);
    said[20] = { number: 120, text: "The lamp is lit." };
    said[21]!.after = 19;
    write(said);
    expect(await bring(store, path)).toMatchObject({ newCount: 3 });
    const [message] = store.resume(sessionIdOf(1)).messages({ seqFrom: 30, seqTo: 30 });
    store.forget(sessionIdOf(1), { messageIds: [message!.id] });
    write([...said, { number: 200, text: "Is it?" }]);
    expect(await bring(store, path)).toMatchObject({ newCount: 1, forgottenCount: 1 });
  });

  test("everything is compared if other files or projects are wanted", async () => {
    const { path, write, store } = scene();
    await bring(store, path);
    write(saidBefore(62));
    expect(await redactedIn(() => bring(store, path, { exclude: { projects: ["elsewhere"] } }))).toBe(62);
  });
});

test("an import while calls wait for their results keeps the order that a later import of the whole file gives", async () => {
  const path = join(temporaryFolder(), `${sessionIdOf(2)}.jsonl`);
  const startMs = Date.UTC(2026, 4, 4, 9);
  const line = (number: number, minute: number, role: string, content: unknown[]) => ({
    ...{
      type: role,
      uuid: `call-${number}`,
      parentUuid: number === 0 ? null : `call-${number - 1}`,
      sessionId: sessionIdOf(2),
    },
    ...{ cwd: "/home/mo/harbor", timestamp: new Date(startMs + minute * 60_000).toISOString() },
    message: { role, content, ...(role === "assistant" && { id: "msg_1" }) },
    ...(role === "assistant" && { requestId: "req_1" }),
  });
  const call = (id: string) => [{ type: "tool_use", id, name: "Bash", input: { command: id } }];
  const result = (id: string) => [{ type: "tool_result", tool_use_id: id, content: id }];
  const asked = [
    line(0, 0, "user", [{ type: "text", text: "Ring both bells." }]),
    line(1, 1, "assistant", call("north")),
    line(2, 1, "assistant", call("south")),
  ];
  const answered = [line(3, 30, "user", result("north")), line(4, 30, "user", result("south"))];
  writeFileSync(path, jsonLines(asked));
  utimesSync(path, statSync(path).atime, new Date(Date.now() - 3_600_000));
  const grown = temporaryStore();
  await bring(grown, path);
  appendFileSync(path, jsonLines(answered));
  await bring(grown, path);
  const clean = temporaryStore();
  await bring(clean, path);
  expect(contentOf(grown)).toEqual(contentOf(clean));
  expect(Object.values(contentOf(grown))[0]).toHaveLength(5);
});

test("a watch that starts looks once for all files that an import knows, and visits none of them", async () => {
  const folder = join(temporaryFolder(), "projects");
  for (let number = 0; number < 40; number++) {
    const path = writeTranscript(join(folder, `${sessionIdOf(number)}.jsonl`), sessionIdOf(number), saidBefore(2));
    utimesSync(path, new Date(Date.now() - 3_600_000), new Date(Date.now() - 3_600_000));
  }
  const store = temporaryStore();
  await new Promise((resolve) => setTimeout(resolve, 50)); // so that the files were not changed just now
  await watchFiles(store, folder, { once: true });
  const policies = vi.spyOn(ImportRun.prototype, "policy");
  const events: unknown[] = [];
  await watchFiles(store, folder, { once: true, onEvent: (event) => events.push(event) });
  expect(events).toEqual([{ event: "caught_up", fileCount: 40, newCount: 0 }]);
  expect(policies.mock.calls.length).toBeLessThan(4);
  policies.mockRestore();
});
