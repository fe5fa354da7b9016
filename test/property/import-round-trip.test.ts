import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toUiMessages } from "../../src/adapters/ai-sdk.ts";
import { type AnthropicConversation, toAnthropic } from "../../src/adapters/anthropic.ts";
import { type GeminiConversation, toGemini } from "../../src/adapters/gemini.ts";
import { toLlxprt } from "../../src/adapters/llxprt.ts";
import { type AnyMessage, toOpenai } from "../../src/adapters/openai.ts";
import { aiSdk } from "../../src/importers/ai-sdk.ts";
import { claudeCode } from "../../src/importers/claude-code/importer.ts";
import { codex } from "../../src/importers/codex/importer.ts";
import { geminiCli } from "../../src/importers/gemini-cli/importer.ts";
import type { Importer } from "../../src/importers/importer.ts";
import { jsonl } from "../../src/importers/jsonl.ts";
import { llxprt } from "../../src/importers/llxprt.ts";
import { openai } from "../../src/importers/openai.ts";
import { opencode } from "../../src/importers/opencode/importer.ts";
import type { MessageInput, Store } from "../../src/index.ts";
import { base64, type Carried, conversations, json, jsonObject, words } from "../support/adapter-arbitraries.ts";
import {
  claudeCodeFile,
  claudeCodeFileOf,
  codexFileOf,
  geminiCliFile,
  geminiCliFileOf,
  llxprtFile,
  opencodeFileOf,
} from "../support/agent-files.ts";
import { anthropicConversations } from "../support/anthropic-messages.ts";
import { runs, seenIn } from "../support/effort.ts";
import { geminiConversations } from "../support/gemini-contents.ts";
import { llxprtConversations } from "../support/llxprt-contents.ts";
import { openaiConversations } from "../support/openai-messages.ts";
import { temporaryStore } from "../support/temporary-store.ts";
import { uiChats } from "../support/ui-messages.ts";
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
        const { stored } = await imported(store, importer, fileOf(messages));
        expect(compared(stored.map(plain))).toEqual(compared(messages.map(plain)));
        sizeMax = Math.max(sizeMax, stored.length);
      }),
      { numRuns: runs(40) },
    );
    expect(sizeMax).toBeGreaterThan(seenIn(8));
  });
});

const WITHOUT_TEXT = { role: "assistant", block: { type: "text", text: "[no text]" } };

/** What a provider has, in a file of the program that keeps it, and what it gets back from a context. */
const KEEPERS: Record<
  string,
  {
    importer: Importer;
    theirs: fc.Arbitrary<unknown>;
    fileOf(theirs: never): string;
    back(ours: readonly AnyMessage[]): unknown;
    told?(theirs: never): unknown;
  }
> = {
  Anthropic: {
    importer: claudeCode,
    // What stands beside role and content in a line's message is what Claude Code says of it.
    theirs: anthropicConversations.map(({ messages }) => ({
      messages: messages.map(({ role, content }) => ({ role, content })),
    })),
    fileOf: claudeCodeFile,
    // Each line is a message, and so each block; of a thought alone the context says that it has no text.
    back: (ours) => blocksIn(toAnthropic(ours)).filter((block) => !isDeepStrictEqual(block, WITHOUT_TEXT)),
    told: blocksIn,
  },
  Gemini: {
    importer: geminiCli,
    theirs: geminiConversations.map(withIds),
    fileOf: geminiCliFile,
    // Records say which contents there were once; each call of one is a message.
    back: (ours) => partsIn(toGemini(ours)),
    told: partsIn,
  },
  "llxprt-code": {
    importer: llxprt,
    theirs: llxprtConversations.map(({ contents }) => ({ contents })),
    fileOf: llxprtFile,
    back: toLlxprt,
  },
  OpenAI: { importer: openai, theirs: openaiConversations, fileOf: JSON.stringify, back: toOpenai },
  "the AI SDK's page": { importer: aiSdk, theirs: uiChats, fileOf: JSON.stringify, back: toUiMessages },
};

/**
 * Goal: an imported session goes back to its provider as it was, to the last field.
 * Method: random conversations of the provider's, with blocks and fields that nobody knows, in the agent's file, imported,
 * rendered and translated back.
 */
describe("a context of an imported session gives back what was said by", () => {
  test.each(Object.entries(KEEPERS))("%s", async (_, { importer, theirs, fileOf, back, told }) => {
    const store = temporaryStore();
    let sizeMax = 0;
    await fc.assert(
      fc.asyncProperty(theirs, async (conversation) => {
        const { context } = await imported(store, importer, fileOf(conversation as never));
        expect(back(context)).toEqual(told === undefined ? conversation : told(conversation as never));
        sizeMax = Math.max(sizeMax, context.length);
      }),
      { numRuns: runs(40) },
    );
    expect(sizeMax).toBeGreaterThan(seenIn(5));
  });
});

/** The one session in a file: what the store holds of it, and its context. */
async function imported(store: Store, importer: Importer, file: string) {
  const events = await eventsOf(importer, file);
  expect(warningsIn(events)).toEqual([]);
  expect(sessionsIn(events)).toHaveLength(1);
  const session = store.session(undefined, { hotSize: 1_000 });
  session.appendAll(messagesIn(events));
  const stored = session.messages({ seqFrom: 0, seqTo: 999 });
  const { messages: context } = session.render({ strategy: "full", tokensMax: 10_000_000 });
  return { stored, context };
}

interface Said {
  role: string;
  parts: readonly object[];
}

function plain({ role, parts }: AnyMessage | MessageInput): Said {
  return { role, parts: parts! };
}

/** Every part by itself, each result behind its call. */
function inPieces(messages: readonly Said[]): object[] {
  const pieces = messages.flatMap(({ role, parts }) => parts.map((part) => ({ role, part })));
  return behindCalls(pieces, ({ part }) => {
    const { type, toolCallId } = part as { type: string; toolCallId?: string };
    return {
      calls: type === "tool_call" ? toolCallId : undefined,
      answers: type === "tool_result" ? toolCallId : undefined,
    };
  });
}

function blocksIn({ messages }: AnthropicConversation): object[] {
  const blocks = messages.flatMap(({ role, content }) =>
    [content].flat().map((block): { role: string; block: unknown } => ({ role, block })),
  );
  return behindCalls(blocks, ({ block }) => {
    const { type, id, tool_use_id } = block as { type?: string; id?: string; tool_use_id?: string };
    return { calls: type === "tool_use" ? id : undefined, answers: type === "tool_result" ? tool_use_id : undefined };
  });
}

/** A file behind a response is of it. */
function partsIn({ contents }: GeminiConversation): object[] {
  const parts = contents.flatMap(({ role, parts = [] }) => parts.map((part) => ({ role, part })));
  let answered: string | undefined;
  return behindCalls(parts, ({ part }) => {
    const isFile = part.inlineData !== undefined || part.fileData !== undefined;
    answered = part.functionResponse?.id ?? (isFile ? answered : undefined);
    return { calls: part.functionCall?.id, answers: answered };
  });
}

/** The pieces in their order, but each answer directly behind the last call with its id and what has answered that before. */
function behindCalls<Piece>(
  pieces: readonly Piece[],
  idsOf: (piece: Piece) => { calls: string | undefined; answers: string | undefined },
): Piece[] {
  const placed: { piece: Piece; id: string | undefined }[] = [];
  for (const piece of pieces) {
    const { calls, answers } = idsOf(piece);
    const call = answers === undefined ? -1 : placed.findLastIndex(({ id }) => id === answers);
    placed.splice(call === -1 ? placed.length : call + 1, 0, { piece, id: calls ?? answers });
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

/** The CLI gives each call an id, where the model did not. */
function withIds({ contents }: GeminiConversation): GeminiConversation {
  const counts = { functionCall: 0, functionResponse: 0 };
  const identified = contents.map((content) => ({
    ...content,
    parts: content.parts!.map((part) => {
      const kind = (["functionCall", "functionResponse"] as const).find((key) => part[key] !== undefined);
      return kind === undefined ? part : { ...part, [kind]: { ...part[kind], id: `c${counts[kind]++}` } };
    }),
  }));
  return { contents: identified };
}
