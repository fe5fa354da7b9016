import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import { eventsOfLines, messagesIn } from "../read.ts";
import { assistant, call, line, outline, result, text, user } from "./lines.ts";

const enqueue = (content: string, at = "2026-02-03T09:00:00Z") =>
  line("queue-operation", undefined, { operation: "enqueue", content, timestamp: at });
const operation = (name: string) => line("queue-operation", undefined, { operation: name });
const delivered = (uuid: string, prompt: unknown) =>
  line("attachment", uuid, { attachment: { type: "queued_command", prompt, commandMode: "prompt" } });

/** What the user said, in order, without ids. */
async function saidIn(...lines: object[]): Promise<string[]> {
  const events = await eventsOfLines(claudeCode, lines);
  return outline(events).map((entry) => entry.replace(/^\S+ /, ""));
}

describe("a queued prompt", () => {
  test("that is never seen again is a message", async () => {
    const [message] = messagesIn(await eventsOfLines(claudeCode, [enqueue("and tests?")]));
    expect(message).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      role: "user",
      createdAt: 1770109200000,
      parts: [text("and tests?")],
      metadata: { type: "queue-operation", operation: "enqueue" },
    });
  });

  test("that becomes a turn is said once, where the turn begins", async () => {
    const lines = [enqueue("next"), assistant("a", "m", [text("done")]), operation("dequeue"), user("u", "next")];
    expect(await saidIn(...lines)).toEqual(["assistant: done", "user: next"]);
  });

  test("that is handed over in mid-turn stands where it was handed over, behind the results", async () => {
    const lines = [
      enqueue("wait"),
      assistant("a", "m", [call("t")]),
      operation("remove"),
      user("r", [result("t")]),
      assistant("b", "n", [text("yes?")]),
    ];
    expect(await saidIn(...lines)).toEqual(["assistant: >t", "tool: <t", "user: wait", "assistant: yes?"]);
  });

  test("that newer versions attach to the turn is said once, images included", async () => {
    const blocks = [
      text("see this"),
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
    ];
    const lines = [enqueue("one"), enqueue("see this"), operation("remove"), operation("remove")];
    expect(await saidIn(...lines, delivered("d1", "one"), delivered("d2", blocks))).toEqual([
      "user: one",
      "user: see this file",
    ]);
  });

  test("that was taken back to the editor counts as said, unless it was then sent as it was", async () => {
    expect(await saidIn(enqueue("a"), operation("popAll"), user("u", "a"))).toEqual(["user: a"]);
    expect(await saidIn(enqueue("a"), operation("popAll"), user("u", "a!"))).toEqual(["user: a", "user: a!"]);
  });

  test("is not mistaken for the same words said again later", async () => {
    const lines = [enqueue("yes"), operation("remove"), user("u", "another thing"), user("v", "yes")];
    expect(await saidIn(...lines)).toEqual(["user: yes", "user: another thing", "user: yes"]);
  });

  test("is told from the others in the queue by its words, where the line that hands it over has them", async () => {
    const handedOver = { ...operation("remove"), content: "b" };
    const lines = [enqueue("a"), enqueue("b"), handedOver, user("u", "c"), operation("dequeue"), user("v", "a")];
    expect(await saidIn(...lines)).toEqual(["user: b", "user: c", "user: a"]);
  });

  test("keeps what the line that delivers it says about it", async () => {
    const [message] = messagesIn(await eventsOfLines(claudeCode, [delivered("d", "hi")]));
    expect(message!.metadata).toEqual({
      type: "attachment",
      attachment: { type: "queued_command", commandMode: "prompt" },
    });
  });

  test("is handed over where its own line says so, before or after the line that takes it out", async () => {
    const remove = (content: string) => line("queue-operation", undefined, { operation: "remove", content });
    const lines = [enqueue("a"), enqueue("b"), delivered("q", "b"), remove("b"), user("u", "c")];
    expect(await saidIn(...lines, operation("dequeue"), user("v", "a"))).toEqual(["user: b", "user: c", "user: a"]);
  });

  test("that was typed before the file begins is said once, by the line that takes it out or by its own", async () => {
    const remove = line("queue-operation", undefined, { operation: "remove", content: "focus" });
    const reply = assistant("x", "m", [text("yes")]);
    expect(await saidIn(remove, reply, user("v", "next"))).toEqual(["user: focus", "assistant: yes", "user: next"]);
    expect(await saidIn(remove, delivered("q", "focus"), reply)).toEqual(["user: focus", "assistant: yes"]);
    expect(await saidIn(delivered("q", "focus"), reply, remove)).toEqual(["user: focus", "assistant: yes"]);
  });

  test("is said as often as it was queued", async () => {
    const lines = [enqueue("go", "2026-02-03T09:00:00Z"), enqueue("go", "2026-02-03T09:00:01Z"), user("u", "go")];
    expect(await saidIn(...lines)).toEqual(["user: go", "user: go"]);
  });

  test("is not taken for answered by a remark of the program", async () => {
    const lines = [enqueue("a"), operation("dequeue"), user("n", "note", { isMeta: true }), user("u", "a")];
    expect(await saidIn(...lines)).toEqual(["user: note", "user: a"]);
  });

  test("needs nothing to be queued", async () => {
    expect(await saidIn(operation("dequeue"), user("u", "a"), operation("popAll"))).toEqual(["user: a"]);
  });
});

test("a prompt that is put back again and again, because its turn cannot begin, is one message", async () => {
  const again = Array.from({ length: 20 }, () => [enqueue("is it hot?"), operation("dequeue")]).flat();
  const lines = [user("u", "watch"), assistant("a", "m", [text("ok")]), ...again];
  expect(await saidIn(...lines, assistant("b", "n", [text("6 bar")]))).toEqual([
    "user: watch",
    "assistant: ok",
    "user: is it hot?",
    "assistant: 6 bar",
  ]);
  expect(await saidIn(...lines, user("v", "is it hot?"))).toEqual(["user: watch", "assistant: ok", "user: is it hot?"]);
});

test("a prompt that is typed again after the agent got it is another one", async () => {
  const typed = [enqueue("go on"), operation("remove")];
  const lines = [...typed, assistant("a", "m", [text("ok")]), ...typed, assistant("b", "n", [text("done")])];
  expect(await saidIn(...lines)).toEqual(["user: go on", "assistant: ok", "user: go on", "assistant: done"]);
});
