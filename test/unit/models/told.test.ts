import { describe, expect, test } from "vitest";
import type { Part } from "../../../src/core/message.ts";
import { chooseTold, type SaidMessage, type Told, ToldReader, toldIn } from "../../../src/models/told.ts";

function said(seq: number, role: SaidMessage["role"], ...parts: (Part | string)[]): SaidMessage {
  const all = parts.map((part): Part => (typeof part === "string" ? { type: "text", text: part } : part));
  const text = all
    .filter(({ injected }) => injected !== true)
    .map((part) => String(part.text ?? part.content ?? ""))
    .join("\n");
  return { id: 100 + seq, seq, stepId: seq, role, text, parts: all };
}

const read = (...messages: SaidMessage[]) => {
  const reader = new ToldReader();
  return messages.flatMap((message) => reader.of(message) ?? []);
};
const outcomes = (...messages: SaidMessage[]) =>
  toldIn(read(...messages)).flatMap(({ seq, isOutcome }) => (isOutcome ? [seq] : []));
const textsOf = (lines: readonly { text: string }[]) => lines.map(({ text }) => text);
const sentencesOf = (message: SaidMessage) => textsOf(read(message)[0]?.sentences ?? []);

describe("what a message tells", () => {
  test("is told sentence by sentence, without marks, headings, code and what says nothing", () => {
    const text = [
      "## Summary",
      "Perfect! The **root cause** was a stale `lock` file that nobody removed after the crash.",
      "- ✅ Added a timeout of 30 s to the lock of the session store",
      "```ts",
      "const lock = await takeLock(path);",
      "```",
    ].join("\n");
    expect(sentencesOf(said(1, "assistant", text))).toEqual([
      "The root cause was a stale lock file that nobody removed after the crash.",
      "Added a timeout of 30 s to the lock of the session store",
    ]);
  });

  test("is told without what only announces more, without the targets of links, and without lone names", () => {
    const text = [
      "All tests of the lock pass. Let me also run the linter.",
      "",
      "I've moved the lock into [lock.ts](/srv/app/src/lock.ts:7). Here's what was modified:",
      "- src/lock.ts",
      "- Committed as `6fe5d8c`",
    ].join("\n");
    expect(sentencesOf(said(1, "assistant", text))).toEqual([
      "All tests of the lock pass.",
      "I've moved the lock into lock.ts.",
      "Committed as 6fe5d8c",
    ]);
  });

  test("is whole: an announcement has the item below it, or goes, or shows that something is left out", () => {
    const text = [
      "Pushed. The branch is ready:",
      "```",
      "https://example.org/pull/7",
      "```",
      "Based on my search of the integration tests:",
      "```",
      "ok",
      "```",
      "I've fixed 3 leaks in src/lease.ts:",
      "```",
      "- until",
      "```",
      "Renamed the functions and options of the store:",
      "- `takeLock` is called `takeLease` now",
      "- the option is called `leaseMs`",
      "",
      "| src/lock.ts | renamed to src/lease.ts by the second commit |",
    ].join("\n");
    expect(sentencesOf(said(1, "assistant", text))).toEqual([
      "Pushed.",
      "I've fixed 3 leaks in src/lease.ts…",
      "Renamed the functions and options of the store: takeLock is called takeLease now",
      "the option is called leaseMs",
      "src/lock.ts | renamed to src/lease.ts by the second commit",
    ]);
  });

  test("has no marks of images", () => {
    expect(sentencesOf(said(1, "user", "[Image #2]\n\n[Image: source: /tmp/a.png]"))).toEqual([]);
    expect(sentencesOf(said(1, "user", "[Image #2] The lamp is dark here."))).toEqual(["The lamp is dark here."]);
  });

  test("is nothing if a hook of the agent's program wrote it in the user's place", () => {
    expect(
      sentencesOf(said(1, "user", "Operation stopped by hook: Another session is active.\nPress the up arrow.")),
    ).toEqual([]);
    const asked = "Why does it print Operation stopped by hook: in red?";
    expect(sentencesOf(said(1, "user", asked))).toEqual([asked]);
  });

  test("is worth more if it decides, and nothing if it announces the next call", () => {
    const [message] = read(
      said(1, "assistant", "We use SQLite instead of a server for this.\nLet me now look at the other half of it."),
    );
    expect(message!.sentences.map(({ text }) => text)).toEqual(["We use SQLite instead of a server for this."]);
    expect(message!.sentences[0]!.worth).toBeGreaterThan(0.3);
  });

  test("is nothing of what a program put into the user's message", () => {
    const injected: Part = { type: "text", text: "You are a helpful agent.", injected: true };
    expect(sentencesOf(said(1, "user", injected))).toEqual([]);
    expect(sentencesOf(said(1, "user", injected, "Fix the login page."))).toEqual(["Fix the login page."]);
    expect(sentencesOf(said(2, "user", "<system-reminder>Use the todo list.</system-reminder>"))).toEqual([]);
    expect(sentencesOf(said(3, "user", "Stop hook feedback:\nThe tests of the login page fail."))).toEqual([]);
    const command = "<command-name>/fix</command-name>\n<command-args>Fix the login page.</command-args>";
    expect(sentencesOf(said(4, "user", command))).toEqual(["Fix the login page."]);
  });

  test("is the commit that a call of git made, and no line of a log", () => {
    const call = (command: string): Part => ({ type: "tool_call", toolCallId: "c", name: "Bash", args: { command } });
    const result: Part = {
      type: "tool_result",
      toolCallId: "c",
      content: "[main 1a2b3c4] Add a timeout\n 1 file changed",
    };
    const commits = (command: string) => {
      const messages = [said(1, "assistant", call(command)), { ...said(2, "tool", result), stepId: 1 }];
      return read(...messages).map(({ by, sentences }) => [by, ...textsOf(sentences)]);
    };
    expect(commits("git add . && git commit -m 'Add a timeout'")).toEqual([
      ["commit", "committed 1a2b3c4: Add a timeout"],
    ]);
    expect(commits("cat notes.txt")).toEqual([]);
  });

  test("is no ask of the user if an agent wrote it to go on after a compaction", () => {
    const marked = { ...said(1, "user", "The user wants a shop for old books."), metadata: { isCompactSummary: true } };
    const unmarked = said(
      1,
      "user",
      "This session is being continued from a previous conversation. The user wants a shop for old books.",
    );
    expect(read(marked).map(({ by }) => by)).toEqual(["summary"]);
    expect(read(unmarked).map(({ by }) => by)).toEqual(["summary"]);
  });
});

describe("what a session tells", () => {
  test("is no outcome if the agent went on to work and was cut off", () => {
    const call: Part = { type: "tool_call", toolCallId: "c", name: "Read", args: {} };
    const messages = [
      said(0, "user", "Please repair the lock of the store."),
      said(1, "assistant", "The lock of the store has no lease at all.", call),
      said(2, "user", "Please repair the door of the store."),
      said(3, "assistant", "The door of the store has a new hinge."),
    ];
    expect(outcomes(...messages)).toEqual([3]);
    // Some transcripts have the words and the call in two messages, of which the second has no words.
    const door = [
      said(2, "user", "Please repair the door."),
      said(3, "assistant", "The door of the store looks great."),
    ];
    expect(outcomes(...door, said(4, "user", "Thanks!"))).toEqual([3]);
    expect(outcomes(...door, said(4, "assistant", call))).toEqual([]);
    expect(outcomes(...door, said(6, "user", "Please stop."))).toEqual([]);
  });

  test("is worth more in an agent's last words of a turn than before them", () => {
    const told = toldIn(
      read(
        said(0, "user", "Build a shop for my books."),
        said(1, "assistant", "The shelves have their own table of rows."),
        said(2, "assistant", "The shop has a basket and a till of sorts."),
        said(3, "user", "Now the tests."),
      ),
    );
    expect(told.map(({ isClosing }) => isClosing)).toEqual([false, false, true, false]);
    expect(told[2]!.worth).toBeGreaterThan(told[1]!.worth + 0.5);
    expect(told[0]!.worth).toBeGreaterThan(told[2]!.worth);
  });
});

describe("a choice", () => {
  const one = (messageId: number, text: string, worth = 1): Told => {
    return { messageId, seq: messageId, by: "agent", text, worth, isClosing: false, isOutcome: false };
  };
  const cost = { of: ({ text }: { text: string }) => text.length, first: () => 0 };

  test("takes what adds words before what repeats them, keeps the order, and obeys the room", () => {
    const told = [
      one(1, "The parser drops the last line of a file"),
      one(2, "The parser drops the last line of each file"),
      one(3, "Retries wait for thirty seconds per remote"),
    ];
    expect(textsOf(chooseTold(told, 90, cost))).toEqual([told[0]!.text, told[2]!.text]);
    expect(chooseTold(told, 1_000, cost)).toEqual(told);
    expect(chooseTold(told, 10, cost)).toEqual([]);
  });

  test("leaves out what is worth nothing, however much room there is", () => {
    expect(chooseTold([one(1, "Let me look at the parser now", -0.1)], 1_000, cost)).toEqual([]);
  });
});

describe("closing words that do not name what came out", () => {
  const turns = [
    said(0, "user", "Rebase the branch of the lease onto the main branch."),
    said(1, "assistant", "Done. All 31 tests pass."),
    said(2, "user", "Write the page of the handbook about leases."),
    said(3, "assistant", "The page about leases explains how long a lease lasts.\n\nAll 31 tests pass."),
  ];
  const costs = { of: ({ text }: Told) => text.length, first: () => 4 };

  test("are told with what was asked", () => {
    const told = toldIn(read(...turns));
    const closing = told.find(({ seq }) => seq === 1)!;
    const others = told.map((one) => ({ ...one, worth: one === closing ? 1 : 0.1 }));
    expect(textsOf(chooseTold(others, 100, costs))).toEqual([turns[0]!.text, closing.text]);
    expect(textsOf(chooseTold(others, 60, costs))).not.toContain(closing.text); // both need room
    expect(told.filter(({ subject }) => subject !== undefined).map(({ seq }) => seq)).toEqual([1, 3]);
  });

  test("are told with what else their message says, and not at all if nothing names their matter", () => {
    const told = toldIn(read(...turns));
    const [page, closing] = told.filter(({ seq }) => seq === 3);
    expect(closing!.subject).toEqual({ messageId: page!.messageId, text: page!.text });
    expect(toldIn(read(said(0, "user", "Go on."), said(1, "assistant", "All 31 tests pass.")))).toEqual([]);
  });

  test("are told once, and so is what was asked", () => {
    const told = toldIn(read(...turns));
    expect(chooseTold(told, 10_000, costs)).toEqual(told);
  });
});

test("a user's sentence that needs its neighbors is worth less", () => {
  const worthOf = (text: string) => toldIn(read(said(0, "user", text)))[0]!.worth;
  expect(worthOf("Yes, deploy.")).toBeLessThan(0.6 * worthOf("Yes, write the page about leases of the store."));
});
