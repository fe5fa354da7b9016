import { describe, expect, test } from "vitest";
import type { MessageInput, RecallHit } from "../../../src/index.ts";
import { runs } from "../../support/acts.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

/** Work on two matters, with what agents announce and tools print. */
const RETRY = [
  user("Uploads of large files fail with a timeout now and then. Can you find out why the retry does not help?"),
  assistant("Let me look at the retry."),
  ...runs("grep -rn retry src/upload", "src/upload/client.ts:41: retry(put, { timeout, attempts: 3 })"),
  assistant(
    "It is called with the same deadline again. The first attempt has used it up, so the second one begins with no time left and " +
      "gives up at once. I would give each attempt thirty seconds of its own, and keep the whole below two minutes.",
  ),
  user("ok do it"),
  ...runs("sed -i s/deadline/perAttempt/ src/upload/client.ts", ""),
  assistant("Done."),
];
const COLORS = [
  user("The colors of the chart are hard to tell apart."),
  ...runs("cat src/chart/colors.ts", "export const colors = ['red', 'orange'];"),
  assistant(
    "The palette has six hues of red. I replaced it by one that color-blind people can tell apart, with eight hues.",
  ),
];

async function asked(question: string, sessions: MessageInput[][] = [RETRY, COLORS]): Promise<RecallHit[]> {
  const store = temporaryStore();
  sessions.forEach((messages, index) => void store.session(`work-${index}`).append(messages));
  return store.recall(question, { neighbors: 0, explain: true });
}

const placeOf = (hits: readonly RecallHit[], text: string): number => hits.findIndex((hit) => hit.text.includes(text));

describe("work with tools", () => {
  test("finds an answer by the words of the prompt that it answers", async () => {
    const hits = await asked("why did the retry of uploads run into a timeout");
    // The answer has none of the words "retry", "uploads" and "timeout".
    expect(placeOf(hits, "same deadline")).toBeLessThan(2);
  });

  test("prefers an answer to an announcement, and to what tools print", async () => {
    const hits = await asked("why does the retry of an upload run into the timeout");
    const [answered, announced, printed] = ["same deadline", "Let me look", "src/upload/client.ts:41"].map((text) =>
      placeOf(hits, text),
    );
    expect(answered).toBeGreaterThanOrEqual(0);
    expect(announced).toBeGreaterThan(answered!);
    expect(printed).toBeGreaterThan(answered!);
  });

  test("does not prefer a short line of the user", async () => {
    const hits = await asked("why was the request of the user interrupted", [
      [
        user("[Request interrupted by user]"),
        user("Users say that their exports stop halfway. Look into it, please."),
        ...runs("tail server.log", "worker restarted"),
        assistant(
          "The deploy restarts the worker, so the request of a user is interrupted, and nothing starts the export again.",
        ),
      ],
    ]);
    expect(placeOf(hits, "The deploy restarts")).toBeLessThan(placeOf(hits, "[Request interrupted"));
  });

  test("counts the prompts of the same session only, and the last one only", async () => {
    const later = assistant(
      "The palette is done, too, and the build passes on all machines again after the last change.",
    );
    const score = async (sessions: MessageInput[][]): Promise<number> =>
      (await asked("timeout of uploads", sessions)).find(({ text }) => text === later.content)?.parts?.words ?? 0;
    const upload = user("Why is there a timeout of the uploads?");
    const work = runs("ls", "uploads");
    expect(await score([[upload, ...work, later]])).toBeGreaterThan(0);
    expect(await score([[upload, ...work, user("And the palette, what of that?"), later]])).toBe(0);
    expect(
      await score([
        [upload, ...work],
        [user("And the palette?"), later],
      ]),
    ).toBe(0);
  });

  test("has scores that are the sums of their parts", async () => {
    for (const { score, parts } of await asked("upload retry timeout palette")) {
      expect(score).toBeCloseTo(
        Object.values(parts!).reduce((sum, part) => sum + part, 0),
        12,
      );
    }
  });
});
