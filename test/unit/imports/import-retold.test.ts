import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { PAUSE } from "../../../src/importers/importer.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import type { FileToRead } from "../../../src/imports/known-part.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import type { Store } from "../../../src/session/store.ts";
import { temporaryStore } from "../../support/temporary-store.ts";
import { fileOf, jsonLines } from "../importers/read.ts";

const PATH = "/work/rollout-2026-03-01T00-00-00-s.jsonl";

const line = (type: string, payload: object, second: number) => ({
  timestamp: new Date(Date.UTC(2026, 2, 1, 0, 0, second)).toISOString(),
  type,
  payload,
});
const prompt = (text: string) => [
  { type: "user_message", message: text },
  { type: "message", role: "user", content: [{ type: "input_text", text }] },
];
/** Codex writes an event of what the user sees at once, and the item of the model after it. */
const PAYLOADS: readonly object[] = [
  ...prompt("Polish the brass"),
  { type: "agent_reasoning", text: "brass" },
  { type: "agent_reasoning", text: "or tin" },
  { type: "reasoning", summary: [{ text: "brass" }, { text: "or tin" }], encrypted_content: "e" },
  { type: "agent_message", message: "I look for a rag." },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look for a rag." }] },
  { type: "exec_command_end", call_id: "a", command: ["ls"], aggregated_output: "rag", exit_code: 0 },
  { type: "function_call", name: "shell", arguments: '{"cmd":"ls"}', call_id: "a" },
  { type: "function_call_output", call_id: "a", output: "rag\n" },
  { type: "agent_message", message: "It shines." },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "It shines.\n" }] },
  { type: "task_complete" },
  ...prompt("Now the tin"),
  { type: "agent_message", message: "It is dull." },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "It is dull." }] },
  { type: "task_complete" },
];
const ITEMS = new Set(["message", "reasoning", "function_call", "function_call_output"]);
const rolloutOf = (payloads: readonly object[]) => [
  line("session_meta", { id: "s", cwd: "/srv/tidewatch" }, 0),
  ...payloads.map((payload, index) => {
    const type = ITEMS.has((payload as { type: string }).type) ? "response_item" : "event_msg";
    return line(type, payload, index + 1);
  }),
];
const ROLLOUT = rolloutOf(PAYLOADS);
const EXEC = readFileSync(new URL("../../fixtures/importers/codex/exec.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((text) => JSON.parse(text) as object);

/** Importers look at so many bytes before they yield anything. */
const BLANK = `${" ".repeat(8_000)}\n`;

async function importFinished(store: Store, lines: readonly object[], about: Partial<FileToRead> = {}) {
  const run = new ImportRun(store, { format: "auto" });
  const file = fileOf(BLANK + jsonLines(lines), 65_536, PATH);
  const report = await run.read({ ...file, isUncertain: true, isFinished: true, ...about });
  return { ...report, part: run.takePart(PATH) };
}

/** What each session says, in order. One thought may be told as several. */
function saidIn(store: Store): string[][] {
  return store.sessions().map(({ id }) => {
    const messages = store.resume(id).messages();
    return messages.flatMap(({ role, parts }) =>
      parts.flatMap((part) => {
        if (part.type === "text" || part.type === "reasoning") {
          return part.text.split("\n\n").map((text) => `${role}: ${part.type} ${text.trim()}`);
        }
        return part.type === "tool_call" || part.type === "tool_result"
          ? `${role}: ${part.type} ${part.toolCallId}`
          : [];
      }),
    );
  });
}

/** Imports beginnings of a file one after the other, each as if it were finished, and at last the whole. */
async function grown(lines: readonly object[], lengths: readonly number[]) {
  const store = temporaryStore();
  const reports = [];
  for (const length of [...lengths, lines.length]) reports.push(await importFinished(store, lines.slice(0, length)));
  return { store, reports };
}

/**
 * Goal: an agent that rested between an event and its item, long enough for the file to count as finished, goes on in one session that
 * says everything once.
 * Method: import the file up to each line, also up to a second one, and then the whole; compare it with an import of the whole alone.
 */
describe.each([
  ["a session of Codex", ROLLOUT],
  ["what codex exec printed", EXEC],
])("%s that goes on after a rest", (_, lines) => {
  const cuts = lines.map((_, index) => index).slice(1);

  test.each([
    ["once", cuts.map((cut) => [cut])],
    ["twice", cuts.slice(1).map((cut) => [cut - 1, cut])],
    ["at each line", [cuts]],
  ])("stays one session and says everything once, in order (rested %s)", async (_, rests) => {
    const { store: clean } = await grown(lines, []);
    for (const lengths of rests) {
      const { store, reports } = await grown(lines, lengths);
      expect(reports.flatMap(({ warnings }) => warnings)).toEqual([]);
      expect(saidIn(store), `cut at ${lengths}`).toEqual(saidIn(clean));
      expect(store.verify().problems).toEqual([]);
      expect((await importFinished(store, lines)).newCount).toBe(0);
      store.close();
    }
  });
});

/** A store that has the rollout up to an event, whose item came after a rest. */
async function restedAfter(words: string) {
  const length =
    ROLLOUT.findLastIndex(({ payload }) => {
      const { message, text } = payload as { message?: string; text?: string };
      return (message ?? text) === words;
    }) + 1;
  const { store } = await grown(ROLLOUT.slice(0, length), []);
  return { store, session: store.resume(store.sessions()[0]!.id) };
}

test("a message that was forgotten as an event does not come back as its item", async () => {
  const { store, session } = await restedAfter("It shines.");
  const told = session.messages().at(-1)!;
  expect(told.text).toBe("It shines.");
  store.forget(session.id, { messageIds: [told.id] });
  await importFinished(store, ROLLOUT);
  const said = saidIn(store);
  expect(said).toHaveLength(1);
  expect(said[0]!.filter((text) => text.includes("shines"))).toEqual([]);
  expect(said[0]!.at(-1)).toBe("assistant: text It is dull.");
});

test("of a thought that was forgotten in part nothing comes back with its item", async () => {
  const { store, session } = await restedAfter("or tin");
  const told = session
    .messages()
    .find(({ parts }) => parts.some((part) => part.type === "reasoning" && part.text === "or tin"))!;
  store.forget(session.id, { messageIds: [told.id] });
  await importFinished(store, ROLLOUT);
  expect(saidIn(store)[0]!.filter((text) => text.includes("or tin"))).toEqual([]);
});

test("a prompt that is typed twice before a rest is there twice", async () => {
  const [event, item] = prompt("Go on");
  const payloads = [event!, event!, item!, item!, { type: "task_complete" }];
  const lines = rolloutOf(payloads);
  const { store: clean } = await grown(lines, []);
  const { store } = await grown(lines, [3]);
  expect(saidIn(store)).toEqual(saidIn(clean));
  expect(saidIn(store)).toEqual([["user: text Go on", "user: text Go on"]]);
});

const callEnd = (output: string) => ({
  type: "exec_command_end",
  call_id: "1",
  command: ["ls"],
  aggregated_output: output,
  exit_code: 0,
});

test("a call whose number an earlier turn had, too, is not taken for that one", async () => {
  const payloads = [
    ...prompt("List the tools"),
    callEnd("rag"),
    { type: "task_complete" },
    ...Array.from({ length: 80 }, (_, at) => [...prompt(`Turn ${at}`), { type: "task_complete" }]).flat(),
    callEnd("wax"),
    { type: "function_call", name: "shell", arguments: '{"cmd":"ls shelf"}', call_id: "1" },
    { type: "function_call_output", call_id: "1", output: "wax" },
    { type: "task_complete" },
  ];
  const lines = rolloutOf(payloads);
  const { store } = await grown(lines, []);
  const messages = store.resume(store.sessions()[0]!.id).messages({ last: 2 });
  expect(JSON.stringify(messages)).toContain("ls shelf");
});

test("a session in two parts, as earlier versions stored it, goes on in its second part", async () => {
  const { store, session } = await restedAfter("It shines.");
  const { store: clean } = await grown(ROLLOUT, []);
  const whole = clean.resume(clean.sessions()[0]!.id).messages();
  const both = whole.slice(0, whole.findIndex(({ text }) => text.trim() === "It shines.") + 1);
  const origin = { source: "codex", externalId: `s/fork-${both.at(-1)!.externalId}` };
  const second = internalsOf(store).intake.session({ ...origin, parentExternalId: "s" });
  second.append(both.map(({ externalId, role, parts }) => ({ id: externalId!, role, parts })));
  await importFinished(store, ROLLOUT);
  expect(store.sessions()).toHaveLength(2);
  expect(session.messages().at(-1)!.text).toBe("It shines.");
  expect(second.messages().map(({ text }) => text)).toEqual(whole.map(({ text }) => text));
});

test("a file that went on apart from its session stays one session when it goes on after a rest", async () => {
  const { store: clean } = await grown(ROLLOUT, []);
  const second = ROLLOUT.slice(0, -5);
  const answer = { type: "message", role: "assistant", content: [{ type: "output_text", text: "It rusts." }] };
  const other = rolloutOf([...PAYLOADS.slice(0, -5), ...prompt("Now the iron"), answer, { type: "task_complete" }]);
  for (let cut = second.length + 1; cut < ROLLOUT.length; cut += 1) {
    const { store } = await grown(other, []);
    await importFinished(store, ROLLOUT.slice(0, cut - 1));
    await importFinished(store, ROLLOUT.slice(0, cut));
    await importFinished(store, ROLLOUT);
    expect(store.sessions(), `cut at ${cut}`).toHaveLength(2);
    expect(saidIn(store)).toContainEqual(saidIn(clean)[0]);
    store.close();
  }
});

test("a message that was told as an event does not make each later import compare the whole file", async () => {
  const turns = Array.from({ length: 9 }, (_, number) => [
    ...prompt(`Turn ${number}`),
    { type: "agent_message", message: `Done ${number}.` },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: `Done ${number}.` }] },
    { type: "task_complete" },
  ]);
  const again = [{ type: "thread_rolled_back", num_turns: 1 }, ...turns.pop()!];
  const lines = rolloutOf([...turns.flat(), ...again]);
  const { store: clean, reports } = await grown(lines, []);
  const store = temporaryStore();
  let known: FileToRead["known"];
  const end = lines.length - again.length;
  for (const length of [end - 7, end, lines.length]) {
    const report = await importFinished(store, lines.slice(0, length), { known });
    expect(report).toMatchObject({ error: null, warnings: [] });
    known = report.part;
  }
  expect(known).toEqual(reports[0]!.part);
  expect(saidIn(store)).toEqual(saidIn(clean));
});

test("a message that was told as an event is there once while the file is followed", async () => {
  const { store: clean } = await grown(ROLLOUT, []);
  for (const [cut] of ROLLOUT.entries()) {
    const { store } = await grown(ROLLOUT.slice(0, cut), []);
    async function* chunks() {
      for (const one of ROLLOUT) yield* [Buffer.from(jsonLines([one])), PAUSE];
    }
    expect((await importFinished(store, [], { chunks: chunks() })).warnings).toEqual([]);
    expect(saidIn(store), `cut at ${cut}`).toEqual(saidIn(clean));
    store.close();
  }
});
