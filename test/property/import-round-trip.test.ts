import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toUiMessages } from "../../src/adapters/ai-sdk.ts";
import { toLlxprt } from "../../src/adapters/llxprt.ts";
import { type AnyMessage, toOpenai } from "../../src/adapters/openai.ts";
import { wellFormed } from "../../src/core/well-formed.ts";
import { aiSdk } from "../../src/importers/ai-sdk.ts";
import { claudeCode } from "../../src/importers/claude-code/importer.ts";
import { codex } from "../../src/importers/codex/importer.ts";
import { geminiCli } from "../../src/importers/gemini-cli/importer.ts";
import type { Importer } from "../../src/importers/importer.ts";
import { jsonl } from "../../src/importers/jsonl.ts";
import { llxprt } from "../../src/importers/llxprt.ts";
import { openai } from "../../src/importers/openai.ts";
import { opencode } from "../../src/importers/opencode/importer.ts";
import type { Message, MessageInput, Store } from "../../src/index.ts";
import { base64, type Carried, conversations, json, jsonObject, words } from "../support/adapter-arbitraries.ts";
import { claudeCodeFileOf, codexFileOf, geminiCliFileOf, llxprtFile, opencodeFileOf } from "../support/agent-files.ts";
import { runs, seenIn } from "../support/effort.ts";
import { temporaryStore } from "../support/temporary-store.ts";
import { eventsOf, messagesIn, sessionsIn, warningsIn } from "../unit/importers/read.ts";

const image = fc.record({ type: fc.constant("file" as const), mediaType: fc.constant("image/webp"), data: base64 });
const returned = fc.record({
  type: fc.constant("data" as const),
  data: jsonObject.map((value) => ({ ...value, status: 0, code: 1 })),
});
const plainResult = fc.record({ content: words });
const failure = fc.record({ content: words, isError: fc.constant(true) });
const structured = fc.record({ content: fc.tuple(returned) });
const seen = fc.record({ content: fc.tuple(fc.record({ type: fc.constant("text" as const), text: words }), image) });
const thought = (own: object) => words.map((text) => ({ type: "reasoning" as const, text, ...own }));

interface Carrier {
  importer: Importer;
  /** Our messages in a file of the agent's. */
  fileOf(ours: readonly MessageInput[]): string;
  /** What such a file can carry of ours, so that it comes back equal. */
  carried: Pick<Carried, "args" | "result" | "resultNames"> & Partial<Carried>;
  hasSystem?: boolean;
  /** Its calls have ids of their own in the whole session. */
  hasUniqueIds?: boolean;
  /** Its file holds pieces of messages, which come back as messages. */
  isPiecewise?: boolean;
}

const CARRIERS: Record<string, Carrier> = {
  "Claude Code": {
    importer: claudeCode,
    isPiecewise: true,
    fileOf: claudeCodeFileOf,
    carried: {
      thought: thought({ anthropic: { signature: "c2ln" } }),
      args: jsonObject,
      result: fc.oneof(plainResult, failure, seen),
      resultNames: false,
    },
  },
  "Gemini CLI": {
    importer: geminiCli,
    isPiecewise: true,
    fileOf: geminiCliFileOf,
    carried: {
      thought: thought({ gemini: { thought: true, coppice: { as: "thought" } } }),
      args: jsonObject,
      result: fc.oneof(plainResult, failure, structured, seen),
      resultNames: true,
    },
  },
  "llxprt-code": {
    importer: llxprt,
    fileOf: (ours) => llxprtFile(toLlxprt(ours)),
    carried: {
      thought: thought({ llxprt: { signature: "c2ln" } }),
      args: json,
      result: fc.oneof(plainResult, failure, structured),
      resultNames: true,
    },
  },
  OpenAI: {
    importer: openai,
    fileOf: (ours) => JSON.stringify({ messages: toOpenai(ours) }),
    carried: {
      thought: thought({ openai: { coppice: { field: "reasoning_content" } } }),
      args: json,
      result: plainResult,
      resultNames: false,
    },
    hasSystem: true,
  },
  "AI SDK": {
    importer: aiSdk,
    fileOf: (ours) => JSON.stringify(toUiMessages(ours)),
    carried: {
      thought: thought({ aiSdk: { providerOptions: { anthropic: { signature: "c2ln" } } } }),
      args: json,
      result: fc.oneof(plainResult, failure, structured),
      resultNames: true,
    },
    hasSystem: true,
  },
  Codex: {
    importer: codex,
    isPiecewise: true,
    fileOf: codexFileOf,
    carried: {
      thought: thought({ encrypted_content: "QQ==" }),
      args: json,
      result: plainResult,
      resultNames: false,
    },
    hasUniqueIds: true,
  },
  opencode: {
    importer: opencode,
    isPiecewise: true,
    fileOf: opencodeFileOf,
    carried: {
      thought: thought({}),
      args: json.filter((value) => value !== null),
      result: fc.oneof(plainResult, failure),
      resultNames: true,
    },
  },
  "the neutral format": {
    importer: jsonl,
    fileOf: (ours) => ours.map((message) => `${JSON.stringify({ session: "s", ...message })}\n`).join(""),
    carried: {
      thought: thought({ anthropic: { signature: "c2ln" }, anything: null }),
      args: json,
      result: fc.oneof(plainResult, failure, structured, seen),
      resultNames: true,
    },
    hasSystem: true,
  },
};

/**
 * Goal: our messages survive a journey through any agent's file: the same ones, the same pairs, in the same order.
 * Method: random conversations made of what the file can carry, written as its own program would write them, imported into
 * a store, and compared whole. Ids of calls come again from step to step, where the agent's do.
 */
describe("our messages come back from a file of", () => {
  test.each(Object.entries(CARRIERS))("%s", async (_, carrier) => {
    const { importer, fileOf, carried, hasSystem, hasUniqueIds, isPiecewise } = carrier;
    const compared = isPiecewise ? inPieces : (messages: readonly Said[]): readonly object[] => messages;
    const store = temporaryStore();
    let sizeMax = 0;
    const ours = conversations({ userPart: image, resultsApart: true, systemTexts: 1, ...carried });
    await fc.assert(
      fc.asyncProperty(ours, fc.boolean(), async (conversation, isRepeating) => {
        const said = conversation.filter(({ role }) => role !== "system" || hasSystem === true);
        const messages = isRepeating && hasUniqueIds !== true ? withRepeatedIds(said) : said;
        const stored = await storedOf(store, importer, fileOf(messages));
        expect(wellFormed(compared(stored.map(plain)))).toEqual(wellFormed(compared(messages.map(plain))));
        sizeMax = Math.max(sizeMax, stored.length);
      }),
      { numRuns: runs(20) },
    );
    expect(sizeMax).toBeGreaterThan(seenIn(2));
  });
});

/** What a store holds of the one session in a file. */
async function storedOf(store: Store, importer: Importer, file: string): Promise<Message[]> {
  const events = await eventsOf(importer, file);
  expect(warningsIn(events)).toEqual([]);
  expect(sessionsIn(events)).toHaveLength(1);
  const session = store.session(undefined, { hotSize: 1_000 });
  session.append(messagesIn(events));
  return session.messages();
}

interface Said {
  role: string;
  parts: readonly object[];
}

function plain({ role, parts }: AnyMessage | MessageInput): Said {
  return { role, parts: parts! };
}

/** Every part by itself, but each result directly behind the last call with its id and what has answered that before. */
function inPieces(messages: readonly Said[]): object[] {
  const placed: { piece: object; id: string | undefined }[] = [];
  for (const { role, parts } of messages) {
    for (const part of parts) {
      const { type, toolCallId } = part as { type: string; toolCallId?: string };
      const call = type === "tool_result" ? placed.findLastIndex(({ id }) => id === toolCallId) : -1;
      placed.splice(call === -1 ? placed.length : call + 1, 0, { piece: { role, part }, id: toolCallId });
    }
  }
  return placed.map(({ piece }) => piece);
}

/** As many providers have them: the first call of each step is `call_0`. */
function withRepeatedIds(messages: readonly MessageInput[]): MessageInput[] {
  let ids = new Map<unknown, string>();
  return messages.map((message) => {
    if (message.role === "assistant") ids = new Map();
    const parts = message.parts!.map((part) => {
      const { toolCallId } = part;
      if (part.type === "tool_call") ids.set(toolCallId, `call_${ids.size}`);
      return toolCallId === undefined ? part : { ...part, toolCallId: ids.get(toolCallId) };
    });
    return { ...message, parts } as MessageInput;
  });
}
