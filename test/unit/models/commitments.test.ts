import { expect, test } from "vitest";
import type { Role } from "../../../src/core/message.ts";
import { commitmentsIn } from "../../../src/models/commitments.ts";

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
