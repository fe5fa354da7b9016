import { describe, expect, test } from "vitest";
import { chatgpt } from "../../../src/importers/chatgpt.ts";
import { claudeAi } from "../../../src/importers/claude-ai.ts";
import type { Importer } from "../../../src/importers/importer.ts";
import { slow } from "../../support/effort.ts";
import { eventsOf, messagesIn, pathsIn, warningsIn } from "./read.ts";

const read = (importer: Importer, ...conversations: object[]) => eventsOf(importer, JSON.stringify(conversations));

type Fields = Record<string, unknown>;

const words = (text: string) => ({ content_type: "text", parts: [text] });

/** A node of ChatGPT's `mapping`; `parent` is its first letter's. */
function node(id: string, parent: string | null, role: string, more: Fields = {}): [string, Fields] {
  const { name = null, ...fields } = more;
  const message = { id, author: { role, name }, content: words(id), recipient: "all", create_time: 1.5, ...fields };
  return [id, { id, parent, children: [], message }];
}

function chat(...nodes: [string, Fields][]): Fields {
  const mapping = Object.fromEntries(nodes);
  for (const [id, { parent }] of nodes) (mapping[parent as string]?.children as string[] | undefined)?.push(id);
  return { conversation_id: "c", title: "Tides", create_time: 1_772_701_200.25, mapping };
}

const TWO = [node("a", null, "user"), node("b", "a", "assistant")] as const;

describe("the tree of ChatGPT", () => {
  const EDITED = [...TWO, node("c", "b", "user"), node("d", "c", "assistant"), node("e", "b", "user")] as const;

  test("begins a fork for each edited prompt and each regenerated answer", async () => {
    const again = [...EDITED, node("f", "a", "assistant"), node("g", "f", "user")] as const;
    const paths = { c: ["a", "b", "c", "d"], "c/fork-e": ["c@b", "e"] };
    expect(pathsIn(await read(chatgpt, chat(...EDITED)))).toEqual(paths);
    expect(pathsIn(await read(chatgpt, chat(...again)))).toEqual({ ...paths, "c/fork-f": ["c@a", "f", "g"] });
  });

  test("gives the same paths wherever the program stands, and in whichever order the nodes come", async () => {
    const paths = pathsIn(await read(chatgpt, chat(...EDITED)));
    const told = chat(...EDITED);
    const mapping = Object.fromEntries(Object.entries(told.mapping as Fields).reverse());
    expect(pathsIn(await read(chatgpt, { ...told, mapping, current_node: "e" }))).toEqual(paths);
  });

  test("forks behind the newest node that said something, and ends where it leads back to itself", async () => {
    const silent = node("s", "b", "system", { content: words("") });
    const silentFork = [...TWO, silent, node("c", "s", "user"), node("d", "s", "user")] as const;
    expect(pathsIn(await read(chatgpt, chat(...silentFork)))).toEqual({ c: ["a", "b", "c"], "c/fork-d": ["c@b", "d"] });
    const circle = [...TWO, node("x", "y", "user"), node("y", "x", "assistant")] as const;
    const events = await read(chatgpt, chat(...circle));
    expect(messagesIn(events).map(({ id }) => id)).toEqual(["a", "b", "y", "x"]);
  });

  slow(test)("may have 20,000 messages", async () => {
    const nodes = Array.from({ length: 20_000 }, (_, at) => node(`m${at}`, at === 0 ? null : `m${at - 1}`, "user"));
    expect(messagesIn(await read(chatgpt, chat(...nodes)))).toHaveLength(20_000);
  });
});

describe("a message of ChatGPT", () => {
  test("is a call if it goes to a tool, and what the tool says is the result", async () => {
    const code = { content_type: "code", language: "python", text: "1 + 1" };
    const events = await read(
      chatgpt,
      chat(
        ...TWO,
        node("c", "b", "assistant", { recipient: "python", content: code, metadata: { model_slug: "gpt-4o" } }),
        node("d", "c", "tool", { name: "python", content: { content_type: "execution_output", text: "2" } }),
        node("e", "d", "assistant", { recipient: "web", content: words('{"q":"tide"}') }),
        node("f", "e", "tool", { name: "web", content: { content_type: "novelty", x: 1 } }),
      ),
    );
    expect(warningsIn(events)).toEqual([]);
    expect(messagesIn(events).slice(2)).toMatchObject([
      { parts: [{ type: "tool_call", toolCallId: "c", name: "python", args: { language: "python", text: "1 + 1" } }] },
      { parts: [{ type: "tool_result", toolCallId: "c", name: "python", content: "2" }] },
      { parts: [{ type: "tool_call", toolCallId: "e", name: "web", args: { q: "tide" } }] },
      { parts: [{ toolCallId: "e", content: [{ type: "data", data: { content_type: "novelty", x: 1 } }] }] },
    ]);
    expect(messagesIn(events)[2]).toMatchObject({ createdAt: 1_500, metadata: { model: "gpt-4o" } });
  });

  test("keeps images and attachments as files, and a thought with its answer", async () => {
    const pointer = { content_type: "image_asset_pointer", asset_pointer: "sediment://file_1", width: 5 };
    const attachments = [
      { id: "file_1", name: "a.png", mime_type: "image/png" },
      { id: "file_2", name: "b.txt", mime_type: "text/plain" },
    ];
    const thought = { content_type: "thoughts", thoughts: [{ summary: "Tides", content: "hm" }] };
    const events = await read(
      chatgpt,
      chat(
        node("a", null, "user", {
          content: { content_type: "multimodal_text", parts: [pointer, "see"] },
          metadata: { attachments },
        }),
        node("b", "a", "assistant", { content: thought }),
        node("c", "b", "assistant", { content: { content_type: "reasoning_recap", content: "Thought for 8s" } }),
        node("d", "c", "assistant"),
      ),
    );
    expect(messagesIn(events).map(({ parts }) => parts)).toEqual([
      [
        { type: "file", mediaType: "image/*", url: "sediment://file_1", width: 5 },
        { type: "text", text: "see" },
        { type: "file", mediaType: "text/plain", url: "file-service://file_2", name: "b.txt" },
      ],
      [
        { type: "reasoning", text: "Tides\n\nhm" },
        { type: "text", text: "d" },
      ],
    ]);
  });

  test("that the program hides is marked, and an unreadable one is a warning", async () => {
    const profile = { content_type: "user_editable_context", user_profile: "", user_instructions: "Be brief." };
    const metadata = { is_visually_hidden_from_conversation: true };
    const events = await read(
      chatgpt,
      chat(
        node("a", null, "system"),
        node("b", "a", "user", { content: profile }),
        node("h", "b", "user", { metadata }),
        node("c", "h", "oracle"),
        node("d", "c", "user", { content: null }),
        node("e", "d", "user"),
      ),
    );
    expect(messagesIn(events).map(({ role, parts }) => [role, parts])).toEqual([
      ["user", [{ type: "text", text: "a", injected: true }]],
      ["user", [{ type: "text", text: "Be brief.", injected: true }]],
      ["user", [{ type: "text", text: "h", injected: true }]],
      ["user", [{ type: "text", text: "e" }]],
    ]);
    expect(warningsIn(events)).toEqual([
      [1, 'author.role: expected user, assistant, system or tool, got "oracle"'],
      [1, "expected a message with content"],
    ]);
  });
});

const said = (uuid: string, sender: string, parent?: string, more: Fields = {}) => ({
  uuid,
  sender,
  text: uuid,
  content: [{ type: "text", text: uuid }],
  created_at: "2026-03-05T09:00:00.000Z",
  ...(parent !== undefined && { parent_message_uuid: parent }),
  ...more,
});
const conversation = (...chat_messages: object[]) => ({ uuid: "c", name: "Tides", chat_messages });

describe("a conversation of Claude.ai", () => {
  test("is a tree if its messages name their parents, and else a list", async () => {
    const tree = [
      said("a", "human", "0"),
      said("b", "assistant", "a"),
      said("c", "assistant", "a"),
      said("d", "human", "c"),
    ];
    const paths = { c: ["a", "b"], "c/fork-c": ["c@a", "c", "d"] };
    expect(pathsIn(await read(claudeAi, conversation(...tree)))).toEqual(paths);
    const list = tree.map(({ parent_message_uuid: _, ...message }) => message);
    expect(pathsIn(await read(claudeAi, conversation(...list)))).toEqual({ c: ["a", "b", "c", "d"] });
  });

  test("splits a turn into its model calls, with results behind their calls", async () => {
    const content = [
      { type: "thinking", thinking: "hm", start_timestamp: "2026" },
      { type: "tool_use", id: "t1", name: "search", input: { q: 1 } },
      { type: "tool_use", id: null, name: "fetch", input: {} },
      { type: "tool_result", tool_use_id: null, name: "fetch", content: [{ type: "text", text: "two" }] },
      { type: "tool_result", tool_use_id: "t1", name: "search", content: "one", is_error: true },
      { type: "text", text: "done", citations: [] },
    ];
    const events = await read(claudeAi, conversation(said("a", "assistant", undefined, { content })));
    expect(messagesIn(events).map(({ id, parts }) => [id, parts])).toEqual([
      [
        "a",
        [
          { type: "reasoning", text: "hm" },
          { type: "tool_call", toolCallId: "t1", name: "search", args: { q: 1 } },
          { type: "tool_call", toolCallId: "a/call-2", name: "fetch", args: {} },
        ],
      ],
      ["a:a/call-2", [{ type: "tool_result", toolCallId: "a/call-2", name: "fetch", content: "two" }]],
      ["a:t1", [{ type: "tool_result", toolCallId: "t1", name: "search", content: "one", isError: true }]],
      ["a/1", [{ type: "text", text: "done" }]],
    ]);
  });

  test("keeps a result without content as it was imported before, an empty list", async () => {
    const content = [
      { type: "tool_use", id: "t1", name: "search", input: {} },
      { type: "tool_result", tool_use_id: "t1", content: [] },
    ];
    const events = await read(claudeAi, conversation(said("a", "assistant", undefined, { content })));
    expect(messagesIn(events)[1]?.parts).toEqual([{ type: "tool_result", toolCallId: "t1", content: [] }]);
  });

  test("keeps what was pasted or attached, and the text of older exports", async () => {
    const attachments = [
      { file_name: "", extracted_content: "pasted", file_size: 6 },
      { file_name: "a.csv", file_type: "text/csv", extracted_content: "1,2" },
    ];
    const files = [{ file_name: "b.JPG", file_uuid: "f" }];
    const events = await read(
      claudeAi,
      conversation(said("old", "human", undefined, { content: [], attachments, files })),
    );
    expect(messagesIn(events)[0]?.parts).toEqual([
      { type: "text", text: "old" },
      { type: "text", text: "pasted" },
      { type: "file", mediaType: "text/csv", name: "a.csv" },
      { type: "text", text: "1,2" },
      { type: "file", mediaType: "image/jpeg", name: "b.JPG", file_uuid: "f" },
    ]);
  });
});

test.each([
  ["chatgpt", chatgpt, chat(...TWO)],
  ["claude-ai", claudeAi, conversation(said("a", "human"), said("b", "assistant"))],
] as const)("a file of %s may hold one conversation, or one twice", async (_, importer, one) => {
  const alone = await eventsOf(importer, JSON.stringify(one, null, 1));
  expect(pathsIn(alone)).toEqual({ c: ["a", "b"] });
  expect(warningsIn(alone)).toEqual([]);
  expect(pathsIn(await read(importer, one, one))).toEqual({ c: ["a", "b"], "c#2": ["a", "b"] });
  expect(warningsIn(await read(importer, { title: "x" }, one))).toEqual([[1, "expected a conversation"]]);
});
