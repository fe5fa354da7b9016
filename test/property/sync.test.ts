import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MessageInput } from "../../src/index.ts";
import { expectSeen, runs } from "../support/effort.ts";
import { inputOf } from "../support/said.ts";
import { inFolder, openFresh, tickingClock } from "../support/temporary-store.ts";

/** What a host does between two of its syncs. */
type Deed =
  | { kind: "say"; messages: number[] }
  /** Of those that may go, so many thousandths. */
  | { kind: "truncate"; thousandths: number }
  | { kind: "summarize"; thousandths: number }
  /** Goes on from the store's own messages. */
  | { kind: "restart" }
  /** Goes on in another process. */
  | { kind: "reopen" };

const SAID_AT_ONCE_MAX = 3;

/** 0: words said only once. Others: the same words, and the same call with the same id and result, every time. */
const REPEATED: MessageInput[] = [
  { role: "user", content: "ok" },
  { role: "user", content: "yes" },
  { role: "assistant", parts: [{ type: "tool_call", toolCallId: "call_0", name: "status", args: {} }] },
  { role: "tool", parts: [{ type: "tool_result", toolCallId: "call_0", content: "pending" }] },
];

const thousandths = fc.oneof(fc.constant(1_000), fc.nat(1_000));
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("say" as const),
      messages: fc.array(fc.nat(REPEATED.length), { minLength: 1, maxLength: SAID_AT_ONCE_MAX }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("truncate" as const), thousandths }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("summarize" as const), thousandths }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: "restart" as const }, { kind: "reopen" as const }) },
);

/** A message of the host's, with the number under which the host itself knows it. */
interface Entry {
  number: number;
  once: boolean;
  input: MessageInput;
}

/**
 * Goal: whatever a host does to its array, the store holds each message it ever said once, in the order in which the
 * store was first told.
 * Method: simulate a host that says new and often repeated things, cuts its head off, puts summaries in its place, starts
 * again from the store's own messages or in another process, and syncs after each deed, sometimes twice. It numbers what
 * it says; the oracle is the list of numbers in the order of the first sync that had them.
 *
 * Left out, because contents alone cannot tell it: a host that keeps no more messages said only once than it says new
 * ones until the next sync. Whether `ok` is the one it kept or a new one, nobody knows. With ids nothing is left out.
 */
test("holds what a host has said once and in order, whatever it keeps of it", () => {
  const seen = { syncs: 0, truncations: 0, summaries: 0, restarts: 0, reopens: 0, repeated: 0, cut: 0 };
  fc.assert(
    fc.property(fc.boolean(), fc.array(deed, { minLength: 10, maxLength: 60, size: "max" }), (withIds, deeds) => {
      inFolder((folder) => {
        const open = () => openFresh(join(folder, "agent.db"), { clock });
        const clock = tickingClock();
        let store = open();
        let session = store.session("s");
        const told: Entry[] = [];
        let array: Entry[] = [];
        let said = 0;
        const say = (input: MessageInput, once: boolean): Entry => {
          said += 1;
          return { number: said, once, input: withIds ? { ...input, id: `m${said}` } : input };
        };
        for (const [index, event] of deeds.entries()) {
          switch (event.kind) {
            case "say":
              for (const kind of event.messages) {
                const input = kind === 0 ? { role: "user" as const, content: `words ${said}` } : REPEATED[kind - 1]!;
                array.push(say(input, kind === 0));
                if (kind > 0) seen.repeated += 1;
              }
              break;
            case "truncate":
            case "summarize": {
              const droppableCount = withIds ? array.length : droppable(array);
              if (droppableCount === undefined) continue;
              const count = Math.floor((droppableCount * event.thousandths) / 1_000);
              seen.cut += count;
              array = array.slice(count);
              if (event.kind === "truncate") seen.truncations += 1;
              else {
                seen.summaries += 1;
                array.unshift(say({ role: "user", content: `Summary ${said} of what came before.` }, true));
              }
              break;
            }
            case "restart":
              seen.restarts += 1;
              array = session.messages().map((message, seq) => ({ ...told[seq]!, input: inputOf(message) }));
              break;
            case "reopen":
              seen.reopens += 1;
              store.close();
              store = open();
              session = store.session("s");
          }
          const known = new Set(told.map(({ number }) => number));
          const fresh = array.filter(({ number }) => !known.has(number));
          told.push(...fresh);
          const results = session.sync(array.map(({ input }) => input));
          expect(results.map(({ seq }) => seq)).toEqual(fresh.map((_, offset) => told.length - fresh.length + offset));
          if (index % 5 === 0) expect(session.sync(array.map(({ input }) => input))).toEqual([]);
          seen.syncs += 1;
        }
        expect(session.messages().map(whatOf)).toEqual(told.map(({ input }) => whatOf(input)));
        store.close();
      });
    }),
    { numRuns: runs(30) },
  );
  expectSeen(seen, { syncs: 500, repeated: 500, truncations: 25, summaries: 25, restarts: 15, reopens: 15, cut: 100 });
}, 120_000);

/** How many may be cut off: what is left holds more messages said only once than are said new until the next sync. */
function droppable(array: readonly Entry[]): number | undefined {
  let once = 0;
  for (let index = array.length - 1; index >= 0; index--) {
    if (array[index]!.once) once += 1;
    if (once > SAID_AT_ONCE_MAX) return index;
  }
  return undefined;
}

function whatOf({ role, content, parts }: Pick<MessageInput, "role" | "content" | "parts">): string {
  return JSON.stringify([role, parts ?? [{ type: "text", text: content }]]);
}
