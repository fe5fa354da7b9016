import fc from "fast-check";
import { expect, test } from "vitest";
import { StoreError } from "../../src/index.ts";
import type { Chat } from "../../src/session/chat.ts";
import { breachesOf, chatAt, linesOf } from "../support/chat.ts";
import { runs, TESTS_ALL } from "../support/effort.ts";
import { type GeminiServer, type Reply, startGeminiServer } from "../support/gemini-server.ts";
import { ending, piece, type StreamPiece, words } from "../support/gemini-stream.ts";
import { inFolderAsync, openFresh } from "../support/temporary-store.ts";

// Goal: whatever the service does, and whenever somebody interrupts, no call is stored or sent without its result, what arrived
//   is stored, Gemini would accept every request, and the session goes on.
// Method: random turns over random streams (text, calls that make sense or none, faults at any place), aborts after any event,
//   and stores that are closed and opened again; then one good turn, and a look at every request and at the store.

/** Milliseconds after which a stream that hangs is given up. */
const TIMEOUT_MS = 60;

const call = fc.oneof(
  fc.constant({ name: "recall", args: { query: "the lamp" } }),
  fc.constant({ name: "expand", args: { target: "1" } }),
  fc.constant({ name: "expand", args: { target: "nothing" } }),
  fc.constant({ name: "unknown", args: {} }),
);
const going: fc.Arbitrary<StreamPiece> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("The lamp ", "is green. ", "\n", "é👍").map(words) },
  { weight: 2, arbitrary: call.map((functionCall) => piece({ functionCall, thoughtSignature: "c2ln" })) },
  { weight: 1, arbitrary: fc.constant(piece({ text: "hm", thought: true })) },
  { weight: 1, arbitrary: fc.constant(piece({ text: "", thoughtSignature: "ZW5k" })) },
);
const last: fc.Arbitrary<StreamPiece> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(ending("STOP")) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<StreamPiece[]>(ending("MAX_TOKENS"), ending("SAFETY"), "reset", { raw: "data: {]\n\n" }),
  },
  { weight: 1, arbitrary: fc.constant<StreamPiece>("hang") },
);
const reply: fc.Arbitrary<Reply> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.array(going, { maxLength: 5 }), last).map(([pieces, end]) => ({ pieces: [...pieces, end] })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Reply[]>("reset", "malformed", { status: 503, body: {} }, { status: 400, body: {} }),
  },
);

interface Move {
  kind: "say" | "answer" | "reopen";
  replies: Reply[];
  /** Aborted after so many events; not at all if it is over before. */
  abortAfter: number;
}

const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.constantFrom("say", "say", "say", "answer", "reopen"),
  replies: fc.array(reply, { minLength: 1, maxLength: 4 }),
  abortAfter: fc.oneof(fc.constant(99), fc.nat(4)),
});

const counted = { interrupted: 0, called: 0, aborted: 0, failed: 0 };

async function play(chat: Chat, { kind, abortAfter }: Move): Promise<void> {
  const controller = new AbortController();
  let eventCount = 0;
  try {
    const turn = kind === "answer" ? chat.answer(controller.signal) : chat.say("Is the lamp green?", controller.signal);
    for await (const _ of turn) if (eventCount++ === abortAfter) controller.abort();
  } catch (error) {
    if (controller.signal.aborted) counted.aborted += 1;
    else if (StoreError.is(error)) counted.failed += 1;
    else throw error;
  }
}

async function converse(moves: readonly Move[], path: string, server: GeminiServer): Promise<void> {
  let store = openFresh(path);
  const begin = (timeoutMs = TIMEOUT_MS): Chat =>
    chatAt(server, store, store.session("s"), { timeoutMs, tokensMax: 2_000 });
  let chat = begin();
  try {
    for (const next of moves) {
      server.script(...next.replies);
      if (next.kind === "reopen") {
        store.close();
        store = openFresh(path);
        chat = begin();
      } else await play(chat, next);
    }
    server.script({ pieces: [words("Yes."), ending("STOP")] });
    const never = new AbortController().signal;
    for await (const _ of begin(20_000).say("Done?", never));
    const messages = store.session("s").messages();
    const lines = linesOf(messages);
    expect(lines.slice(-2)).toEqual(["user: Done?", "assistant: Yes."]);
    messages.forEach(({ parts, metadata }, index) => {
      if (metadata?.interrupted !== undefined) counted.interrupted += 1;
      const calls = parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
      if (calls.length === 0) return;
      counted.called += 1;
      const answered = messages[index + 1]!.parts.map((part) => part.toolCallId);
      expect(answered).toEqual(calls);
      expect(metadata?.interrupted).toBeUndefined();
    });
    expect(server.requests.flatMap(({ body }) => breachesOf(body))).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  } finally {
    store.close();
  }
}

test("a conversation survives every fault and every abort", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 8 }), (moves) =>
      inFolderAsync(async (folder) => {
        const server = await startGeminiServer();
        try {
          await converse(moves, `${folder}/agent.db`, server);
        } finally {
          await server.close();
        }
      }),
    ),
    { numRuns: runs(20) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  for (const count of Object.values(counted)) expect(count).toBeGreaterThan(5);
}, 120_000);
