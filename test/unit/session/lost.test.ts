import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { walkFiles } from "../../../src/importers/files.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import type { Lost, MessageInput, Store } from "../../../src/index.ts";
import { acts, runs } from "../../support/acts.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";

const SUMMARY = { metadata: { isCompactSummary: true } };
const summary = (text: string): MessageInput => user(text, SUMMARY);

function storeOf(messages: readonly MessageInput[], id = "s"): Store {
  const store = temporaryStore();
  store.session(id, { project: "/none/mill" }).append(messages);
  return store;
}

function textsOf(lost: Lost | undefined, ...kinds: string[]): string[] {
  return (lost?.lines ?? [])
    .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
    .toSorted((left, right) => left.place - right.place)
    .map(({ text }) => text);
}

function lostIn(...messages: MessageInput[]): Lost | undefined {
  return storeOf(messages).lost({ sessionId: "s" });
}

/** What the user asks in each transcript below. Their summaries tell the first and not the second. */
const TOLD = "Move the grain counter of the mill to the new ledger format.";
const UNTOLD = "Never touch the calibration table of the east scale.";
const RETOLD = "Task: move the grain counter of the mill to the new ledger format. Nothing is done yet.";

const at = (second: number) => `2026-04-02T09:00:${String(second).padStart(2, "0")}.000Z`;

const TRANSCRIPTS: Record<string, readonly object[]> = {
  "claude-code": (() => {
    const line = (second: number, type: string, uuid: string, parentUuid: string | null, more: object) => {
      return {
        type,
        uuid,
        parentUuid,
        sessionId: "s",
        timestamp: at(second),
        cwd: "/none/mill",
        version: "2.1.9",
        ...more,
      };
    };
    const said = (content: string) => ({ message: { role: "user", content } });
    const answer = { role: "assistant", id: "m1", content: [{ type: "text", text: "Fine." }] };
    const boundary = {
      subtype: "compact_boundary",
      content: "Conversation compacted",
      compactMetadata: { trigger: "auto", preservedSegment: { headUuid: "k", anchorUuid: "e", tailUuid: "k" } },
    };
    return [
      line(1, "user", "a", null, said(TOLD)),
      line(2, "assistant", "b", "a", { message: answer }),
      line(3, "user", "c", "b", said(UNTOLD)),
      line(4, "user", "k", "c", said("Go on with the next file.")),
      line(4, "system", "d", null, boundary),
      line(5, "user", "e", "d", { ...said(RETOLD), isCompactSummary: true }),
    ];
  })(),
  codex: [
    { timestamp: at(0), type: "session_meta", payload: { id: "s", timestamp: at(0), cwd: "/none/mill" } },
    ...[TOLD, UNTOLD].map((text, index) => ({
      timestamp: at(index + 1),
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    })),
    { timestamp: at(4), type: "compacted", payload: { message: RETOLD } },
  ],
  "gemini-cli": (() => {
    const record = (id: string, type: string, text: string, second: number) => {
      return { id, type, timestamp: at(second), content: [{ text }] };
    };
    const first = record("u1", "user", TOLD, 1);
    const second = record("u2", "user", UNTOLD, 2);
    const third = record("u3", "user", "Go on with the next file.", 3);
    return [
      { sessionId: "s", projectHash: "h", startTime: at(0), lastUpdated: at(0), kind: "main" },
      first,
      second,
      third,
      { $set: { messages: [record("x1", "user", RETOLD, 4), record("x2", "gemini", "Got it.", 4), third] } },
    ];
  })(),
  opencode: (() => {
    const message = (id: string, info: object, ...parts: object[]) => {
      return { info: { id, sessionID: "s", time: { created: 1, completed: 2 }, ...info }, parts };
    };
    const text = (words: string) => ({ type: "text", text: words });
    return [
      {
        info: { id: "s", title: "Mill", directory: "/none/mill", version: "1.2.0", time: { created: 1, updated: 2 } },
        messages: [
          message("m1", { role: "user" }, text(TOLD)),
          message("m2", { role: "user" }, text(UNTOLD)),
          message("m3", { role: "user" }, text("Go on with the next file.")),
          message("m4", { role: "user" }, { type: "compaction", auto: true, tail_start_id: "m3" }),
          message("m5", { role: "assistant", summary: true }, text(RETOLD)),
        ],
      },
    ];
  })(),
  pi: (() => {
    const entry = (id: string, parentId: string | null, type: string, more: object) => {
      return { type, id, parentId, timestamp: at(1), ...more };
    };
    const said = (content: string) => ({ message: { role: "user", content, timestamp: 1_775_120_400_000 } });
    return [
      { type: "session", version: 3, id: "s", timestamp: at(0), cwd: "/none/mill" },
      entry("a", null, "message", said(TOLD)),
      entry("b", "a", "message", said(UNTOLD)),
      entry("c", "b", "message", said("Go on with the next file.")),
      entry("d", "c", "compaction", { summary: RETOLD, firstKeptEntryId: "c", tokensBefore: 9 }),
    ];
  })(),
};

describe.each(Object.keys(TRANSCRIPTS))("a compaction of %s", (agent) => {
  test("lost what its summary does not say, and not what the agent kept", async () => {
    const store = temporaryStore();
    const lines = TRANSCRIPTS[agent]!;
    const folder = temporaryFolder();
    const name = agent === "opencode" ? "export.json" : "file.jsonl";
    writeFileSync(join(folder, name), lines.map((line) => JSON.stringify(line)).join("\n"));
    const run = new ImportRun(store, { format: "auto" });
    for await (const file of walkFiles([folder]))
      expect(await run.read(file)).toMatchObject({ format: agent, warnings: [] });
    const lost = store.lost();
    expect(textsOf(lost)).toEqual([UNTOLD]);
    const said = new Map(
      store
        .resume(lost!.sessionId)
        .messages()
        .map(({ id, text }) => [id, text]),
    );
    expect([said.get(lost!.lines[0]!.messageId), said.get(lost!.summaryId!)]).toEqual([UNTOLD, RETOLD]);
  });
});

describe("what was lost", () => {
  test("is what was asked, kept, told and left open, what ran, and the lines of the work", () => {
    const edit = {
      file_path: "src/scale.ts",
      new_string: "export const east = readScale(table);\nexport const west = 0;",
    };
    const lost = lostIn(
      user("Count the sacks of the east scale, please."),
      user("Please remember that the ledger closes at nine."),
      assistant("The root cause was a stale table in the counter."),
      assistant("A second counter did not work, so it was decided to drop it."),
      ...acts("Edit", edit, "done"),
      ...runs("npm run weigh -- --east"),
      ...runs("npm run grind -- --all", "Error: the stone is stuck", { isError: true }),
      assistant("Should I oil the stone?"),
      summary("Work on the mill goes on."),
    );
    expect(textsOf(lost, "asked")).toEqual(["Count the sacks of the east scale, please."]);
    expect(textsOf(lost, "kept")).toEqual(["Please remember that the ledger closes at nine."]);
    expect(textsOf(lost, "told")).toEqual([
      "The root cause was a stale table in the counter.",
      "A second counter did not work, so it was decided to drop it.",
    ]);
    expect(textsOf(lost, "error")).toEqual(["npm run grind -- --all: Error: the stone is stuck"]);
    expect(textsOf(lost, "question")).toEqual(["Should I oil the stone?"]);
    expect(textsOf(lost, "ran")).toEqual(["npm run weigh -- --east"]);
    expect(textsOf(lost, "file")).toEqual(["src/scale.ts"]);
    expect(textsOf(lost, "line")).toContain("export const east = readScale(table);");
  });

  test("has nothing that the user took back, before the compaction or after it", () => {
    const wish = "Write the sack counts into a spreadsheet for the miller.";
    const other = "Print the label of each sack in two languages.";
    const later = "Weigh the flour twice before it leaves the mill.";
    const asked = (...messages: MessageInput[]) => textsOf(lostIn(...messages), "asked");
    const told = summary("Nothing to tell.");
    expect(asked(user(wish), user(other), told)).toEqual([wish, other]);
    expect(asked(user(wish), user(other), user("Scratch that."), told)).toEqual([wish]);
    const named = "Forget about the spreadsheet with the sack counts for the miller.";
    expect(asked(user(wish), user(other), user(named), told)).not.toContain(wish);
    expect(asked(user(wish), user(later), told, user("Never mind."))).toEqual([wish]);
  });

  test("tells a value as it was set last before the compaction, unless it was set again after it", () => {
    const messages = [
      user("Remember that the port of the scale is 4410."),
      user("Remember that the port of the scale is 4420."),
      summary("Nothing to tell."),
    ];
    const kept = (...more: MessageInput[]) => textsOf(lostIn(...messages, ...more), "kept", "asked");
    expect(kept()).toContain("Remember that the port of the scale is 4420.");
    expect(textsOf(lostIn(...messages, user("Remember that the port of the scale is 4430.")), "kept")).toEqual([]);
  });

  test("has no line, command, file or sentence of the summary", () => {
    const edit = {
      file_path: "src/scale.ts",
      new_string: "export const east = readScale(table);\nexport const west = readScale(flour);",
    };
    const lost = lostIn(
      user("Count the sacks of the east scale, please."),
      ...acts("Edit", edit, "done"),
      ...runs("npm run weigh -- --east"),
      summary(
        "The user wants to count the sacks of the east scale.\n`npm run weigh -- --east` works.\n" +
          "In scale.ts:\n```\nexport const  east = readScale(table);\n```",
      ),
    );
    expect(textsOf(lost)).toEqual(["export const west = readScale(flour);"]);
  });

  test("has nothing that a long summary says at its end, and nothing of a long part that the agent kept", () => {
    const wish = "Count the sacks of the east scale, please.";
    const told = "Paint the wheel of the mill in green.";
    const long = `${"The flour of the mill is white and the stone is grey.\n".repeat(300)}The wheel of the mill is painted in green.`;
    const kept = Array.from({ length: 300 }, (_, turn) => assistant(`I turn the stone for the time number ${turn}.`));
    const note = { isCompactSummary: true, keptFrom: "k" };
    const messages = [
      user(wish),
      user(told),
      user("Turn the stone.", { id: "k" }),
      ...kept,
      user(long, { metadata: note }),
    ];
    const lost = lostIn(...messages);
    expect(textsOf(lost)).toEqual([wish]);
  });

  test("is of the newest of two compactions, from what stood before either, and not from the first summary", () => {
    const messages = [
      user("Count the sacks of the east scale, please."),
      summary("An old summary: the moon of the mill is full."),
      assistant("I go on counting."),
      user("Paint the wheel of the mill in green."),
      summary("The wheel of the mill gets painted in green."),
      assistant("I paint."),
    ];
    const store = storeOf(messages);
    const lost = store.lost({ sessionId: "s" });
    expect(lost?.summaryId).toBe(store.resume("s").messages()[4]!.id);
    expect(textsOf(lost, "asked")).toEqual(["Count the sacks of the east scale, please."]);
    expect(textsOf(lost).join("\n")).not.toContain("moon");
    const [first, , , , newest] = store.resume("s").messages().slice(1);
    expect(lost?.earlierId).toBe(first!.id);
    const earlier = store.lost({ summaryId: first!.id });
    expect(earlier).toMatchObject({ sessionId: "s", summaryId: first!.id, earlierId: null });
    expect(textsOf(earlier, "asked")).toEqual(["Count the sacks of the east scale, please."]);
    expect(store.lost({ summaryId: newest!.id })).toBeUndefined();
    const other = store.session("other");
    other.append(
      store
        .resume("s")
        .messages()
        .map(({ role, parts, metadata }) => ({ role, parts, ...(metadata && { metadata }) })),
    );
    expect(store.lost({ sessionId: "other", summaryId: first!.id })).toBeUndefined();
    expect(() => store.lost({ summaryId: 77 })).toThrow(expect.objectContaining({ code: "MESSAGE_NOT_FOUND" }));
  });

  test("is fairly shared by every beginning of the list", () => {
    const code = Array.from({ length: 80 }, (_, line) => `const sack${line} = weigh(flour, ${line});`).join("\n");
    const rules = Array.from({ length: 9 }, (_, rule) =>
      user(`Rule ${rule}: the scale number ${rule} must stay dry at night.`),
    );
    const lost = lostIn(
      ...rules,
      ...acts("Write", { file_path: "src/sacks.ts", content: code }, "done"),
      summary("None."),
    );
    const kinds = lost!.lines.slice(0, 10).map(({ kind }) => kind);
    expect(kinds[0]).toBe("asked");
    expect(kinds.filter((kind) => kind === "asked").length).toBeGreaterThan(4);
    expect(kinds).toContain("line");
    const lines = lost!.lines.filter(({ kind }) => kind === "line");
    expect(lines.length).toBeLessThanOrEqual(lost!.lines.length / 3);
  });
});

describe("a session", () => {
  test("that was never compacted lost nothing, and one that does not exist is an error", () => {
    const store = storeOf([user("Count the sacks, please."), assistant("Twelve.")]);
    expect(store.lost({ sessionId: "s" })).toBeUndefined();
    expect(store.lost({ project: "/none/mill" })).toBeUndefined();
    expect(() => store.lost({ sessionId: "gone" })).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  });

  test("is the newest one of the project that was compacted, if none is named", () => {
    const store = temporaryStore();
    const compacted = (wish: string) => [user(wish), summary("Nothing to tell.")];
    store.session("old", { project: "mill" }).append(compacted("Count the sacks of the east scale."));
    store.session("new", { project: "mill" }).append(compacted("Paint the wheel of the mill."));
    store.session("last", { project: "mill" }).append(user("Hello, mill."));
    store.session("other", { project: "dairy" }).append(compacted("Churn the butter of the dairy."));
    expect(store.lost({ project: "mill" })).toMatchObject({
      sessionId: "new",
      lines: [{ text: "Paint the wheel of the mill." }],
    });
    expect(store.lost()?.sessionId).toBe("other");
    expect(store.lost({ project: "barn" })).toBeUndefined();
  });

  test("does not quote what was forgotten", () => {
    const times = [
      user("Count the sacks of the east scale.", { createdAt: 1_000 }),
      user("Paint the wheel.", { createdAt: 2_000 }),
    ];
    const store = storeOf([...times, summary("Nothing to tell.")]);
    expect(textsOf(store.lost({ sessionId: "s" }), "asked")).toHaveLength(2);
    const [first] = store.resume("s").messages();
    store.forget("s", { messageIds: [first!.id] });
    expect(textsOf(store.lost({ sessionId: "s" }))).toEqual(["Paint the wheel."]);
  });

  test("that forked has what it shares, and one that went back before its compaction was not compacted", () => {
    const store = storeOf([
      user("Count the sacks of the east scale."),
      summary("Nothing to tell."),
      assistant("I count."),
    ]);
    const session = store.resume("s");
    const fork = session.fork({ id: "fork" });
    fork.append(user("Go on here."));
    expect(textsOf(store.lost({ sessionId: "fork" }))).toEqual(["Count the sacks of the east scale."]);
    const early = storeOf([user("Count the sacks."), assistant("Twelve."), summary("Nothing to tell.")]);
    early.resume("s").rewind({ toSeq: 1 });
    expect(early.lost({ sessionId: "s" })).toBeUndefined();
  });
});
