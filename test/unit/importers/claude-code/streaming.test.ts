import { describe, expect, test } from "vitest";
import { claudeCode } from "../../../../src/importers/claude-code/importer.ts";
import type { ImportEvent } from "../../../../src/importers/importer.ts";
import { fileOf } from "../read.ts";
import { assistant, call, line, outline, result, SESSION, text, user } from "./lines.ts";

/** The events of a file, each with how many of its lines had been read by then. */
async function paceOf(lines: readonly object[]): Promise<{ event: ImportEvent; readCount: number }[]> {
  let readCount = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const one of lines) {
      readCount++;
      yield Buffer.from(`${JSON.stringify(one)}\n`);
    }
  }
  const paced: { event: ImportEvent; readCount: number }[] = [];
  // The head that is looked at for a binary file is read at once.
  const { path } = fileOf("");
  for await (const event of claudeCode.read({ path, chunks: chunks() })) paced.push({ event, readCount });
  return paced;
}

const PADDING = "word ".repeat(500);

/** Turns of a call and its result, each under ids that begin with `prefix`. */
function turns(count: number, prefix: string, fields: Record<string, unknown> = {}): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `${prefix}${index}`;
    const about = { cwd: "/home/mira/tide", ...fields };
    return [
      assistant(`${id}-a`, `${id}-m`, [text(PADDING), call(`${id}-t`)], about),
      user(`${id}-r`, [result(`${id}-t`)], about),
    ];
  }).flat();
}

const lag = (paced: { event: ImportEvent; readCount: number }[], isOf: (session: string) => boolean): number =>
  Math.max(
    ...paced.flatMap(({ event, readCount }) =>
      event.kind === "message" && isOf(event.session) ? [readCount - event.line] : [],
    ),
  );

describe("a long transcript", () => {
  test("comes while it is read", async () => {
    const paced = await paceOf([user("u", "go", { cwd: "/home/mira/tide" }), ...turns(200, "x")]);
    expect(paced.length).toBe(402);
    expect(lag(paced, () => true)).toBeLessThan(10);
  });

  test("has a title that follows, where a better one may have come", async () => {
    const titled = [
      line("ai-title", undefined, { aiTitle: "First" }),
      user("u", "go", { cwd: "/t", timestamp: "2026-03-01T10:00:00.000Z" }),
      ...turns(3, "x"),
    ];
    const paced = await paceOf([...titled, line("custom-title", undefined, { customTitle: "Mine" })]);
    expect(paced.at(-1)?.event).toEqual({ kind: "title", session: SESSION, title: "Mine" });
    expect(paced[0]?.event).toMatchObject({
      kind: "session",
      session: expect.not.objectContaining({ title: "First" }),
    });
  });

  test("goes on in a fork while it is read", async () => {
    const paced = await paceOf([
      user("u1", "go", { cwd: "/home/mira/tide" }),
      ...turns(5, "x", { parentUuid: "u1" }),
      user("u2", "more", { parentUuid: "x4-r" }),
      assistant("a2", "m2", [text("yes")], { parentUuid: "u2" }),
      user("u3", "other", { parentUuid: "x4-r" }),
      ...turns(200, "y", { parentUuid: "u3" }),
    ]);
    const fork = paced.find(({ event }) => event.kind === "session" && event.session.externalId.includes("/fork-"));
    expect(fork?.event).toMatchObject({ session: { forkedAfter: "x4-r" } });
    expect(lag(paced, (session) => session.includes("/fork-"))).toBeLessThan(10);
  });

  test("tells of a subagent when the call that started it is known, in any case at the end", async () => {
    const started = (toolCallId: string) => ({
      type: "tool_use",
      id: toolCallId,
      name: "Task",
      input: { prompt: "Go." },
    });
    const lines = (agentId: string): object[] => [
      assistant("a", "m", [started("t1"), started("t2")], { cwd: "/home/mira/tide" }),
      user("p", "Go.", { isSidechain: true, agentId }),
      ...turns(50, "p", { isSidechain: true, agentId }),
      user("r", [result("t2")], { toolUseResult: { agentId: "x2" }, cwd: "/home/mira/tide" }),
      ...turns(50, "z"),
      ...turns(50, "q", { isSidechain: true, agentId }),
    ];
    const known = await paceOf(lines("x2"));
    const child = known.find(({ event }) => event.kind === "session" && event.session.externalId.includes("/agent-"));
    expect(child?.event).toMatchObject({ session: { metadata: { toolCallId: "t2" } } });
    expect(child?.readCount).toBeLessThan(lines("x2").length);
    const unknown = await paceOf(lines("x3"));
    const other = unknown.find(({ event }) => event.kind === "session" && event.session.externalId.includes("/agent-"));
    expect(other?.event).toMatchObject({ session: { metadata: { toolCallId: "t1" } } });
    expect(other?.readCount).toBe(lines("x3").length);
  });

  test("is not held for ever by a prompt that nobody took out of the queue, which is said once", async () => {
    const enqueued = line("queue-operation", undefined, {
      operation: "enqueue",
      content: "next",
      timestamp: "2026-02-03",
    });
    const paced = await paceOf([
      user("u", "go", { cwd: "/home/mira/tide" }),
      enqueued,
      ...turns(1_200, "x"),
      line("queue-operation", undefined, { operation: "dequeue" }),
      user("n", "next"),
      ...turns(1, "y"),
    ]);
    expect(lag(paced, () => true)).toBeLessThan(1_100);
    expect(outline(paced.map(({ event }) => event)).filter((said) => said.endsWith("user: next"))).toHaveLength(1);
  });
});
