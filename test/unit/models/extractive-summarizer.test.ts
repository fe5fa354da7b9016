import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { extractiveSummarizer } from "../../../src/models/extractive-summarizer.ts";
import { oneLine } from "../../../src/models/lines.ts";
import { requestOf, sourcesOf } from "../../contract/summarizer.contract.ts";
import { turnsDuring } from "../../support/turns.ts";

const { summarize } = extractiveSummarizer();

const LOCK = sourcesOf(
  ["user", "Two processes write at once and the session gets lost. Find out why, but keep the file format as it is."],
  ["assistant", "Let me look at how the lock is taken.\nread_file\n/srv/store/src/lock.ts"],
  ["tool", "export function lock() {\n  return open(path, 'wx');\n}\n// Error: what to do when the file exists?"],
  ["assistant", "run_shell\nnpm test -- lock\nSee what fails"],
  ["tool", "AssertionError: expected 1 to be 2\nTests  1 failed | 41 passed (42)"],
  [
    "assistant",
    "The root cause is that lock() is called after the read in /srv/store/src/append.ts, so both see seq 41.",
  ],
  ["tool", "Tests  42 passed (42)"],
  ["assistant", "Fixed: appendMessage() now locks before it reads. The file format is unchanged."],
  ["user", "Good. We decided for 5 seconds as the busy timeout, so put that in, too."],
);

describe("extractiveSummarizer", () => {
  test("keeps the request, the cause, the fix, the decision, the last count and the files, word for word and in order", async () => {
    const { title, text } = await summarize(requestOf(LOCK, { tokensMax: 150 }));
    expect(text.split("\n")).toEqual([
      "user: Two processes write at once and the session gets lost.",
      "user: Find out why, but keep the file format as it is.",
      "tool: AssertionError: expected 1 to be 2",
      "The root cause is that lock() is called after the read in /srv/store/src/append.ts, so both see seq 41.",
      "tool: Tests 42 passed (42)",
      "Fixed: appendMessage() now locks before it reads. The file format is unchanged.",
      "user: Good. We decided for 5 seconds as the busy timeout, so put that in, too.",
      "files: /srv/store/src/{append.ts, lock.ts}",
    ]);
    expect(title).toBe("Two processes write at once and the session gets lost");
  });

  test("leaves narration and code that was only read out first", async () => {
    const { text } = await summarize(requestOf(LOCK, { tokensMax: 100 }));
    expect(text).not.toContain("Let me look");
    expect(text).not.toContain("what to do when the file exists");
    expect(text).toContain("root cause");
  });

  test("tells what was said once only once", async () => {
    const { text } = await summarize(requestOf([...LOCK, ...LOCK], { tokensMax: 1_000 }));
    const lines = text.split("\n");
    expect(new Set(lines).size).toBe(lines.length);
  });

  test("lists the files worked on, those called most and last first", async () => {
    const calls = sourcesOf(
      ["assistant", "read_file\n/srv/a.ts"],
      ["tool", "/srv/listed.ts"],
      ["assistant", "edit_file\n/srv/b.ts"],
      ["assistant", "edit_file\n/srv/b.ts"],
      ["assistant", "read_file\n/srv/c.ts"],
    );
    const { text } = await summarize(requestOf(calls));
    expect(text).toBe("files: /srv/{b.ts, c.ts, a.ts, listed.ts}");
  });

  test("puts a file in use now before one that was named long ago", async () => {
    const sources = sourcesOf(
      ["user", "Look at old.ts first."],
      ...Array.from({ length: 8 }, (): ["assistant", string] => ["assistant", "run_shell\nls -la"]),
      ["assistant", "edit_file\nnew.ts"],
    );
    expect((await summarize(requestOf(sources))).text).toContain("files: new.ts, old.ts");
  });

  test("shows the model's last list of tasks and no older one", async () => {
    const lists = sourcesOf(
      ["user", "Mend the lock and then publish the package."],
      ["assistant", "todo_write\nMend the lock\nin_progress\nPublish the package\npending"],
      ["assistant", "todo_write\nMend the lock\ncompleted\nPublish the package\nin_progress"],
    );
    const { text } = await summarize(requestOf(lists));
    expect(text.split("\n").filter((line) => line.startsWith("todo: "))).toEqual([
      "todo: Publish the package (in progress)",
    ]);
  });

  test("names the speakers of a conversation of several people, and takes its title from what they speak of", async () => {
    const { title, text } = await summarize(
      requestOf(
        sourcesOf(
          ["user", "I propose Buffer.alloc(number) as the safe constructor of buffers.", "feross"],
          ["user", "Buffer.alloc(number) should be filled with zeros by default.", "mscdex"],
          ["tool", "total 64\ntotal 65\n"],
        ),
      ),
    );
    expect(text).toBe(
      "feross: I propose Buffer.alloc(number) as the safe constructor of buffers.\n" +
        "mscdex: Buffer.alloc(number) should be filled with zeros by default.",
    );
    expect(title).toBe("I propose Buffer.alloc(number) as the safe constructor of buffers");
  });

  test("makes one text of earlier summaries and new messages, without nesting or repeating", async () => {
    const previous = [
      { title: "a", text: "user: Keep the file format as it is.\ntool: Tests 1 failed (42)\nfiles: src/{a.ts, b.ts}" },
      { title: "b", text: "user: Keep the file format as it is.\nWe renamed lock() to acquireLock().\nfiles: c.ts" },
    ];
    const sources = sourcesOf(["assistant", "edit_file\nsrc/b.ts"], ["tool", "Tests 0 failed (43)"]);
    const { text } = await summarize(requestOf(sources, { previous }));
    expect(text.split("\n")).toEqual([
      "user: Keep the file format as it is.",
      "We renamed lock() to acquireLock().",
      "tool: Tests 0 failed (43)",
      "files: src/{b.ts, a.ts}, c.ts",
    ]);
  });

  test("is the same when it is summarized again alone", async () => {
    const first = await summarize(requestOf(LOCK, { tokensMax: 150 }));
    const second = await summarize(requestOf([], { previous: [first], tokensMax: 150 }));
    expect(second.text).toBe(first.text);
  });

  test("carries the user's goal, the cause and the decision through three summaries of as much again", async () => {
    let previous = [await summarize(requestOf(LOCK, { tokensMax: 180 }))];
    for (const subject of ["parser", "renderer", "importer"]) {
      const sources = sourcesOf(
        [
          "user",
          `Now the ${subject} is slow with large inputs. Measure it before you change anything in the ${subject}.`,
        ],
        ["assistant", `The ${subject} reads its input twice. I changed ${subject}.ts to read it once.`],
        ["tool", "Tests  42 passed (42)"],
        ["assistant", `The ${subject} now takes 12 ms instead of 80 ms for a megabyte.`],
      );
      previous = [await summarize(requestOf(sources, { previous, tokensMax: 180 }))];
    }
    const { text } = previous[0]!;
    expect(text).toContain("user: Two processes write at once and the session gets lost.");
    expect(text).toContain("The root cause is that lock() is called after the read");
    expect(text).toContain("user: Good. We decided for 5 seconds as the busy timeout");
    expect(text).toContain("I changed importer.ts to read it once.");
  });

  test("counts messages that have no words, those of an earlier summary included", async () => {
    const wordless = await summarize(requestOf(sourcesOf(["user", "…"], ["tool", ""])));
    expect(wordless).toEqual({ title: "2 messages without words", text: "2 messages without words" });
    const more = await summarize(requestOf(sourcesOf(["user", "?"]), { previous: [wordless] }));
    expect(more.text).toBe("3 messages without words");
  });

  test("quotes messages that have only small words", async () => {
    expect((await summarize(requestOf(sourcesOf(["assistant", "yes"])))).text).toBe("yes");
  });

  test("shows the first line of output in which nothing is a statement, if there is nothing else", async () => {
    expect((await summarize(requestOf(sourcesOf(["tool", "total 64\ndrwxr-xr-x 2 root root 4096"])))).text).toBe(
      "tool: total 64",
    );
  });

  test("cuts the best statement where no whole line fits, and drops its speaker first", async () => {
    const countTokens = (text: string) => text.length;
    const sources = sourcesOf(["user", "Rename the lock file."]);
    const textOf = async (tokensMax: number) => (await summarize(requestOf(sources, { tokensMax, countTokens }))).text;
    expect(await textOf(100)).toBe("Rename the lock file."); // with `user: ` it would be longer than its source
    expect(await textOf(16)).toBe("Rename the lock…");
    expect(await textOf(1)).toBe("…");
    expect(await textOf(0)).toBe("");
  });

  test("reads the beginning and the end of a long message, and little of it", async () => {
    const middle = `The region of the backup is Oslo. ${"Nothing was said here. ".repeat(400_000)}`;
    const text = `Take Zurich as the region.\n${"- ".repeat(4_000)}\n${middle}\n${"- ".repeat(500)}\nTake the backup to Bern.`;
    const { text: summary } = await summarize(requestOf(sourcesOf(["user", text])));
    expect(summary).toContain("Zurich");
    expect(summary).toContain("Bern");
    expect(summary).not.toContain("Oslo");

    // 5,981 characters of rules, then a sentence of which the first 19 are read.
    const cut = `${"- ".repeat(2_990)}\nTake Zurich as the region of all of it.\n${"- ".repeat(4_000)}`;
    expect((await summarize(requestOf(sourcesOf(["user", cut])))).text).toBe("user: Take Zurich as the …");
  });

  test("does not lose an early request among thousands of later remarks", async () => {
    const remarks = Array.from({ length: 3_000 }, (_, index): ["assistant", string] => [
      "assistant",
      `The part number ${index} of the machine${index} lies in the drawer${index}.`,
    ]);
    const rule = "Never open the red drawer before noon.";
    const { text } = await summarize(requestOf(sourcesOf(["user", rule], ...remarks)));
    expect(text).toContain(`user: ${rule}`);
  });

  test("lets others run while it works through a long conversation", async () => {
    const said = LOCK.map(({ text }) => text).join("\n");
    const text = said.padEnd(1_000, ".").slice(0, 1_000);
    const sources = Array.from({ length: 600 }, (_, seq) => ({ ...LOCK[0]!, seq, text }));
    // 600,000 characters in slices of 16,000
    expect(await turnsDuring(summarize(requestOf(sources)))).toBeGreaterThan(30);
  });

  /**
   * Goal: whatever is said, a summary keeps to its budget, invents nothing, repeats nothing and keeps the order.
   * Method: random conversations of sentences that carry a number of their own; each line must be found, speaker aside,
   * at the beginning of a piece of its source, and the numbers of the lines must rise.
   */
  test("invents nothing and keeps the order", async () => {
    const names = ["lock", "region", "src/a.ts", "fooBar()", "80 ms", "部署", "😀"];
    const word = fc.constantFrom(...names, "because", "the", "Let me");
    const sentence = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(" "));
    const message = fc.record({
      role: fc.constantFrom("user" as const, "assistant" as const),
      sentences: fc.array(sentence, { minLength: 1, maxLength: 4 }),
    });
    let linesMax = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 12, size: "max" }),
        fc.integer({ min: 1, max: 200 }),
        async (messages, tokensMax) => {
          let number = 1_000;
          const sources = sourcesOf(
            ...messages.map(({ role, sentences }): ["user" | "assistant", string] => [
              role,
              sentences.map((sentence) => `Note ${number++} on ${sentence}.`).join("\n\n"),
            ]),
          );
          const request = requestOf(sources, { tokensMax });
          const { text } = await summarize(request);
          expect(request.countTokens(text)).toBeLessThanOrEqual(tokensMax);
          const whole = oneLine(sources.map((source) => source.text).join(" "));
          const said = text.split("\n").filter((line) => !/^files[:…]/.test(line));
          const places = said.map((line) => whole.indexOf(line.replace(/^user: /, "").replace(/…$/, "")));
          expect(places).not.toContain(-1);
          if (text.length > 40) expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
          linesMax = Math.max(linesMax, said.length);
        },
      ),
    );
    expect(linesMax).toBeGreaterThan(8);
  });
});
