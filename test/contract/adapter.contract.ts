import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Breach, breachesOf } from "../../scripts/eval/provider-rules.ts";
import type { AnyMessage } from "../../src/adapters/shared/message.ts";
import { parseMessage } from "../../src/core/message.ts";
import { wellFormed } from "../../src/core/well-formed.ts";
import { type ContextMessage, type MessageInput, openStore, type Store } from "../../src/index.ts";
import { runs } from "../support/effort.ts";
import { nastyMessage } from "../support/message-arbitraries.ts";

export interface AdapterContract<T> {
  name: string;
  to(messages: readonly AnyMessage[]): T;
  from(theirs: T): MessageInput[];
  /** Conversations as the provider has them and accepts them, with fields that there are and some that there are not. */
  theirs: fc.Arbitrary<T>;
  /** Others, which it might not accept. */
  oddities: readonly T[];
  /** What is no conversation, and the path of what is wrong with it. */
  refused: readonly [theirs: T, path: string][];
  /** Conversations of ours that the provider has a place for, all of them. */
  ours: fc.Arbitrary<MessageInput[]>;
  /** What is sent back for a conversation: by default the same, well-formed. */
  sent?(theirs: T): T;
  /** Whose rules of `provider-rules` a request has to keep. */
  rules?: Breach["provider"];
  /** The messages of a request, in order. */
  listOf(theirs: T): readonly unknown[];
  /** What is wrong with a request that has nothing unknown in it, by the provider's own description of it. */
  problemsOf(theirs: T): string[];
}

/** JSON writes only lone surrogates as escapes. */
const LONE_SURROGATE = /(?<!\\)\\ud[89a-f]/i;

const BROKEN_CALLS = [
  {
    type: "tool_call",
    toolCallId: "call \ud83d",
    name: "list\ud83d",
    args: { "path\udc00": "a\ud83d", "path\udc01": [1] },
  },
  { type: "tool_call", toolCallId: "call \ud83e", name: "list\ud83d", args: { list: [{ deep: "\udc00" }] } },
] as const;

const BROKEN: AnyMessage[] = [
  { role: "system", content: "Be \ud83d brief." },
  {
    role: "user",
    parts: [
      { type: "text", text: "Go \udc00 on." },
      { type: "data", data: { "\ud83d": "\udc00" } },
    ],
  },
  { role: "assistant", parts: [{ type: "text", text: "cut \ud83d" }, ...BROKEN_CALLS] },
  {
    role: "tool",
    parts: BROKEN_CALLS.map(({ toolCallId, name }) => ({
      type: "tool_result",
      toolCallId,
      name,
      content: "out \ud83d",
    })),
  },
];

/** What every adapter promises, whatever the provider. */
export function describeAdapter<T>({
  name,
  to,
  from,
  theirs,
  oddities,
  refused,
  ours,
  sent = wellFormed,
  rules,
  listOf,
  problemsOf,
}: AdapterContract<T>): void {
  describe(`the adapter of ${name}`, () => {
    let store: Store;
    beforeAll(() => {
      store = openStore(":memory:");
    });
    afterAll(() => store.close());

    test.each(oddities.map((oddity) => [JSON.stringify(oddity), oddity] as const))("gives back %s", (_, oddity) => {
      expect(to(from(oddity).map(throughTheDoor))).toEqual(oddity);
    });

    /**
     * Goal: a message goes back to its provider as it came.
     * Method: random conversations of the provider's, through a store and a rendered context, and back.
     */
    test("gives back what came, to the last field", () => {
      let sizeMax = 0;
      fc.assert(
        fc.property(theirs, (conversation) => {
          const session = store.session(undefined, { hotSize: 1_000 });
          const { length } = session.append(from(conversation));
          const { messages } = session.render({ strategy: "full", tokensMax: 10_000_000 });
          expect(to(messages)).toEqual(sent(conversation));
          sizeMax = Math.max(sizeMax, length);
        }),
        { numRuns: runs(100) },
      );
      expect(sizeMax).toBeGreaterThan(5);
    });

    test.each(refused)("refuses %j, which is no message, and names %s", (theirs, path) => {
      expect(() => from(theirs)).toThrow(
        expect.objectContaining({ code: "MESSAGE_INVALID", details: expect.objectContaining({ path }) }),
      );
    });

    /**
     * Goal: our messages survive a journey through the provider's shape: the same ones, the same pairs, in the same order.
     * Method: random conversations made of what the provider can carry, there and back, compared whole.
     */
    test("carries our messages there and back", () => {
      let sizeMax = 0;
      fc.assert(
        fc.property(ours, (conversation) => {
          const back = from(to(conversation));
          expect(back.map(plain)).toEqual(wellFormed(conversation.map(plain)));
          sizeMax = Math.max(sizeMax, conversation.length);
        }),
        { numRuns: runs(100) },
      );
      expect(sizeMax).toBeGreaterThan(8);
    });

    /**
     * Goal: one lone surrogate does not make every later request invalid.
     * Method: a conversation with halves of surrogate pairs wherever a string can be, and two ids that differ in nothing else.
     */
    test("sends only well-formed text, and keeps each result at its call", () => {
      const request = to(BROKEN);
      expect(JSON.stringify(request)).not.toMatch(LONE_SURROGATE);
      const back = from(request);
      const ids = (type: string) => pairsOf(back as AnyMessage[]).filter((pair) => pair.startsWith(`${type} `));
      const called = ids("tool_call").map((pair) => pair.slice("tool_call ".length));
      expect(new Set(called).size).toBe(2);
      expect(ids("tool_result").map((pair) => pair.slice("tool_result ".length))).toEqual(called);
    });

    test("keeps the prefix: a message that is appended changes none but the last of a request", () => {
      fc.assert(
        fc.property(ours, (conversation) => {
          const whole = listOf(to(conversation)).map((message) => JSON.stringify(message));
          for (let count = 1; count < conversation.length; count++) {
            const part = listOf(to(conversation.slice(0, count))).map((message) => JSON.stringify(message));
            expect(part.slice(0, -1)).toEqual(whole.slice(0, Math.max(0, part.length - 1)));
          }
        }),
        { numRuns: runs(25) },
      );
    });

    /**
     * Goal: whatever is in a session, the provider accepts the request.
     * Method: append random messages of every kind, with fields of all providers in them, render, translate, and hold the
     * request against the provider's description, and what it says against the rules.
     */
    test("makes requests that the provider accepts, of whatever a session holds", () => {
      let callsMax = 0;
      fc.assert(
        fc.property(fc.array(nastyMessage, { minLength: 1, maxLength: 12 }), (messages) => {
          const session = store.session(undefined, { hotSize: 4, overlap: 1, evictBatch: 2 });
          session.append({ role: "user", content: "Begin." });
          for (const message of messages) session.append(message);
          session.append({ role: "user", content: "Go on." });
          const context = session.render({ tokensMax: 1_000_000 });
          const request = to(context.messages);
          expect(problemsOf(request)).toEqual([]);
          const back = from(request).map(plain) as ContextMessage[];
          if (rules !== undefined) expect(breachesOf(back).filter(({ provider }) => provider === rules)).toEqual([]);
          expect(pairsOf(back).length).toBe(pairsOf(context.messages).length);
          callsMax = Math.max(callsMax, pairsOf(back).length);
        }),
        { numRuns: runs(50) },
      );
      expect(callsMax).toBeGreaterThan(1);
    });
  });
}

/** As it is when it comes back from a store. */
function throughTheDoor(message: MessageInput): AnyMessage {
  const { role, parts, name, metadata } = parseMessage(message);
  return { role, parts, ...(name !== undefined && { name }), ...(metadata !== undefined && { metadata }) };
}

/** What is said, without what a provider has of its own. */
function plain(message: MessageInput): AnyMessage {
  const { metadata: _, ...said } = throughTheDoor(message);
  return said;
}

/** Ids of calls and of results, in order. */
function pairsOf(messages: readonly AnyMessage[]): string[] {
  return messages.flatMap(({ parts = [] }) =>
    parts.flatMap((part) => {
      const { type, toolCallId } = part as { type: string; toolCallId?: string };
      return type === "tool_call" || type === "tool_result" ? [`${type} ${toolCallId}`] : [];
    }),
  );
}
