import { expect, test } from "vitest";
import type { MessageInput, Store } from "../../../src/index.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const OTHERS = [
  "The parser swallows the closing brace.",
  "Thumbnails take minutes.",
  "Invoices show the wrong currency.",
];

function storeOf(...messages: readonly MessageInput[]): Store {
  const store = temporaryStore();
  for (const [index, message] of messages.entries())
    store.session(`s${index}`).append([user(OTHERS[index % 3]!), message, assistant(OTHERS[(index + 1) % 3]!)]);
  return store;
}

const OLD = user("The staging region is eu-west-1. Please keep that in mind.");
const NOW = user("Change of plan: the staging region is now eu-north-1, because of the latency for everybody in Oslo.");

test("a question about how it was is answered in order of relevance", async () => {
  const [first] = await storeOf(OLD, NOW).recall("What was the staging region originally?");
  expect(first!.text).toBe(OLD.content);
});

test.each([
  ["a question", user("Is the staging region now eu-north-1, and no longer eu-west-1, as somebody said?")],
  ["an announcement", assistant("Now let me look where the staging region is set, instead of guessing.")],
  ["another matter", user("The release branch is now trunk.")],
  ["a repetition by the assistant", assistant("Noted: the staging region is eu-west-1, I keep that in mind.")],
  ["another outcome of a test", assistant("The staging region test is now green, 12 of 12.")],
  ["an agent that tells of its work", assistant("Git is working now in the staging region. Let me run it again.")],
  ["a person who talks", user("The staging region is now eu-north-1, I heard from the others.", { name: "Ada" })],
])("%s replaces nothing", async (_, newer) => {
  const store = storeOf(OLD, newer);
  for (const hit of await store.recall("What is the staging region?")) expect(hit).not.toHaveProperty("supersededBy");
});

test.each([
  ["The staging region is eu-west-1.", "Now the staging region is eu-north-1.", "staging region"],
  ["The port of the staging database is 5432.", "The port of the staging database is 6543.", "staging database port"],
  ["Our retry limit is 3 for uploads.", "The retry limit for uploads changed: it is 8.", "retry limit for uploads"],
  ["I need the export in CSV format.", "I need the export in JSON format instead.", "export format"],
])("of %j and %j, the second is first", async (older, newer, query) => {
  const [first, second] = await storeOf(user(older), user(newer)).recall(query, { limit: 5 });
  expect([first!.text, second!.text, second!.supersededBy]).toEqual([newer, older, first!.messageId]);
});

test("an agent that goes on with its work in a session replaces nothing there", async () => {
  const said = [
    assistant("The upload limit is missing in the session state."),
    assistant("The upload limit is now in the session state, and no longer missing."),
  ];
  const store = temporaryStore();
  const at = (index: number, ms: number) => ({ ...said[index]!, createdAt: 1_700_000_000_000 + ms });
  const supersededIn = async (): Promise<number> =>
    (await store.recall("upload limit in the session state")).filter(({ supersededBy }) => supersededBy).length;
  store.session("s").append([user(OTHERS[0]!), at(0, 0), user(OTHERS[1]!), at(1, 3_600_000)]);
  expect(await supersededIn()).toBe(0);
  store.session("later").append([user(OTHERS[2]!), at(1, 7_200_000)]);
  expect(await supersededIn()).toBe(1);
});

test("a later state of the same thing comes first, also if an assistant tells it", async () => {
  const said = [
    assistant("I checked: our beekeeping skill is not listed on the hub yet."),
    assistant("Our beekeeping skill is now live on the hub, version 0.18."),
  ];
  const [first, second] = await storeOf(...said).recall("is our beekeeping skill listed on the hub");
  expect([first!.text, second!.supersededBy]).toEqual([said[1]!.content, first!.messageId]);
});

test("what another project says replaces nothing", async () => {
  const store = temporaryStore();
  for (const [project, message] of [
    ["one", OLD],
    ["other", NOW],
  ] as const)
    store.session(project, { project }).append([user(OTHERS[0]!), message]);
  for (const hit of await store.recall("What is the staging region?")) expect(hit).not.toHaveProperty("supersededBy");
});

test("of three, the last holds, and both others say so", async () => {
  const store = storeOf(OLD, NOW, user("We moved the staging region to us-east-2."));
  const [first, ...others] = await store.recall("Which staging region do we use?");
  expect(first!.text).toContain("us-east-2");
  for (const text of [OLD.content, NOW.content])
    expect(others.find((hit) => hit.text === text)?.supersededBy).toBe(first!.messageId);
  expect(first).not.toHaveProperty("supersededBy");
});
