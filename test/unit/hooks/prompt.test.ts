import { expect, test } from "vitest";
import { firingOf } from "../../../src/hooks/firing.ts";
import type { MessageInput } from "../../../src/index.ts";
import { runs } from "../../support/acts.ts";
import { sayingOf, storeOf } from "../../support/hooks.ts";
import { assistant, user } from "../../support/said.ts";

const LABELS = [
  user("The parcel service loses customs labels when the printer runs out of paper."),
  assistant("I made the spooler keep customs labels in src/labels/spool.ts until the printer confirms them."),
  user("Thanks. Now run the tests and commit the changes."),
  assistant("All tests pass, and the changes are committed."),
];
const ASKED = "Does the spooler still lose customs labels when the printer has no paper?";

function said(prompt: string, sessions: Readonly<Record<string, readonly MessageInput[]>> = { labels: LABELS }) {
  return sayingOf(
    storeOf(sessions),
    firingOf("claude-code", "prompt", { cwd: "/none/web", session_id: "now", prompt })!,
  );
}

test("what answers a prompt is quoted with its session and day, in at most 200 tokens", () => {
  const long = assistant(
    `The spooler keeps customs labels for the printer. ${"Each label has a code of its depot. ".repeat(40)}`,
  );
  const quoted = said(ASKED, { labels: [LABELS[0]!, long] })!;
  expect(quoted.text).toMatch(/<session title="[^"]*customs labels[^"]*" on="\d{4}-\d\d-\d\d">/);
  expect(quoted.text).toMatch(/<said id="\d+" by="assistant">The spooler keeps customs labels for the printer\./);
  expect(quoted.tokens).toBeLessThanOrEqual(200);
});

test.each([
  ["other things", "Write a haiku about autumn leaves falling on Kyoto."],
  ["words that everybody uses", "Please run the tests again and commit the changes, thanks."],
  ["what everybody says", "did you push?"],
  ["one shared word", "Which printer should I buy for the office?"],
  ["no words", "???"],
  ["nothing", " "],
])("nothing is said to %s", (_, prompt) => {
  expect(said(prompt)).toBeUndefined();
});

test("what a hook has put before the prompt is not searched", () => {
  const injected = "<hook_context>The spooler keeps customs labels for the printer.</hook_context>\n\n";
  expect(said(`${injected}Write a haiku about autumn.`)).toBeUndefined();
});

test("of what one session said, the last comes first", () => {
  const wrong = assistant("The printer confirms customs labels by itself, so the spooler is not needed.");
  const right = assistant("That was wrong: the printer confirms no customs labels, the spooler is needed.");
  const { text } = said("Is the spooler needed, or does the printer confirm customs labels?", {
    labels: [LABELS[0]!, wrong, user("Try it without the spooler."), right],
  })!;
  expect(text.indexOf("That was wrong")).toBeGreaterThan(0);
  expect(text.indexOf("That was wrong")).toBeLessThan(text.indexOf("by itself"));
});

test("what a tool printed comes after what was said", () => {
  const { text } = said(ASKED, {
    labels: [LABELS[1]!, ...runs("grep -r spooler", "the spooler lost customs labels: the printer has no paper")],
  })!;
  expect(text.indexOf('by="tool"')).toBeGreaterThan(text.indexOf('by="assistant"'));
  expect(text.indexOf('by="assistant"')).toBeGreaterThan(0);
});

test("what the session has in its context, and what a hook has quoted, is not quoted again", () => {
  const path = storeOf({ now: LABELS });
  const firing = firingOf("claude-code", "prompt", { cwd: "/none/web", session_id: "now", prompt: ASKED })!;
  expect(sayingOf(path, firing)).toBeUndefined();
  expect(sayingOf(path, { ...firing, sessionId: "other" })).toBeDefined();
  const again = sayingOf(path, { ...firing, sessionId: "other" }, { quoted: [1, 2, 3, 4] });
  expect(again).toBeUndefined();
});
