import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { importFiles } from "../../src/imports/import-files.ts";
import type { Store } from "../../src/index.ts";
import { expectSeen, runs, TESTS_ALL } from "../support/effort.ts";
import { openFresh, temporaryFolder } from "../support/temporary-store.ts";

/** A conversation in a format with ids and names of its own, and in one where both come from the place in the file. */
const CONVERSATIONS = ["named", "unnamed"] as const;
/** The same conversation under three names. */
const NAMES = ["first", "copy", "again"] as const;
const LENGTH_MAX = 8;

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("import" as const),
      conversation: fc.constantFrom(...CONVERSATIONS),
      name: fc.constantFrom(...NAMES),
      length: fc.integer({ min: 3, max: LENGTH_MAX }), // shorter sessions are recognized by their names only
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("forget" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forgetSession" as const), which: fc.nat() }) },
);

function contentOf(conversation: (typeof CONVERSATIONS)[number], length: number): string {
  const said = Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${conversation} ${index}`,
  }));
  if (conversation === "unnamed") {
    return JSON.stringify({ messages: [{ role: "system", content: "You help." }, ...said] });
  }
  return said.map((line, index) => `${JSON.stringify({ session: "n", id: `m${index}`, ...line })}\n`).join("");
}

function textsIn(store: Store): string[] {
  return store.query("SELECT text FROM messages WHERE role <> 'system'").map(({ text }) => String(text));
}

/** A copy that is in the store may grow, so all copies of a conversation are forgotten together. */
function copiesOf(id: string, messages: readonly Record<string, unknown>[]): Set<string> {
  const ids = new Set(messages.map(({ session }) => String(session)));
  return new Set([...ids].filter((other) => (other === "n") === (id === "n")));
}

/**
 * Goal: whatever is imported and forgotten in whatever order, no import brings back what was forgotten.
 * Method: a text that an import added must never have been forgotten before. A copy that stayed in another session stays.
 */
test("no import brings back what was forgotten", async () => {
  const folder = temporaryFolder();
  const seen = { runs: 0, leftOut: 0, forgotten: 0, added: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14, size: "max" }), async (steps) => {
      seen.runs += 1;
      const store = openFresh(join(folder, `${seen.runs}.db`));
      const forgotten = new Set<string>();
      try {
        for (const { kind, ...given } of steps) {
          const before = textsIn(store);
          if ("name" in given) {
            const { conversation, name, length } = given;
            const path = join(folder, `${conversation}-${name}.${conversation === "named" ? "jsonl" : "json"}`);
            writeFileSync(path, contentOf(conversation, length));
            const { forgottenCount } = await importFiles(store, [path], { summarize: false });
            seen.leftOut += forgottenCount;
            const added = textsIn(store).filter((text) => !before.includes(text));
            expect(added.filter((text) => forgotten.has(text))).toEqual([]);
            seen.added += added.length;
            continue;
          }
          const messages = store.query("SELECT id, session_id AS session FROM messages WHERE role <> 'system'");
          const chosen = messages[given.which % Math.max(1, messages.length)];
          if (chosen === undefined) continue;
          const messageIds = [Number(chosen.id)];
          if (kind === "forget") store.forget(String(chosen.session), { messageIds });
          else for (const id of copiesOf(String(chosen.session), messages)) store.forget(id);
          const left = textsIn(store);
          for (const text of before) if (!left.includes(text)) forgotten.add(text);
          seen.forgotten += 1;
        }
      } finally {
        store.close();
      }
    }),
    { numRuns: runs(20) },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  expectSeen(seen, { leftOut: 25, forgotten: 25, added: 75 });
});
