import { describe, expect, test } from "vitest";
import { markdownRoles } from "../../../src/importers/markdown-roles.ts";
import { eventsOf, eventsSoFar, messagesIn, sessionsIn, warningsIn } from "./read.ts";

const read = (content: string) => eventsOf(markdownRoles, content);

async function saidBy(content: string): Promise<[string, string][]> {
  return messagesIn(await read(content)).map(({ role, parts }) => [
    role,
    String((parts![0] as { text?: unknown }).text),
  ]);
}

describe("a conversation in Markdown", () => {
  test.each([
    ["## User\n\nHi.\n\n## Assistant\n\nHello.\n\n## User\n\nBye.\n"],
    ["**User:** Hi.\n\n**Assistant:** Hello.\n\n**User:** Bye.\n"],
    [
      "---\ntitle: x\n---\n# A chat\n\n> exported\n\n**You**\n\nHi.\n\n---\n\n**Cursor**\n\nHello.\n\n---\n\n**You**\n\nBye.\n",
    ],
    ["### 👤 Human:\r\nHi.\r\n### 🤖 Claude:\r\nHello.\r\n### 👤 Human:\r\nBye.\r\n"],
  ])("has a message for each time that someone speaks: %j", async (content) => {
    expect(markdownRoles.detect(content)).toBe(true);
    expect(await saidBy(content)).toEqual([
      ["user", "Hi."],
      ["assistant", "Hello."],
      ["user", "Bye."],
    ]);
  });

  test("is read to headings in its own form, outside code, with its title and times", async () => {
    const content =
      "# The lamp\n\n## System\nBe brief.\n## User (2026-03-05T09:00:00Z)\nWhy?\n```\n## Assistant\n```\n**User:** is a label.\n" +
      "## Assistant (2026-03-05T09:00:04Z)\n### User\nThe relay.\n";
    expect(markdownRoles.detect(content)).toBe(true);
    const events = await read(content);
    expect(sessionsIn(events)).toMatchObject([{ source: "markdown", title: "The lamp" }]);
    expect(await saidBy(content)).toEqual([
      ["system", "Be brief."],
      ["user", "Why?\n```\n## Assistant\n```\n**User:** is a label."],
      ["assistant", "### User\nThe relay."],
    ]);
    expect(messagesIn(events)[1]!.createdAt).toBe(Date.UTC(2026, 2, 5, 9));
  });

  test("whose last message may go on is read without it", async () => {
    const events = await eventsSoFar(markdownRoles, Buffer.from("## User\nHi.\n## Assistant\nHello.\n"));
    expect(messagesIn(events)).toHaveLength(1);
    expect(warningsIn(events)).toHaveLength(1);
  });

  test.each([
    "# A library\n\nIt has two classes.\n\n## User\n\nA person.\n\n## Assistant\n\nA program.\n",
    "## User\n\nA person.\n\n## Order\n\nWhat they buy.\n",
    "## Assistant\n\nHello.\n\n## User\n\nHi.\n",
    "## User\n\n## User\n\n## Assistant\n",
    "```\n## User\n## Assistant\n```\n",
  ])("is not any page: %j", (content) => {
    expect(markdownRoles.detect(content)).toBe(false);
  });
});
