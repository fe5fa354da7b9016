import { describe, expect, test } from "vitest";
import { searchStem, searchWords } from "../../../src/models/search-words.ts";
import { passageOf } from "../../../src/recall/passage.ts";

function passage(text: string, query: string, isPrinted = false): string {
  return passageOf(text, isPrinted, new Map(searchWords(query).map((word) => [searchStem(word), 1]))).text;
}

const filler = (count: number): string => Array(count).fill("The gull sits on the pier.").join("\n\n");

describe("of what was said", () => {
  test("is the sentence that has the words, from its beginning, and what follows it", () => {
    const text = `${filler(20)}\n\nGreat! The region is eu-west. It is near the users.\n\n${filler(20)}`;
    expect(passage(text, "which region")).toMatch(/^The region is eu-west\. It is near the users\. The gull/);
  });

  test("is the sentence before a block of code rather than the block", () => {
    const text = `${filler(20)}\nThe lease takes a minute:\n\`\`\`ts\nconst lease = takeLease(minute);\n\`\`\`\n${filler(20)}`;
    expect(passage(text, "lease takeLease minute")).toMatch(/^The lease takes a minute: const lease/);
  });

  test("has the beginning of what its last line announces", () => {
    const text = `The proposal for the lease:\n\nA minute ${"is enough for every gull ".repeat(20)}.\n\n${filler(20)}`;
    expect(passage(text, "proposal lease")).toMatch(/^The proposal for the lease: A minute is enough .*…$/);
    expect(passage(text, "proposal lease").length).toBeLessThanOrEqual(240);
    const bold = text.replace("The proposal for the lease:", "**租约 proposal of the lease：**");
    expect(passage(bold, "proposal lease")).toContain("A minute is enough");
    // Of what is printed, the next line that matches is not announced.
    const printed = `lease one\nother:\nxx\nyy\nzz\nlease ${"word ".repeat(60)}`;
    expect(passage(printed, "lease", true)).toBe("lease one other:");
  });

  test("is not what the agent is about to do if it says what came out", () => {
    const text = `Let me check the region of the lease now.\n\n${filler(20)}\n\nThe region of the lease is eu-west.`;
    expect(passage(text, "region of the lease")).toBe("The region of the lease is eu-west.");
  });

  test("is a part of a sentence that is too long", () => {
    const words = "gull ".repeat(200);
    expect(passage(`${words}lease ${words}`, "lease")).toMatch(/^… gull.* lease gull.* …$/);
  });

  test("is the beginning if nothing matches, and empty for an empty text", () => {
    expect(passage(filler(20), "lease")).toMatch(/^The gull sits on the pier\. The gull/);
    expect(passage("", "lease")).toBe("");
  });
});

describe("of what was printed", () => {
  test("are the lines that match and the ones after them, without line numbers", () => {
    const lines = Array.from({ length: 60 }, (_, at) => `  ${at + 1}→gull ${at}`);
    lines[20] = "    21→[remote]";
    lines[40] = "    41→remote = lease";
    expect(passage(lines.join("\n"), "remote lease", true)).toBe("[remote] gull 21 … remote = lease gull 41");
  });

  test("has neither JSON nor what the agent wrote around the output", () => {
    const output = "one\nlease is taken\ntwo";
    expect(passage(JSON.stringify({ output, metadata: { exit_code: 1 } }), "lease", true)).toBe("lease is taken two");
    const headed = `Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\n${output}`;
    expect(passage(headed, "lease", true)).toBe("lease is taken two");
    expect(passage(JSON.stringify([{ name: "lease", state: "taken" }]), "lease", true)).toBe(
      "name: lease state: taken",
    );
    expect(passage('{"output":"one\\nthe \\"lease\\"\\ntwo', "lease", true)).toBe('the "lease" two');
  });

  test("has no marks of a diff", () => {
    const diff = "diff --git a/lease.ts b/lease.ts\n@@ -1,2 +1,2 @@\n-const lease = 1;\n+const lease = 60;\n";
    expect(passage(diff, "lease", true)).toBe("const lease = 1; const lease = 60;");
  });
});

test("the words of the query are marked in it", () => {
  const { text, marks } = passageOf("The **lease** ends. Leases end.", false, new Map([["leas", 1]]));
  expect(marks.map(([from, to]) => text.slice(from, to))).toEqual(["lease", "Leases"]);
});
