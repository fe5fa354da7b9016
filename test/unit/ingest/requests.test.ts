import { expect, test } from "vitest";
import type { MessageInput } from "../../../src/index.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 2, overlap: 0, evictBatch: 2 } as const;

function work(count: number, name: string): MessageInput[] {
  return Array.from({ length: count }, (_, call) => [
    calls([`${name}${call}`]),
    results([`${name}${call}`], name),
  ]).flat();
}

function titlesOf(messages: readonly MessageInput[]): { label: string; messageCount: number }[] {
  const store = temporaryStore();
  const session = store.session("s", SMALL);
  for (const message of messages) session.append(message);
  session.compact();
  expect(store.verify()).toMatchObject({ ok: true });
  return session.roots({ level: "cluster" }).map(({ label, messageCount }) => ({ label, messageCount }));
}

test("a request that is put again after an interruption stays with its work, so that no two trees have its title", () => {
  const asked = user("Release the stale lock of a session whose process died");
  const found = titlesOf([asked, ...work(2, "a"), user("[Request interrupted by user]"), asked, ...work(3, "b")]);
  expect(found).toEqual([{ label: "Release the stale lock of a session whose process died", messageCount: 11 }]);
});

test("a long pasted text and the work on it are one tree, and the next request is another", () => {
  const pasted = user(`Release the stale lock of a session\n\n${"lamp 4 went out at the gate\n".repeat(4_000)}`);
  const next = user("Paint the harbour gate in the color of the lighthouse");
  const found = titlesOf([pasted, assistant("I read it."), ...work(40, "a"), next, ...work(3, "b")]);
  expect(found.map(({ messageCount }) => messageCount)).toEqual([82, 5]);
  expect(found[1]!.label).toBe("Paint the harbour gate in the color of the lighthouse");
});
