import { expect, test } from "vitest";
import { linesOf } from "../../../src/session/aids/told-lines.ts";
import { toldBy } from "../../../src/session/aids/work-lines.ts";
import type { NotableMessage } from "../../../src/store/index.ts";

/** A message of an agent that nothing follows. */
function saying(text: string): NotableMessage {
  return {
    ...{ id: 7, sessionId: "one", seq: 0, stepId: 0, role: "assistant", metadata: null, createdAtMs: 0 },
    ...{ text, parts: [{ type: "text", text }] },
  } as NotableMessage;
}

/** The line of the sentences at these places. */
function lineOf(text: string, ...places: number[]): string | undefined {
  const messages = [saying(text)];
  const told = toldBy(messages);
  const chosen = places.map((place) => told[place]!);
  return linesOf(chosen, told, messages)[0]?.text;
}

const TUNED = "All strings of the harp are tuned to the pitch of the choir.";
const LEAD = "Three parts of the old frame were changed:";
const ITEMS = ["Added two screws to the neck", "Removed the cracked pillar", "Painted the foot of the harp"];
const TEXT = `${TUNED}\n\n${LEAD}\n${ITEMS.map((item) => `- ${item}`).join("\n")}`;

test("a list that is told in part is not taken for the whole list", () => {
  expect(lineOf(TEXT, 0, 1)).toBe(`${TUNED} ${LEAD} ${ITEMS[0]} …`);
  expect(lineOf(TEXT, 0, 1, 2, 3)).toBe(`${TUNED} ${LEAD} ${ITEMS.join("; ")}`);
  expect(lineOf(TEXT, 0)).toBe(TUNED);
});

test("sentences between which others are left out are not read as one statement", () => {
  expect(lineOf(TEXT, 0, 2)).toBe(`${TUNED} … ${ITEMS[1]}`);
  expect(lineOf(TEXT, 3, 1)).toBe(`${LEAD} ${ITEMS[0]} … ${ITEMS[2]}`);
});
