import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { extractArtifacts } from "../../../src/core/artifacts.ts";
import { ARTIFACT_CHARS_MIN } from "../../../src/core/limits.ts";
import type { MessageInput } from "../../../src/index.ts";
import { runs, seenIn } from "../../support/effort.ts";
import { nastyMessage } from "../../support/message-arbitraries.ts";
import { inputOf, user } from "../../support/said.ts";
import { inFolder, openedStore, openFresh, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

/**
 * Goal: what comes out of a store equals what went in, whatever it is.
 * Method: append random messages full of what breaks stores (keys named __proto__, halves of surrogate pairs, NUL, notes
 * that look like ours, strings long enough to be kept apart), close the file, open it again and compare as JSON text,
 * which tells apart what `toEqual` does not. Count how many of the rarer things were among them.
 */
test("gives every message back as it was appended", () => {
  let messageCount = 0;
  let artifactCount = 0;
  let imitationCount = 0;
  fc.assert(
    fc.property(fc.array(nastyMessage, { minLength: 10, maxLength: 30, size: "max" }), (messages) => {
      inFolder((folder) => {
        const path = join(folder, "agent.db");
        const store = openFresh(path);
        const places = store.session("s").append(messages);
        store.close();
        const again = openFresh(path, { readonly: true });
        const stored = again.resume("s").messages();
        stored.forEach((message, seq) => {
          expect(message).toMatchObject({ id: places[seq]!.messageId, seq, sessionId: "s" });
          const { createdAt, pinned, ...said } = inputOf(message);
          const { createdAt: createdAtGiven, ...given } = messages[seq]!;
          expect(JSON.stringify(said)).toBe(JSON.stringify(inOrder(given)));
          if (createdAtGiven !== undefined) expect(createdAt).toBe(createdAtGiven);
          expect(message.tokenCount).toBeGreaterThan(0);
        });
        expect(again.verify()).toMatchObject({ ok: true, messageCount: messages.length });
        messageCount += messages.length;
        artifactCount += again.stats().artifactCount;
        imitationCount += JSON.stringify(messages).split('"artifact:sha256:0').length - 1;
        again.close();
      });
    }),
    { numRuns: runs(10) },
  );
  expect(messageCount).toBeGreaterThan(seenIn(100));
  expect(artifactCount).toBeGreaterThan(seenIn(20)); // at most eleven strings of that length exist, so nearly all in every run
  expect(imitationCount).toBeGreaterThan(seenIn(10));
});

/** The fields in the order in which `inputOf` has them. */
function inOrder({ role, parts, name, metadata }: MessageInput): MessageInput {
  return { role, parts: parts!, ...(name !== undefined && { name }), ...(metadata !== undefined && { metadata }) };
}

describe("large and odd messages", () => {
  test("keeps a string apart from 16,384 characters on, unless it is under a key that no pointer can have", () => {
    const [short, long] = ["x".repeat(ARTIFACT_CHARS_MIN - 1), "x".repeat(ARTIFACT_CHARS_MIN)];
    const { artifacts } = extractArtifacts([{ type: "data", data: { short, long, "\ud800": long } }]);
    expect(artifacts.map(({ pointer }) => pointer)).toEqual(["/0/data/long"]);
  });

  test("keeps ten megabytes of text, and the same ten megabytes only once", () => {
    const text = "The deploy failed because the region was full. ".repeat(222_222);
    const store = temporaryStore();
    const session = store.session("s");
    const call = { type: "tool_call", toolCallId: "c", name: "write", args: { a: [text] } } as const;
    session.append([user(text), { role: "assistant", parts: [call] }]);
    const [first, second] = session.messages();
    expect(first!.parts[0]).toEqual({ type: "text", text });
    expect(second!.parts[0]).toMatchObject({ args: { a: [text] } });
    expect(store.stats()).toMatchObject({ artifactCount: 1, artifactBytes: 10_444_434 });
    expect(store.query("SELECT pointer FROM message_artifacts ORDER BY message_id")).toEqual([
      { pointer: "/0/text" },
      { pointer: "/0/args/a/0" },
    ]);
    const lengths = "max(length(parts)) < 300 AS short, sum(length(content)) < 200000 AS compressed";
    expect(store.query(`SELECT ${lengths} FROM messages, artifacts`)).toEqual([{ short: 1, compressed: 1 }]);
  });

  test("does not take a message for the note that stands for a long string", () => {
    const path = temporaryPath();
    const long = "x".repeat(20_000);
    const session = openedStore(path).session("s");
    session.append(user(long));
    const [{ parts: stored }] = openedStore(path).query("SELECT parts FROM messages") as [{ parts: string }];
    const note: string = JSON.parse(stored)[0].text;
    expect(note).toMatch(/^artifact:sha256:[0-9a-f]{64} \(20000 bytes\)$/);
    const parts = [note, long].map((text) => ({ type: "text" as const, text }));
    session.append({ role: "user", parts });
    expect(session.messages()[1]!.parts).toEqual(parts);
  });

  test("tells two strings apart whose bytes are the same in two encodings", () => {
    // 0x41 0xd8 0x80 0x41 is the well-formed "A\u0600A" in UTF-8, and half a surrogate pair and a letter in UTF-16.
    const half = "\ud841\u4180".repeat(8_192);
    const whole = "A\u0600A".repeat(8_192);
    expect(Buffer.from(half, "utf16le").equals(Buffer.from(whole, "utf8"))).toBe(true);
    const session = temporaryStore().session("s");
    session.append([whole, half].map((text) => user(text)));
    const texts = session.messages().map(({ parts }) => parts[0]!.text);
    expect(texts.map((text, index) => text === [whole, half][index])).toEqual([true, true]);
  });

  test("writes nothing of a message that it refuses, nor of those beside it", () => {
    const store = temporaryStore();
    const session = store.session("s");
    session.append(user("first"));
    expect(() => session.append([user("x".repeat(20_000)), { role: "user" }])).toThrow(
      expect.objectContaining({ code: "MESSAGE_INVALID" }),
    );
    expect(store.stats()).toMatchObject({ messageCount: 1, artifactCount: 0 });
    expect(session.append(user("second"))).toMatchObject({ seq: 1, messageId: 2 });
  });
});
