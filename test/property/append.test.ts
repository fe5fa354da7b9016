import Database from "better-sqlite3";
import fc from "fast-check";
import { expect, test } from "vitest";
import { messageSchemas, parseMessage } from "../../src/core/message.ts";
import { firstIssue } from "../../src/core/schema.ts";
import type { MessageInput } from "../../src/index.ts";
import { runs, seenIn } from "../support/effort.ts";
import { nastyMessage } from "../support/message-arbitraries.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const anything = fc.constantFrom<unknown>(
  ...[undefined, null, true, 7, -1, Number.NaN, 1e300, 1n, "", "x", "\ud800", "x".repeat(513), "2024-01-01T00:00:00Z"],
  ...[[], {}, [undefined], [{ type: "text" }], [{ type: "text", text: "a" }], [{ type: "tool_call", toolCallId: "" }]],
  ...[[{ type: "tool_result", toolCallId: "c", content: [{ type: "reasoning", text: "a" }] }], new Date(0), new Map()],
  ...["system", "user", "assistant", "tool", { a: { b: [1] } }, { a: undefined }, { a: Number.NaN }],
);
const fields = "role content parts name id createdAt pinned metadata turn".split(" ");

/** Messages that are taken, and others with up to two fields replaced or removed: by luck, some of these are taken as well. */
const anyMessage: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.oneof(nastyMessage, fc.record({ role: fc.constantFrom("user", "assistant"), content: fc.string() })),
    fc.array(fc.tuple(fc.constantFrom(...fields), anything), { maxLength: 2 }),
  )
  .map(([message, changes]) => Object.fromEntries([...Object.entries(message), ...changes]));

/** Returns what `append` should store, or undefined if it should refuse the message. */
function parsed(message: unknown) {
  try {
    return parseMessage(message);
  } catch {
    return undefined;
  }
}

/**
 * Goal: a session takes exactly the messages that the schema and the rules around it take, and stores what these make of them.
 * Method: random messages, good and spoiled, each appended alone. After a refusal, nothing has been committed.
 */
test("append takes what the schema takes, gives it back, and writes nothing of what it refuses", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  const reader = new Database(path, { readonly: true });
  /** A number that changes with each commit of the store. */
  const commits = (): unknown => reader.pragma("data_version", { simple: true });
  const seen = { taken: 0, ofSchema: 0, ofRules: 0 };
  const ids = new Set<string>();
  fc.assert(
    fc.property(anyMessage, (message) => {
      const expected = parsed(message);
      const issue = firstIssue(messageSchemas().message, message);
      if (expected === undefined) {
        const before = commits();
        expect(() => session.append(message as MessageInput)).toThrow(
          expect.objectContaining({ code: "MESSAGE_INVALID" }),
        );
        expect(commits()).toBe(before);
        seen[issue === undefined ? "ofRules" : "ofSchema"] += 1;
        return;
      }
      expect(issue).toBeUndefined();
      fc.pre(expected.externalId === undefined || !ids.has(expected.externalId));
      if (expected.externalId !== undefined) ids.add(expected.externalId);
      const { seq } = session.append(message as MessageInput);
      const stored = session.messages({ seqFrom: seq, limit: 1 })[0]!;
      const { role, parts, name, externalId, createdAtMs, pinned, metadata } = stored;
      expect({ role, parts, name, externalId, createdAtMs, pinned, metadata }).toEqual({
        ...expected,
        createdAtMs: expected.createdAtMs ?? createdAtMs,
        // Every context shows the instructions. The result of a pinned call is pinned with it.
        pinned: expected.pinned || role === "system" || (role === "tool" && pinned),
      });
      seen.taken += 1;
    }),
    { numRuns: runs(400) },
  );
  reader.close();
  expect(session.messages()).toHaveLength(seen.taken);
  expect(store.verify()).toMatchObject({ ok: true, messageCount: seen.taken });
  expect(Math.min(seen.taken, seen.ofSchema)).toBeGreaterThan(seenIn(80));
  expect(seen.ofRules).toBeGreaterThan(seenIn(10));
}, 60_000);
