import * as z from "zod/mini";
import { StoreError } from "../core/errors.ts";
import { escapeText } from "../core/markup.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import { parseArguments } from "../core/schema.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { ChatTool } from "../models/chat-model.ts";
import { answersFirst } from "./answers-first.ts";
import { EXPAND_INPUT, limitOf, messageIdOf, RECALL_INPUT } from "./inputs.ts";
import { nothingFound } from "./recall-notes.ts";
import { hitsPage, membersPage, pageAround, type ResultBudget, sliceOfMessage } from "./result-pages.ts";
import { sessionNames } from "./session-name.ts";
import type { Store } from "./store.ts";

const HITS_MAX = 20;
const HITS_DEFAULT = 8;

const PAGE_MAX = 100;

const RECALL = z.extend(z.pick(RECALL_INPUT, { query: true }), { limit: limitOf("messages", HITS_DEFAULT, HITS_MAX) });
const EXPAND = z.omit(EXPAND_INPUT, { limit: true, seqFrom: true });

export const CHAT_TOOLS: readonly ChatTool[] = [
  {
    name: "recall",
    description:
      "Find earlier messages, of this conversation and of others, that answer a question or have certain words. Use it whenever the context does not show what was said.",
    schema: schemaOf(RECALL),
  },
  {
    name: "expand",
    description: "Read the exact messages behind a handle of the context, or around a message.",
    schema: schemaOf(EXPAND),
  },
];

export interface ToolPorts {
  store: Store;
  tokenCounter: TokenCounter;
  /** The project that `recall` searches; undefined for all projects. */
  project: string | undefined;
}

/**
 * Runs a tool call. If the call is wrong, the result tells the model how to correct it.
 *
 * @param tokensMax  The most tokens of the result's text. The frame around it takes about 100 more.
 * @throws the signal's reason if aborted; {StoreError} for an error of the store.
 */
export async function runTool(
  call: ToolCallPart,
  tokensMax: number,
  ports: ToolPorts,
  signal: AbortSignal,
): Promise<ToolResultPart> {
  const { toolCallId, name } = call;
  const result = { type: "tool_result", toolCallId, name } as const;
  try {
    return { ...result, content: await contentOf(call, tokensMax, ports, signal) };
  } catch (error) {
    if (!(error instanceof CallError) && !isBadCall(error)) throw error;
    const hint = StoreError.is(error) && error.hint !== undefined ? ` ${error.hint}` : "";
    return { ...result, content: escapeText(error.message + hint), isError: true };
  }
}

class CallError extends Error {}

function isBadCall(error: unknown): error is StoreError {
  const codes = ["HANDLE_INVALID", "ROOT_NOT_FOUND", "MESSAGE_NOT_FOUND", "OPTION_INVALID", "QUERY_EMPTY"] as const;
  return codes.some((code) => StoreError.is(error, code));
}

async function contentOf(
  { name, args }: ToolCallPart,
  tokensMax: number,
  { store, tokenCounter, project }: ToolPorts,
  signal: AbortSignal,
): Promise<string> {
  const budget = { tokensMax, tokenCounter };
  if (name === "recall") {
    const { query, limit = HITS_DEFAULT } = parseArguments(RECALL, args);
    const found = await store.recall(query, { limit, neighbors: 0, signal, ...(project !== undefined && { project }) });
    const hits = answersFirst(store, found);
    if (hits.length === 0) return `${nothingFound(query)} Other words may find it.`;
    const pointer = (): string => "Search with other words to see these.";
    const titles = sessionNames(
      store,
      hits.map(({ sessionId }) => sessionId),
    );
    return hitsPage(hits, titles, { beyond: 0, pointer }, budget).text;
  }
  if (name === "expand") {
    const { target, level, offset: skipped, from } = parseArguments(EXPAND, args);
    if (from !== undefined) return piece(target, from, budget, store);
    const page = { limit: PAGE_MAX, ...(skipped !== undefined && { offset: skipped }) };
    const expansion = store.expand(target, { ...page, ...(level !== undefined && { level }) });
    const { members, memberCount, offset } = expansion;
    if (members.length === 0) {
      throw new CallError(`${target} has ${memberCount} messages, so none comes after offset ${offset}.`);
    }
    const pointer = (count: number): string => `expand(${target}, offset ${memberCount - count}) goes on.`;
    const rest = { beyond: memberCount - offset - members.length, pointer };
    const messageId = skipped === undefined ? messageIdOf(target) : undefined;
    if (messageId !== undefined) return pageAround(messageId, expansion, rest, budget).text;
    return membersPage(expansion, rest, budget, offset).text;
  }
  throw new CallError(`There is no tool "${name}". The tools are: ${CHAT_TOOLS.map((tool) => tool.name).join(", ")}.`);
}

function piece(target: string, from: number, budget: ResultBudget, store: Store): string {
  const { members } = store.expand(target, { level: "step" });
  const message = members.find(({ id }) => id === messageIdOf(target));
  const text = message && sliceOfMessage(message, from, budget)?.line;
  if (text === undefined) throw new CallError(`${target} has no text from character ${from} on.`);
  return text;
}

/** Returns JSON Schema with only those keywords that every model's API knows. The descriptions still give the bounds. */
function schemaOf(schema: z.ZodMiniType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ jsonSchema: node }) => {
      delete node.minimum;
      delete node.maximum;
      delete node.maxLength;
      delete node.additionalProperties;
    },
  });
  return json;
}
