import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sessionFileOf } from "../../../src/importers/files.ts";
import { openhands } from "../../../src/importers/openhands/importer.ts";
import { sampleOf } from "../../contract/importer-samples.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import {
  bring,
  eventsAt,
  eventsOf,
  eventsOfLines,
  jsonLines,
  pathsIn,
  put,
  saidIn,
  sessionsIn,
  textsOf,
} from "./read.ts";

const said = (id: string, words: string, about: object = {}) => ({
  id,
  timestamp: "2026-03-05T09:00:00Z",
  source: "user",
  llm_message: { role: "user", content: [{ type: "text", text: words }] },
  kind: "MessageEvent",
  ...about,
});

const eventFile = (number: number) =>
  `event-${String(number).padStart(5, "0")}-0199c3a0-7b1e-4c55-8d0f-2f6a1b3c4d5e.json`;

test("actions and observations are calls, results and words, and what the program tells itself is left out", async () => {
  const { format, events } = await eventsAt(sampleOf("openhands/trajectory.json").pathname);
  expect(format).toBe("openhands");
  expect(saidIn(events)).toEqual([
    "system: You tend a lighthouse with tools.",
    "user: Why does the foghorn stay silent?",
    "user: [Use metric units.] | [The horn runs on compressed air.]",
    "assistant: I look at the log. | >toolu_1",
    "tool: <toolu_1",
    "assistant: The compressor may be off.",
    "assistant: >toolu_3",
    "tool: <toolu_3",
    "assistant: The compressor is switched off in horn.toml.",
  ]);
});

test("the newer events of one reply are one reply, and what a call only says is words", async () => {
  const { format, events } = await eventsAt(sampleOf("openhands/events.jsonl").pathname);
  expect(format).toBe("openhands");
  expect(saidIn(events)).toEqual([
    "system: You tend a lighthouse. | The tide is low.",
    "user: Polish the lens and oil the gears. | [Skill: use cerium oxide.]",
    "assistant: They do not depend on each other. | Both at once. | >call_1",
    "tool: <call_1",
    "assistant: >call_2",
    "tool: <call_2",
    "user: The gears are oiled; the lens cracked.",
    "tool: <call_3",
    "assistant: The gears are oiled. The lens needs a new pane.",
  ]);
});

test("a stored conversation is one session, whichever of its files changed, and grows in order", async () => {
  const conversation = join(temporaryFolder(), "conversations", "0199c3a07b1e4c558d0f2f6a1b3c4d5f");
  const events = join(conversation, "events");
  put(join(conversation, "base_state.json"), {
    id: "0199c3a0-7b1e-4c55-8d0f-2f6a1b3c4d5f",
    workspace: { working_dir: "/work/light" },
  });
  const lines = readFileSync(sampleOf("openhands/events.jsonl"), "utf8").trim().split("\n");
  const write = (from: number, to: number) => {
    for (let at = from; at < to; at++) put(join(events, eventFile(at)), lines[at]!);
  };
  write(0, 3);
  const store = temporaryStore();
  expect(await bring(store, conversation)).toMatchObject({ files: [{ newCount: 2 }], passedOver: {} });
  write(3, lines.length);
  expect(sessionFileOf(join(events, eventFile(7)))).toBe(join(events, eventFile(0)));
  expect(await bring(store, conversation)).toMatchObject({ sessionCount: 1, newCount: 7, warningCount: 0 });
  const [session] = store.sessions();
  expect(session).toMatchObject({ source: "openhands", project: "/work/light" });
  expect(textsOf(store, session!.id)[1]).toBe("Polish the lens and oil the gears.");
  const whole = await eventsOf(openhands, jsonLines(lines.map((line) => JSON.parse(line))));
  expect(textsOf(store, session!.id)).toHaveLength(saidIn(whole).length);
  rmSync(join(events, eventFile(1)));
  put(join(events, eventFile(1)), "{");
  expect(await bring(store, conversation)).toMatchObject({ newCount: 0, warningCount: 1 });
});

test("an older stored conversation is read by the numbers of its events", async () => {
  const session = join(temporaryFolder(), "sessions", "5d0c7e1a");
  const steps = JSON.parse(readFileSync(sampleOf("openhands/trajectory.json"), "utf8")) as object[];
  for (const [number, step] of steps.entries()) put(join(session, "events", `${number}.json`), step);
  put(join(session, "metadata.json"), { conversation_id: "5d0c7e1a", title: "The silent foghorn" });
  const { events } = await eventsAt(join(session, "events", "0.json"));
  expect(sessionsIn(events)).toMatchObject([{ externalId: "5d0c7e1a", title: "The silent foghorn" }]);
  expect(saidIn(events).at(-1)).toBe("assistant: The compressor is switched off in horn.toml.");
});

test("a conversation that went back has a path for each way", async () => {
  const events = await eventsOfLines(openhands, [
    said("a", "Trim the wick."),
    said("b", "Use the short scissors.", { parent_id: "a" }),
    said("c", "Use the long scissors.", { parent_id: "a" }),
    said("d", "Start anew.", { parent_id: "__root__" }),
  ]);
  const [root] = Object.keys(pathsIn(events)) as [string];
  expect(Object.values(pathsIn(events))).toEqual([
    ["a", "b"],
    [`${root}@a`, "c"],
    [`${root}@undefined`, "d"],
  ]);
});

test("the output of an evaluation is a session a line, also in pairs and without ids", async () => {
  const history = [
    [
      { action: "message", content: "Sharpen the plane." },
      { observation: "null", content: "" },
    ],
    [
      { action: "run", command: "hone", thought: "I hone it." },
      { observation: "run", content: "sharp" },
    ],
  ];
  const events = await eventsOfLines(openhands, [
    { instance_id: "plane__1", history },
    { instance_id: "plane__2", history },
  ]);
  expect(sessionsIn(events).map(({ externalId }) => externalId)).toEqual(["plane__1", "plane__2"]);
  expect(saidIn(events).slice(0, 3)).toEqual([
    "user: Sharpen the plane.",
    "assistant: I hone it. | >call-2",
    "tool: <call-2",
  ]);
});
