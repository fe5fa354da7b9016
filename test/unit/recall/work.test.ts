import { describe, expect, test } from "vitest";
import { RECALL_CONFIDENCE_MIN } from "../../../src/core/options.ts";
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
    expect(placeOf(hits, "same deadline")).toBeLessThan(4);
    const without = await asked("why did the retry of uploads run into a timeout", [
      [user("Hello."), ...RETRY.slice(1)],
    ]);
    expect(without.find(({ text }) => text.includes("same deadline"))?.parts?.words ?? 0).toBe(0);
  });

  test("prefers an answer to an announcement, which has more of the words", async () => {
    const hits = await asked("why does the retry of an upload run into the timeout");
    const [answered, announced] = ["same deadline", "Let me look"].map((text) => placeOf(hits, text));
    expect(answered).toBeGreaterThanOrEqual(0);
    expect(announced).toBeGreaterThan(answered!);
  });

  test("prefers what came of a prompt to what was thought on the way", async () => {
    const guess =
      "I suspect that the export of the ledger loses its last row to a cursor which is closed too early, and look at the cursor next, " +
      "because every report of this kind has ended there so far. It may be the buffer as well.";
    const result =
      "The export of the ledger lost its last row, since its buffer was never flushed. Now it is, and all of the rows are there. " +
      "The cursor was innocent: it is closed only after the last of them, as it ought to be.";
    const turn = (first: string, last: string): MessageInput[] => [
      user("Rows are missing. Why?"),
      assistant(first),
      ...runs("npm test", "ok"),
      assistant(last),
      user("Thanks. Now the colors, please."),
    ];
    const question = "why does the export of the ledger lose its last row";
    const gainOf = async (text: string, messages: MessageInput[]): Promise<number> =>
      (await asked(question, [messages])).find((hit) => hit.text === text)!.parts!.speaker;
    expect(await gainOf(result, turn(guess, result))).toBeGreaterThan(await gainOf(result, turn(result, guess)));
    expect((await asked(question, [turn(guess, result)]))[0]!.text).toBe(result);
  });

  const CLOSING =
    "The export of the ledger lost its last row, since its buffer was never flushed. Now it is, and all of the rows are there. " +
    "The cursor was innocent: it is closed only after the last of them, as it ought to be.";
  const QUESTION = "why does the export of the ledger lose its last row";

  test.each<[name: string, gains: boolean, question: string, messages: MessageInput[], text?: string]>([
    ["before the user speaks again", true, QUESTION, [assistant(CLOSING), user("Thanks. Now the colors.")]],
    ["at the end of the session", true, QUESTION, [assistant(CLOSING)]],
    [
      "before the agent goes on",
      false,
      QUESTION,
      [assistant(CLOSING), ...runs("ls", "a"), assistant("Now the colors.")],
    ],
    [
      "of an agent that was interrupted at a call",
      false,
      QUESTION,
      [
        {
          role: "assistant",
          parts: [
            { type: "text", text: CLOSING },
            { type: "tool_call", toolCallId: "a", name: "Bash", args: { command: "ls" } },
          ],
        },
        { role: "tool", parts: [{ type: "tool_result", toolCallId: "a", content: "a" }] },
        user("Wait."),
      ],
    ],
    [
      "in a short line",
      false,
      QUESTION,
      [assistant("The export of the ledger lost its last row.")],
      "lost its last row.",
    ],
    [
      "about something else",
      false,
      QUESTION,
      [user(`The last row? ${QUESTION}`), assistant(CLOSING.replaceAll(/export|ledger|row|last|los[te]/g, "x"))],
      "buffer",
    ],
    [
      "for a question about the user",
      false,
      "what did I say about the export of the ledger and its last row",
      [assistant(CLOSING)],
    ],
  ])("of the closing words %s, gain: %s", async (_, gains, question, messages, text = "buffer") => {
    const session = [user("Rows are missing. Why?"), ...runs("npm test", "ok"), ...messages];
    const hit = (await asked(question, [session])).find((one) => one.role === "assistant" && one.text.includes(text))!;
    expect(hit.parts!.speaker > 0.05).toBe(gains);
  });

  test("counts results for a question about a value", async () => {
    const sessions = [
      [
        user("The gateway of the office does not answer. Is it up at all?"),
        ...runs("ss -ltnp | grep gateway", "LISTEN 0 4096 127.0.0.1:7431 users: gateway, pid 812"),
      ],
    ];
    const gainOf = async (question: string): Promise<number> =>
      (await asked(question, sessions)).find(({ text }) => text.includes("7431"))!.parts!.speaker;
    expect(await gainOf("which port has the gateway")).toBeGreaterThan(await gainOf("why is there a gateway"));
  });

  test("gives what the user said to a question about that", async () => {
    const said = "Please never rename the columns of the ledger, the accountants have queries of their own.";
    const sessions = [
      [
        user(said),
        ...runs("cat schema.sql", "create table ledger (columns, queries)"),
        assistant("The columns of the ledger stay, and I will rename the view in front of it, so the queries go on."),
      ],
    ];
    const [asking] = await asked("what did I say about renaming the columns of the ledger", sessions);
    expect(asking!.text).toBe(said);
    const gainOf = async (question: string): Promise<number> => (await asked(question, sessions))[0]!.parts!.speaker;
    expect(await gainOf("what did I say about the ledger")).toBeGreaterThan(
      await gainOf("what is it about the ledger"),
    );
  });

  test("counts a name once, whatever pieces it has", async () => {
    const sessions = [
      [
        user("Go on."),
        ...runs("ls", "a"),
        assistant("The mirror is on GitHub now, and nobody has looked at it since, not even for the pictures in it."),
        assistant("The first push was rejected, because a file held a token. We took the file out of the commit."),
      ],
    ];
    const hits = await asked("why was the first push to GitHub rejected", sessions);
    expect(placeOf(hits, "The first push")).toBe(0);
    const [byName, byPieces] = [await asked("GitHub", sessions), await asked("git hub", sessions)];
    expect(byName[0]!.text).toContain("GitHub");
    expect(byPieces[0]!.text).toContain("GitHub");
    expect(byName[0]!.confidence).toBeGreaterThan(RECALL_CONFIDENCE_MIN);
  });

  test("does not prefer a notice in the user's name", async () => {
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
