import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { toUiMessages } from "../../src/adapters/ai-sdk.ts";
import { toAnthropic } from "../../src/adapters/anthropic.ts";
import { toGemini } from "../../src/adapters/gemini.ts";
import { toLlxprt } from "../../src/adapters/llxprt.ts";
import { type AnyMessage, toOpenai } from "../../src/adapters/openai.ts";
import { openImport } from "../../src/importers/registry.ts";
import type { MessageInput } from "../../src/index.ts";
import { temporaryStore } from "../support/temporary-store.ts";
import { collect, fileOf } from "../unit/importers/read.ts";
import { sampleOf } from "./importer-samples.ts";

type Fields = Record<string, unknown>;

interface Kept {
  sample: string;
  /** What is the provider's in a line of the file, or in all of it, found without the importer. */
  told(line: Fields): unknown[];
  /** The same of a request. */
  sent(context: readonly AnyMessage[]): unknown[];
}

const KEPT: Record<string, Kept> = {
  "Claude Code": {
    sample: "claude-code/3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f.jsonl",
    told: ({ type, message }) => (type === "user" || type === "assistant" ? blocksIn((message as Fields).content) : []),
    sent: (context) => toAnthropic(context).messages.flatMap(({ content }) => blocksIn(content)),
  },
  "Gemini CLI": {
    sample: "gemini-cli/session-2026-03-04T10-00-5d0c7e1a.jsonl",
    told({ type, content, toolCalls = [] }) {
      if (type !== "user" && type !== "gemini") return [];
      const answers = (toolCalls as Fields[]).flatMap(({ result }) => result ?? []);
      return [...(typeof content === "string" ? [{ text: content }] : (content as unknown[])), ...answers];
    },
    sent: (context) => toGemini(context).contents.flatMap(({ parts }) => parts),
  },
  "llxprt-code": {
    sample: "llxprt/session-2026-03-05T09-00-00-b1c2d3e4.jsonl",
    told: ({ type, payload }) => (type === "content" ? ((payload as Fields).content as { blocks: [] }).blocks : []),
    sent: (context) => toLlxprt(context).contents.flatMap(({ blocks }) => blocks),
  },
  OpenAI: {
    sample: "openai/request.json",
    told: ({ messages }) => messages as unknown[],
    sent: toOpenai,
  },
  "the AI SDK": {
    sample: "ai-sdk/chat.json",
    // Those of version 4 come back in the shape of later ones, and a call that waits comes back interrupted.
    told: (chat) =>
      (chat as unknown as unknown[]).filter((message) => {
        return !/tool-invocation|input-available/.test(JSON.stringify(message));
      }),
    sent: toUiMessages,
  },
};

/**
 * Goal: who goes on with an imported session sends the provider its own blocks: signatures, structured and failed results,
 * images, and what we do not know.
 * Method: look in the file for what is the provider's, and in the request for each piece of it.
 */
describe("a context of what was imported holds the provider's own", () => {
  test.each(Object.entries(KEPT))("%s", async (_, { sample, told, sent }) => {
    const text = readFileSync(sampleOf(sample), "utf8");
    const lines: Fields[] = sample.endsWith(".json")
      ? [JSON.parse(text)]
      : text
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line));
    const wanted = lines.flatMap(told).filter((piece) => (piece as Fields).text !== "");
    const store = temporaryStore();
    const messages = new Map<string, MessageInput[]>();
    for (const event of await collect((await openImport(fileOf(text))).events)) {
      if (event.kind === "session") messages.set(event.session.externalId, []);
      else if (event.kind === "message") messages.get(event.session)!.push(event.message);
    }
    const found = [...messages.values()].flatMap((inSession) => {
      const session = store.session(undefined, { hotSize: 1_000 });
      session.append(inSession);
      return sent(session.render({ strategy: "full", tokensMax: 10_000_000 }).messages);
    });
    expect(wanted.length).toBeGreaterThan(3);
    expect(found).toEqual(expect.arrayContaining(wanted));
  });
});

function blocksIn(content: unknown): unknown[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content as unknown[]);
}
