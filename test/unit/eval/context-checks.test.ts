import { expect, test } from "vitest";
import { sharedPrefix, unaccountedCount } from "../../../scripts/eval/context-checks.ts";
import type { ContextMessage } from "../../../src/index.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const said = (text: string): ContextMessage => ({ role: "user", parts: [{ type: "text", text }] });

test("counts the bytes that two contexts begin with", () => {
  // {"role":"user","parts":[{"type":"text","text":"abcd"}]} has 55 bytes, 47 of them before the text.
  expect(sharedPrefix([said("abcd"), said("abcd")], [said("abcd"), said("abcd"), said("x")])).toEqual({
    share: 1,
    messageCount: 2,
  });
  expect(sharedPrefix([said("abcd"), said("abcd")], [said("abcd"), said("abXd")])).toEqual({
    share: (55 + 49) / 110,
    messageCount: 1,
  });
  expect(sharedPrefix([said("abcd")], [])).toEqual({ share: 0, messageCount: 0 });
  expect(sharedPrefix([said("é")], [said("è")]).share).toBe(48 / 53); // two bytes each, of which the first is the same
});

test("finds messages that nothing explains, and claims that nothing is behind", () => {
  const store = openedStore(temporaryPath());
  const session = store.session("s");
  session.appendAll(Array.from({ length: 120 }, (_, index) => user(`message ${index} about the deploy`)));
  const result = session.render({ tokensMax: 800 });
  expect(unaccountedCount(store, session, result)).toBe(0);
  const [first, ...sources] = result.sources;
  expect(first).toMatchObject({ messageCount: 1 });
  expect(unaccountedCount(store, session, { ...result, sources })).toBe(1);
  const [omission, ...omitted] = result.omitted;
  const claims = { ...omission!, messageCount: omission!.messageCount + 2 };
  expect(unaccountedCount(store, session, { ...result, omitted: [claims, ...omitted] })).toBe(2);
});
