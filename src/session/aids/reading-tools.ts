import * as z from "zod/mini";
import { StoreError } from "../../core/errors.ts";
import { messageIdOf } from "../../core/handle.ts";
import { jsonSchemaOf } from "../../core/json-schema.ts";
import { escapeText } from "../../core/markup.ts";
import type { ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { parseArguments } from "../../core/schema.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import type { Store } from "../store.ts";
import { contextPage } from "./context-page.ts";
import { CONTEXT_INPUT, EXPAND_INPUT, limitOf, RECALL_INPUT } from "./inputs.ts";
import { nothingFound } from "./recall-notes.ts";
import { hitsPage, membersPage, pageAround, type ResultBudget, sliceOfMessage } from "./result-pages.ts";
import { visibleSession } from "./visible-session.ts";

const HITS_MAX = 20;
const HITS_DEFAULT = 8;

const PAGE_MAX = 100;

const RECALL = z.extend(z.pick(RECALL_INPUT, { query: true }), { limit: limitOf(HITS_DEFAULT, HITS_MAX) });
const CONTEXT = z.omit(CONTEXT_INPUT, { strategy: true });
const EXPAND = z.omit(EXPAND_INPUT, { limit: true, seqFrom: true });

/** A tool that reads the store for a model. Its result is text, in which past messages are quoted. */
export interface ReadingTool {
  name: string;
  description: string;
  /** The JSON Schema of the object of arguments. */
  schema: object;
  run(args: unknown, call: ToolRun): Promise<string>;
}

interface ToolRun extends ToolPorts {
  budget: ResultBudget;
  signal: AbortSignal;
}

const recall: ReadingTool = {
  name: "recall",
  description:
    "Find earlier messages, of this conversation and of others, that answer a question or have certain words. Use it whenever the context does not show what was said.",
  schema: jsonSchemaOf(RECALL, "input"),
  run: recalled,
};

const expand: ReadingTool = {
  name: "expand",
  description: "Read the exact messages behind a handle of the context, or around a message.",
  schema: jsonSchemaOf(EXPAND, "input"),
  run: expanded,
};

const context: ReadingTool = {
  name: "context",
  description:
    "Read one session within a budget: quotes of what is old, its newest messages word for word, and messages that answer a query. Use it to continue an earlier conversation.",
  schema: jsonSchemaOf(CONTEXT, "input"),
  run: async (args, { store, project, budget }) => {
    const { sessionId, ...options } = parseArguments(CONTEXT, args);
    return contextPage(store, visibleSession(store, sessionId, project), options, budget).text;
  },
};

export const READING_TOOLS: readonly ReadingTool[] = [recall, expand, context];

export interface ToolPorts {
  store: Store;
  tokenCounter: TokenCounter;
  /** The only project that is read; undefined for all projects. */
  project: string | undefined;
}

/**
 * Runs a call of one of the tools. If the call is wrong, the result tells the model how to correct it.
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
    const tool = READING_TOOLS.find((one) => one.name === name);
    if (tool === undefined) {
      const named = typeof name === "string" ? `"${name}"` : `whose name is of type ${typeof name}`;
      throw new CallError(
        `There is no tool ${named}. The tools are: ${READING_TOOLS.map((one) => one.name).join(", ")}.`,
      );
    }
    const budget = { tokensMax, tokenCounter: ports.tokenCounter };
    return { ...result, content: await tool.run(call.args, { ...ports, budget, signal }) };
  } catch (error) {
    if (!(error instanceof CallError) && !isBadCall(error)) throw error;
    const hint = StoreError.is(error) && error.hint !== undefined ? ` ${error.hint}` : "";
    return { ...result, content: escapeText(error.message + hint), isError: true };
  }
}

class CallError extends Error {}

function isBadCall(error: unknown): error is StoreError {
  const codes = [
    "HANDLE_INVALID",
    "ROOT_NOT_FOUND",
    "MESSAGE_NOT_FOUND",
    "SESSION_NOT_FOUND",
    "OPTION_INVALID",
    "QUERY_EMPTY",
    "BUDGET_TOO_SMALL",
  ] as const;
  return codes.some((code) => StoreError.is(error, code));
}

async function recalled(args: unknown, { store, project, budget, signal }: ToolRun): Promise<string> {
  const { query, limit = HITS_DEFAULT } = parseArguments(RECALL, args);
  const found = await store.recall(query, { limit, neighbors: 0, signal, ...(project !== undefined && { project }) });
  if (found.length === 0) return `${nothingFound(query)} Other words may find it.`;
  const pointer = (): string => "Search with other words to see these.";
  return hitsPage(found, store, { beyond: 0, pointer }, budget).text;
}

async function expanded(args: unknown, { store, project, budget }: ToolRun): Promise<string> {
  const { target, level, offset: skipped, from } = parseArguments(EXPAND, args);
  const scope = project === undefined ? {} : { project };
  if (from !== undefined) return piece(target, from, budget, store, scope);
  const page = { ...scope, limit: PAGE_MAX, ...(skipped !== undefined && { offset: skipped }) };
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

function piece(target: string, from: number, budget: ResultBudget, store: Store, scope: { project?: string }): string {
  const { members } = store.expand(target, { level: "step", ...scope });
  const message = members.find(({ id }) => id === messageIdOf(target));
  const text = message && sliceOfMessage(message, from, budget)?.line;
  if (text === undefined) throw new CallError(`${target} has no text from character ${from} on.`);
  return text;
}
