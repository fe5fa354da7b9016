import { afterEach, expect, test } from "vitest";
import { nearMessages } from "../../../src/hooks/near-messages.ts";
import { openQuickly, type QuickReader } from "../../../src/store/quick-reader.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const opened: QuickReader[] = [];
afterEach(() => {
  for (const reader of opened.splice(0)) reader.close();
});

const TALK = [
  ["user", "The parcel service loses customs labels when the printer runs out of paper."],
  ["assistant", "I made the spooler keep customs labels in src/labels/spool.ts until the printer confirms them."],
  ["user", "Thanks. Now run the tests and commit the changes."],
  ["assistant", "All tests pass, and the changes are committed."],
] as const;

/** A project with this talk, and another with the same. */
function reader(): QuickReader {
  const store = temporaryStore();
  for (const project of ["web", "other"]) {
    store.session(project, { project }).append(TALK.map(([role, content]) => ({ role, content })));
  }
  store.close();
  const quick = openQuickly(store.path);
  opened.push(quick);
  return quick;
}

function near(prompt: string, isExcluded: (id: number) => boolean = () => false): number[] {
  const found = nearMessages(reader(), "web", prompt, ({ id }) => isExcluded(id));
  return found.map(({ message }) => message.seq);
}

test("finds what shares rare words with a prompt, in its project only", () => {
  expect(near("Does the spooler still lose customs labels?")).toEqual([1, 0]);
  expect(nearMessages(reader(), "none", "Does the spooler still lose customs labels?", () => false)).toEqual([]);
});

test.each([
  ["other things", "Write a haiku about autumn leaves falling on Kyoto."],
  ["words that everybody uses", "Please run it again, thanks."],
  ["one shared word", "Which printer should I buy for the office?"],
  ["no words", "???"],
])("finds nothing for %s", (_, prompt) => {
  expect(near(prompt)).toEqual([]);
});

test("finds by the name of a file alone", () => {
  expect(near("Open src/labels/spool.ts and src/labels/spool.ts only")).toEqual([1]);
});

test("does not search for what a hook has put before the prompt", () => {
  const injected = "<hook_context>The spooler keeps customs labels.</hook_context>\n\n";
  expect(near(`${injected}Write a haiku about autumn.`)).toEqual([]);
});

test("leaves out what the caller excludes", () => {
  expect(near("Does the spooler still lose customs labels?", (id) => id === 1)).toEqual([1]);
});
