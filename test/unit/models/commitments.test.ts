import { expect, test } from "vitest";
import type { Role } from "../../../src/core/message.ts";
import { commitmentsIn, notTakenBack } from "../../../src/models/commitments.ts";
import { processorMsSince } from "../../support/processor-time.ts";

const said = (...texts: (string | [Role, string])[]) =>
  texts.map((text, seq) => {
    const [role, words] = typeof text === "string" ? (["user", text] as const) : text;
    return { id: seq + 10, seq, role, text: words };
  });
const keptOf = (...texts: Parameters<typeof said>) => commitmentsIn(said(...texts)).map(({ text }) => text);

test.each([
  "Could you remember that Ines signs off the tide tables?",
  "Oh, and please keep this in mind: nobody deploys on a Friday.",
  "Make a mental note that the vault moved to the second floor.",
  "NB: invoices go out on the 3rd.",
  "**Important:** the harbor closes at nine.",
  "I need you to remember the code of the north gate, which is 7719.",
  "Going forward, dates are written as 2024-03-01.",
  "Under no circumstances do we delete the audit log.",
  "We ended the discussion: we've all agreed to keep Postgres.",
  "Let's stick with pnpm for the whole monorepo.",
  "Our final decision is the blue logo.",
  "I strongly prefer tabs over spaces.",
  "You'll need this later: the seed is 42.",
  "Friendly reminder that the lease ends in May.",
  "Never drop the production database.",
  "Always ignore the generated files in dist.",
  "From now on, ignore the linter warnings in vendor.",
  "We decided to drop the legacy table.",
  "Important: the server is not valid without TLS.",
])("%s", (text) => {
  const asked = text.replace(/\?$/, ".");
  expect(keptOf("Hello there.", asked, "Go on.")).toEqual([asked]);
});

test.each([
  "I remember when we took the ferry to Oslo.",
  "I'll never forget the day that we met.",
  "Keep it up, you are doing great!",
  "Do you remember the port of staging?",
  "It was a great reminder of home.",
  "Never heard of it, but it sounds good.",
  "They always make us smile.",
  "I chose the red one because it was cheap.",
  "Note how the function returns early here",
  "We just went with my brother to the lake for the weekend.",
  "We decided nothing yet.",
  "The plan was terrible and our plan is now dead.",
  "You never answer my question about that!",
])("%s is no request to keep anything", (text) => {
  expect(keptOf(text)).toEqual([]);
});

test("what agents and tools say is not a person's wish, and neither are the rules of a pasted document", () => {
  const rule = "Please remember that the port is 4417.";
  expect(keptOf(["assistant", rule], ["tool", rule], `${rule}\n${"A long page of a manual. ".repeat(200)}`)).toEqual(
    [],
  );
});

test("a request is told with what follows its colon", () => {
  expect(keptOf("Please remember this:\n- The port of staging is 4417.\n- The rest can wait.")).toEqual([
    "Please remember this: The port of staging is 4417.",
  ]);
});

test("a fact that is told again has its newest value, and the one before it", () => {
  const changed = commitmentsIn(
    said(
      "Please remember that the port of staging is 4400.",
      "Please remember that the port of production is 4401.",
      "Note: the port of staging is 4417.",
      "Please remember that the port of production is 4401.",
    ),
  );
  expect(changed.map(({ text, seq, was }) => [text, seq, was])).toEqual([
    ["Note: the port of staging is 4417.", 2, "4400"],
    ["Please remember that the port of production is 4401.", 3, undefined],
  ]);
});

test("facts that differ in what they are about, or in their condition, are all kept", () => {
  const texts = [
    "Note: the timeout for staging is 30 seconds.",
    "Note: the port for staging is 4417.",
    "Remember that if the build is red, we stop.",
    "Remember that if the build is green, we ship.",
    "Never commit when CI is red.",
    "Never commit when CI is slow.",
  ];
  expect(commitmentsIn(said(...texts)).map(({ text, was }) => [text, was])).toEqual(
    texts.map((text) => [text, undefined]),
  );
});

test("what is said in passing takes nothing back", () => {
  const agreed = "We agreed to keep the audit log for 90 days in Frankfurt.";
  expect(keptOf(agreed, "The audit log test in Frankfurt is not needed today.")).toEqual([agreed]);
});

test("earlier messages need not be read again, and thousands of notes cost little", () => {
  const notes = said(
    ...Array.from({ length: 4_000 }, (_, index) => `Note: the depth at buoy ${index} is ${index % 7} meters.`),
  );
  const all = commitmentsIn(notes);
  expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, index) => 3_800 + index));
  expect(commitmentsIn(notes.slice(3_900), commitmentsIn(notes.slice(0, 3_900)))).toEqual(all);
  const from = process.cpuUsage();
  commitmentsIn(notes);
  expect(processorMsSince(from)).toBeLessThan(1_000);
});

test("labels do not make two wishes one", () => {
  expect(keptOf("TODO: rotate the signing key.", "TODO: pay the harbor fee.")).toHaveLength(2);
});

test("what is taken back is gone", () => {
  expect(
    keptOf(
      "Please remember that the staging database lives on harbor-seven.",
      "Never push to the release branch.",
      "Forget about the staging database on harbor-seven, we shut it down.",
    ),
  ).toEqual(["Never push to the release branch."]);
});

test.each([
  ["Scratch that.", ["first"]],
  ["Oh, never mind!", ["first"]],
  ["Forget it, please go on.", ["first", "third"]],
  ["Forget about the tide tables of the north harbor.", ["second", "third"]],
  ["Never mind the tide tables of the north harbor, Ines has them.", ["second", "third"]],
  ["I forget where it was.", ["first", "second", "third"]],
])("%s takes back the newest line of what it names, or what was said last", (sentence, left) => {
  const texts = {
    first: "Print the tide tables of the north harbor.",
    second: "Paint the lighthouse in red and white.",
    third: sentence,
  };
  const messages = said(...Object.values(texts));
  const lines = Object.entries(texts).map(([name, text], seq) => ({ name, text, seq }));
  expect(notTakenBack(lines, messages).map(({ name }) => name)).toEqual(left);
});
