import { describe, expect, test } from "vitest";
import { textOf } from "../../../src/core/text.ts";
import { inDatabase } from "../../support/rows.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const LONG = "one line of a long output: naïve 🏴‍☠️\n".repeat(150);

describe("the text of a message, which SQLite puts together", () => {
  test.each([
    ["a plain text", "Why did the deploy fail?"],
    ["digits and spaces at the start", "12 13 and so on"],
    ["white space at both ends", "  \n a \n "],
    ["nothing", ""],
    ["a pair of surrogates at the cut", "🏴‍☠️".repeat(9_000)],
    ["half a pair", "before \ud83d after"],
    ["half a pair at the end", "before \ud83d"],
    ["half a pair at the start", "\udc00 after"],
    ["a NUL", "before \0 after"],
    ["a NUL at the start", "\0 after"],
    ["a byte order mark", "\ufeffbefore"],
    ["quotes, backslashes and controls", '"\\\u0001\u2028</script>'],
    ["a long text", LONG.repeat(3)],
    ["an artifact", LONG.repeat(10)],
    ["the note of an artifact", `artifact:sha256:${"0".repeat(64)}`],
    ["Base64", `see data:image/png;base64,${"iVBORw0KGgo".repeat(60)} and more`],
  ])("is the text of its parts: %s", (_, text) => {
    const store = temporaryStore();
    const call = { type: "tool_call", toolCallId: "c", name: "run", args: { text } } as const;
    store.session("s").append([
      { role: "user", content: text },
      {
        role: "user",
        parts: [
          { type: "text", text },
          { type: "text", text: "more" },
        ],
      },
      { role: "assistant", parts: [{ type: "text", text }, call] },
      { role: "tool", parts: [{ type: "tool_result", toolCallId: "c", content: text }] },
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [{ type: "tool_result", toolCallId: "c", content: [{ type: "text", text }] }] },
      { role: "tool", parts: [{ type: "tool_result", toolCallId: "c", content: text, text: "another" } as never] },
      { role: "user", parts: [{ type: "text", text, content: "another" } as never] },
      { role: "user", parts: [{ type: "data", data: { text } }] },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text },
          { type: "text", text },
        ],
      },
    ]);
    const stored = store.query("SELECT text FROM messages ORDER BY seq").map((row) => row.text);
    const messages = store.resume("s").messages();
    expect(stored).toEqual(messages.map(({ parts }) => textOf(parts)));
    expect(messages.map((message) => message.text)).toEqual(stored);
  });

  test("is not stored twice", () => {
    const path = temporaryPath();
    openedStore(path)
      .session("s")
      .append({ role: "user", content: LONG.slice(0, 2_000) });
    const bytes = inDatabase(path, (database) =>
      database.prepare("SELECT length(stored_text) FROM messages").pluck().get(),
    );
    expect(bytes).toBeLessThan(10);
  });

  test("is damage if it claims to share more of the first part than there is", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append({ role: "user", content: "first" });
    inDatabase(path, (database) => database.exec("UPDATE messages SET stored_text = CAST('9 ' AS BLOB)"));
    expect(store.query("SELECT text FROM messages")).toEqual([{ text: "first" }]);
    expect(() => store.session("s").messages()).toThrow("row 1 of messages is damaged");
    expect(() => [...store.export({ rows: true })]).toThrow("row 1 of messages is damaged");
  });

  test("of damaged parts is damage, and other messages can be read", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append([
      { role: "user", content: "first" },
      { role: "user", content: "second" },
    ]);
    inDatabase(path, (database) => database.exec("UPDATE messages SET parts = '[{' WHERE seq = 0"));
    expect(store.query("SELECT text FROM messages WHERE seq = 1")).toEqual([{ text: "second" }]);
    expect(store.query("SELECT count(*) AS n FROM messages WHERE text <> ''")).toEqual([{ n: 2 }]);
    expect(() => store.session("s").messages()).toThrow("row 1 of messages is damaged");
    expect(store.session("s").messages({ seqFrom: 1 })).toMatchObject([{ text: "second" }]);
  });
});
