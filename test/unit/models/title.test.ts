import { describe, expect, test } from "vitest";
import type { Role } from "../../../src/core/message.ts";
import { TITLE_TEXT_CHARS, titleAmong, titleOf, titleOfSession } from "../../../src/models/title.ts";

function titled(messages: readonly (readonly [Role, string])[], asked?: string): string {
  return titleOf(
    messages.map(([role, text]) => ({ role, text })),
    asked === undefined ? undefined : { role: "user", text: asked },
  );
}

describe("titleAmong", () => {
  test("is the title that has most in common with the others", () => {
    const titles = ["Paint the fence", "Release the stale lock of a session", "Break a stale lock"];
    expect(titleAmong(titles)).toBe("Release the stale lock of a session");
    expect(titleAmong([])).toBe("");
  });
});

describe("titleOf", () => {
  test("is what the user asked, without courtesies", () => {
    const work = ["assistant", "Read\n/srv/session.go"] as const;
    expect(titled([["user", "ok, can you please move the clean command under session?"], work])).toBe(
      "Move the clean command under session",
    );
    expect(titled([["user", "Hi Ann, I'd like you to rename the lock."]])).toBe("Rename the lock");
    expect(titled([["user", "Why does the retry loop never stop?"]])).toBe("Why does the retry loop never stop?");
  });

  test("is what was wanted and what became of it, if both have room", () => {
    const asked = ["user", "Limit the retries of a remote"] as const;
    const closing = "Good news.\n\nAll 31 tests pass.";
    expect(titled([asked, ["assistant", "Read\n/srv/a.go"], ["assistant", closing]])).toBe(
      "Limit the retries of a remote: all 31 tests pass",
    );
    const commit = ["assistant", 'Bash\ngit commit -m "fix: one budget for each host"'] as const;
    expect(titled([asked, commit])).toBe("Limit the retries of a remote: one budget for each host");
    expect(titled([asked, ["assistant", "I found the issue."]])).toBe("Limit the retries of a remote");
  });

  test.each([
    [
      "The lease of a harbour gate runs out. Where does the crane keep its lease?",
      "Where does the crane keep its lease?",
    ],
    [
      "In theory a gate has one lock, but mostly it has two. I wonder if we can show both locks",
      "I wonder if we can show both locks",
    ],
    [
      "Look at all these changes of the harbour that came in since spring, and update the tide table if necessary.",
      "Update the tide table if necessary",
    ],
    [
      "$ ./run.sh\nBuilding the harbour image\nResolving the base image of the harbour\n\nCan you fix the crane image?",
      "Fix the crane image",
    ],
    [
      "The tide table is old. I am the keeper of the harbour_gate. Clean the gate and the old crane.",
      "Clean the gate and the old crane",
    ],
  ])("is what is asked for, and not what explains it: %j", (text, title) => {
    expect(titled([["user", text]])).toContain(title);
  });

  test("is what came out, if the request points at what only the conversation shows", () => {
    const closing = [
      "assistant",
      "Done. I've removed the unused wrappers of the harbour lock. All 31 tests pass.",
    ] as const;
    expect(titled([["user", "Can you fix all 5"], closing])).toBe("Removed the unused wrappers of the harbour lock");
    expect(titled([["user", "a few more review comments"], closing])).toContain("wrappers");
  });

  test.each([
    "Implement 1,2 and 3",
    "Could you fix issue 2",
    "Ignore this warning",
    "Invert that flag",
    "more review comments",
    "commit and push",
    "file an issue, please",
  ])("is what was committed or planned, if the request has no object of its own: %s", (pointing) => {
    const commit = ["assistant", 'Bash\ngit commit -m "feat: renew the lease of each crane"'] as const;
    expect(titled([["user", pointing], commit])).toContain("Renew the lease of each crane");
    const task = [
      "assistant",
      "TodoWrite\nRenew the lease of each crane\nin_progress\nRun the tests\npending",
    ] as const;
    expect(titled([["user", pointing], task])).toContain("Renew the lease of each crane");
    expect(titled([["user", "Paint the harbour gate"], commit])).toMatch(/^Paint the harbour gate/);
  });

  test.each([
    "mcp__tracker__create_issue\nThe crane drops its lease at noon\nHarbour",
    'Bash\ngh pr create --draft --title "The crane drops its lease at noon" --body "Fixes it."',
  ])("is what an issue or a pull request is about, if the request only asks for one", (opening) => {
    const later = ["assistant", 'Bash\ngit commit -m "Sort the imports of the pier"'] as const;
    expect(titled([["user", "log an issue"], ["assistant", opening], later])).toBe("The crane drops its lease at noon");
  });

  test("of a mark such as `continue` is what was asked before, or what the agent sets out to do", () => {
    const said = ["assistant", "I'll renew the lease of each crane. It takes a while."] as const;
    expect(titled([["user", "continue"], said])).toBe("Renew the lease of each crane");
    expect(titled([["user", "proceed please"]], "Oil the harbour gate")).toBe("Oil the harbour gate");
    expect(titled([["user", "@harbour-rules.mdc"], said])).toBe("Renew the lease of each crane");
  });

  test("is what a user asked, however little of long work that is", () => {
    const steps = Array.from({ length: 90 }, (_, step) => ["assistant", `Bash\nls ${step}\nList the boats`] as const);
    const rules = ["system", "Files of the harbour may be read without asking anybody."] as const;
    expect(titled([rules, ["user", "Oil the harbour gate"], ...steps])).toBe("Oil the harbour gate");
  });

  test("keeps what points at something if it says what it is about", () => {
    const commit = ["assistant", 'Bash\ngit commit -m "Cache the tide"'] as const;
    const asked = "Investigate what causes this slow lookup of the harbour tide table";
    expect(titled([["user", asked], commit])).toMatch(/^Investigate what causes this slow lookup/);
    expect(titled([["user", "Review the buoys of this project"], commit])).toMatch(/^Review the buoys of this project/);
  });

  test("tells what became of a request in words that name something, rather than that all tests pass", () => {
    const asked = ["user", "Limit the retries of a remote"] as const;
    const done = ["assistant", "Moved the budget to a pool."] as const;
    expect(titled([asked, done, ["assistant", "All tests pass."]])).toBe(
      "Limit the retries of a remote: moved the budget to a pool",
    );
  });

  test.each([
    ["You review the work of others.\n\n## What was requested\n\nOil the harbour gate", "Oil the harbour gate"],
    ["**Task 2: Oil the harbour gate**\n\nUse the can.", "Oil the harbour gate"],
    ["Context: the gate creaks at night", "The gate creaks at night"],
    ["src/gate.ts:73\nwhy does the gate creak", "Why does the gate creak"],
    ["Author: Ada King <ada@example.com>\nThe gate creaks", "The gate creaks"],
    ["Let's instead oil the harbour gate with the thin oil from the shed, nice and slow", "Oil the harbour gate"],
    ["we would want the keys of the harbour gate also go to us, is there a way to do it?", "We would want the keys"],
    ["I wouldn't be surprised if there's a leak in the harbour pump", "There's a leak in the harbour pump"],
    ["If a gate would have two locks and both are open would it show them\nOil the gate", "Oil the gate"],
    ["Print something like.\nOil the harbour gate", "Oil the harbour gate"],
  ])("is no heading of a template, label, path or half of a sentence: %j", (text, title) => {
    expect(titled([["user", text]])).toContain(title);
  });

  test("of a subagent's work is its task, and never what a program says to itself", () => {
    const work = ["assistant", "I'll read the code first."] as const;
    const task = ["system", "Find all callers of releaseLock. Report them."] as const;
    expect(titled([task, work])).toBe("Find all callers of releaseLock");
    expect(titled([task, ["user", "Oil the harbour gate"], work])).toBe("Oil the harbour gate");
    expect(titled([["system", "# AGENTS.md instructions for /srv/shop"]])).toBe("Without words");
    expect(titled([["system", "[Request interrupted by user]"]])).toBe("Without words");
  });

  test("is no step of the work, however often its words occur", () => {
    const step = ["assistant", "Let me read the full implementation of the lease for context"] as const;
    expect(titled([["user", "Oil the harbour gate"], step, step, step])).toBe("Oil the harbour gate");
  });

  test("is what a mark of the program interrupted", () => {
    const mark = ["user", "[Request interrupted by user for tool use]"] as const;
    expect(titled([mark], "Can you rename the lock of a session?")).toBe("Rename the lock of a session");
    expect(titled([mark])).toBe("Request interrupted by user for tool use");
    expect(titled([["user", "yes"]], "Can you rename the lock of a session?")).toBe("Rename the lock of a session");
    expect(titled([["assistant", "No response requested."]])).toBe("No response requested");
  });

  test.each([
    ["Implement the following plan:\n\n# Rename the lock of a session", "Rename the lock of a session"],
    [
      "I got this note on the whole of my work in the harbour: I reckon that the lease is lost.\nOil the lock",
      "Oil the lock",
    ],
    ["Release notes: write them for the lock", "Release notes: write them for the lock"],
    [
      "When somebody forks a session in the browser, the lock of the parent is never released.",
      "The lock of the parent is never released",
    ],
    [
      "If the name of a session in the harbour has marks (dots, dashes, blanks), its lock is lost when it ends",
      "Its lock is lost when it ends",
    ],
    [
      "if the lease is stale, take it over (and log it). Thanks a lot.",
      "If the lease is stale, take it over (and log it)",
    ],
    ["let's name the lock `Lock:` in the store and in the log", "Name the lock Lock: in the store and in the log"],
    ["Put the lock into locks/<lock-name> of the store", "Put the lock into locks/<lock-name> of the store"],
    [
      "<command-name>/plan</command-name><command-args>rename the lock of a session</command-args>",
      "Rename the lock of a session",
    ],
    ["Ah I think the issue is that the lease is never renewed", "The lease is never renewed"],
    ["I've successfully fixed the tide table of the lock gate", "Fixed the tide table of the lock gate"],
    ["✅ Core fix: whole logs are stored now", "Core fix: whole logs are stored now"],
    ["Yeah but it should list the steps of the crane", "It should list the steps of the crane"],
    ["👍🏽 the gate opens at noon", "The gate opens at noon"],
    [
      "I remember now, the issue was that the lock of the parent was never released.",
      "The lock of the parent was never released",
    ],
    ["...more [review comments](https://example.com/a/b) about `lock.go`", "More review comments about lock.go"],
  ])("of %j is what it says", (text, title) => {
    expect(titled([["user", text]])).toBe(title);
  });

  test.each([
    ["session - it is the only command of ours that nobody of the crew ever finds.", "session"],
    ["session because nobody of the crew ever finds the command where it is now.", "session"],
    ["the session command of the command line program please", "the session command"],
  ])("is cut at a phrase, a clause or a word: … %s", (rest, kept) => {
    expect(titled([["user", `Move the clean command under ${rest}`]])).toBe(`Move the clean command under ${kept}`);
  });

  test.each([
    [
      'Tell the case "there are newer commits - or none at all" from the one where a branch was renamed.',
      "Tell the case",
    ],
    [
      "Fix the calls of the session folder (resume.go, rewind.go, session.go, explain.go, and clean.go)",
      "Fix the calls",
    ],
    ['Print "you can press the up arrow key to get the prompt of the last session back"', "Print you can press"],
    ["Check the other commands to understand when checkpoints of a session are written at all", "Check the other"],
    [
      "Look for any patterns where we parse that could be replaced by the parser of the library",
      "Look for any patterns",
    ],
    [
      "In /home/ana/work/shop the command now shows no orders, and the basket is empty after login",
      "In shop the command",
    ],
    ["b) why are we not passing the type of the agent?", "Why are we not passing"],
  ])("is whole: %j", (text, beginning) => {
    const title = titled([["user", text]]);
    expect(title.startsWith(beginning)).toBe(true);
    expect(title).not.toMatch(/[,;:]…$|\/home|\bto understand$|we parse$/);
    for (const pair of ["()", "[]", '""']) {
      const count = (mark: string) => title.split(mark).length - 1;
      expect(pair === '""' ? count('"') % 2 : count(pair[0]!) - count(pair[1]!)).toBe(0);
    }
  });

  test.each([
    "I wonder whether the sluice is full",
    "I think if we split the gate, it gets lighter",
    "It looks for the lamp in the wrong shed",
    "It seems to me that the pump is idle",
    "The problem is not reproducible on my pier",
    "I have limited time for the failing pump",
    "I see that in the logs of the pump too",
    "Well known lamps of the pier are missing",
    "™ is shown as a box on the sign",
    "timeout = 30 seconds is too short for the pump",
  ])("keeps what carries its meaning: %s", (said) => {
    expect(titled([["user", said]])).toBe(said[0]!.toUpperCase() + said.slice(1));
  });

  test("keeps a list with round bullets, and a text without spaces that is read in part", () => {
    expect(titled([["user", "Please do:\n● Add a lamp to the pier\n● Oil the pump"]])).toBe("Add a lamp to the pier");
    expect(titled([["user", "请修理码头的灯。".repeat(70)]])).toBe("请修理码头的灯。");
  });

  test.each([
    "gate, err = s.openGate(lock, tide)",
    "⎿ PreToolUse hook failed with an exit",
    "✓ Installed the lamp (tide mode)",
    "TypeError: Cannot open the lock gate",
    "    at processTicksAndRejections (node:internal/process/task_queues:95:5)",
  ])("is not what was pasted from a terminal or a file: %s", (pasted) => {
    expect(titled([["user", `${pasted}\n\nWhy does the lock gate stay shut?`]])).toBe(
      "Why does the lock gate stay shut?",
    );
  });

  test("never ends within a word where the reading of a message ends", () => {
    const text = `${"const a = 1;\n".repeat(36)}Oil each of the old lockgatehinges`;
    expect(titled([["user", text.slice(0, TITLE_TEXT_CHARS)]])).toBe("Oil each of the old");
    expect(titled([["user", text]])).toBe("Oil each of the old");
  });

  test("does not end with a little word before the cut", () => {
    expect(titled([["user", `Compare the two implementations of the lock for any of the ${"x".repeat(40)}.`]])).toBe(
      "Compare the two implementations of the lock",
    );
  });

  test("is never longer than 80 characters, whatever the texts are", () => {
    for (const text of ["x".repeat(600), `See ${"ab/".repeat(200)}c.ts`, "word ".repeat(200), "検索".repeat(300)]) {
      for (const role of ["user", "assistant", "tool"] as const) expect(titled([[role, text]]).length).toBeLessThan(81);
    }
  });

  test("prefers the first request, unless another one is what the messages are about", () => {
    const requests = [
      ["user", "Add a flag for telemetry."],
      ["user", "Print the time of the upload."],
    ] as const;
    expect(titled(requests)).toBe("Add a flag for telemetry");
    const upload = ["assistant", "The upload takes a long time, so the upload prints its time."] as const;
    expect(titled([...requests, upload, upload, upload, upload])).toBe("Print the time of the upload");
  });

  test("is a commit, a task, a decision or an intention if the messages have no request", () => {
    const commit = `Bash\ngit add -A && git commit -m "$(cat <<'EOF'\nRelease stale locks on start\n\nMore.\nEOF\n)"\nCommit`;
    expect(titled([["assistant", commit]])).toBe("Release stale locks on start");
    expect(titled([["assistant", "TodoWrite\nRead the lock\ncompleted\nRelease stale locks\nin_progress"]])).toBe(
      "Release stale locks",
    );
    expect(titled([["assistant", "The root cause is the stale lock."]])).toBe("The root cause is the stale lock");
    expect(titled([["assistant", "Great! Now let me release the stale lock:"]])).toBe("Release the stale lock");
    expect(titled([["assistant", "Bash\nls /var/lock\nList stale locks"]])).toBe("List stale locks");
  });

  test("is the request of the turn if the messages say less", () => {
    const reading = ["assistant", "Bash\ncat thermostat.go\nShow thermostat.go"] as const;
    const said = ["assistant", "The thermostat of the greenhouse has two sensors."] as const;
    expect(titled([reading, said, said, said], "Repair the thermostat of the greenhouse.")).toBe(
      "Repair the thermostat of the greenhouse",
    );
    expect(titled([["user", "Paint the fence."]], "Repair the fence.")).toBe("Paint the fence");
  });

  test("names files, or else words, if there is nothing else", () => {
    expect(
      titled([
        ["assistant", "Read\n/srv/lock.go"],
        ["tool", "package lock"],
      ]),
    ).toBe("lock.go");
    expect(titled([["tool", "harbour harbour"]])).toBe("harbour");
    expect(titled([["user", "?!"]])).toBe("Without words");
  });

  test("is the title of the pull request that a command shows", () => {
    const shown =
      "title:\tRelease the stale lock\nstate:\tOPEN\nassignees:\tada (Ada King)\nlabels:\tharbor, lamps and ropes";
    expect(titled([["user", `## Context\n\n- Current pull request: ${shown}`]])).toBe("Release the stale lock");
  });

  test("does not take what a program wrote, or what was pasted, for a request", () => {
    const harness = "<local-command-stdout>Catch you later!</local-command-stdout>";
    const program = "<system-reminder>Never mention the reminder.</system-reminder>Release the stale lock.";
    const pasted =
      "error: lock.go:12: undefined: stale\nRelease the stale lock.\n```\nAdd the lock\n```\n> Quote the lock";
    expect(titled([["user", harness]])).not.toContain("Catch you");
    expect(titled([["user", program]])).toBe("Release the stale lock");
    expect(titled([["user", pasted]])).toBe("Release the stale lock");
    const tagged = "<bug_report>\nerror: it hangs\n</bug_report>\nRelease the stale lock.";
    expect(titled([["user", tagged]])).toBe("Release the stale lock");
    expect(titled([["user", "<command-name>/exit</command-name>\n<command-args></command-args>"]])).toBe("/exit");
    expect(titled([["user", "[Request interrupted by user]"]])).toBe("Request interrupted by user");
    const continued = "This session is being continued from a previous conversation that ran out of context. Move it.";
    expect(
      titled([
        ["user", continued],
        ["assistant", "Let me release the lock."],
      ]),
    ).toBe("Release the lock");
  });
});

test.each([
  ["first name field is required", "First name field is required"],
  ["OK button is grey", "OK button is grey"],
  ["Please wait dialog never closes", "Please wait dialog never closes"],
  ["First run crashes", "First run crashes"],
  ["then clause of the parser", "Then clause of the parser"],
  ["next, mend the net", "Mend the net"],
  ["ok please mend the net", "Mend the net"],
  ["now we mend the net", "We mend the net"],
])("a word of a name is no filler: %s", (request, title) => {
  expect(titleOfSession(null, request)).toBe(title);
});
