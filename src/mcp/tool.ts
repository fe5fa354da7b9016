import type { CallToolResult, ListToolsResult, McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import { jsonSchemaOf } from "../core/json-schema.ts";
import { type ObjectSchema, parseArguments, whole } from "../core/schema.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { type ListRemainder, RECORD_NOTE, type ResultBudget } from "../session/aids/result-pages.ts";
import { failedCall } from "./failure.ts";
import type { LiveStore, StoreOfCall } from "./live-store.ts";

/** The limits of `tokensMax`: a few messages, and a short book. */
export const TOKENS_MAX = 100_000;
export const TOKENS_MIN = 200;

export interface ToolPorts {
  live: LiveStore;
  /** The only visible project. Undefined if all are visible. */
  project: string | undefined;
  /** Replaces secrets by placeholders. */
  redact: (text: string) => Promise<string>;
}

export interface ToolCall {
  live: StoreOfCall;
  project: string | undefined;
  redact: (text: string) => Promise<string>;
  /** The name of the program that calls. */
  client: string | undefined;
  budget: ResultBudget;
  signal: AbortSignal;
}

/** `text` is for clients that show their model only text. */
export interface ToolAnswer<Value> {
  value: Value;
  text: string;
}

export interface Tool<Input extends object = object, Value extends object = object> {
  name: string;
  title: string;
  /** Tells the model when to use the tool, what it returns, and what to call next. */
  description: string;
  input: ObjectSchema & z.ZodMiniType<Input>;
  output: z.ZodMiniType<Value>;
  /** The most tokens of a result if the caller gives none. */
  tokensMaxDefault: number;
  writes?: boolean;
  /** True for a tool that programs call. Models are not told of it. */
  isUnlisted?: boolean;
  run(input: Input, call: ToolCall): ToolAnswer<Value> | Promise<ToolAnswer<Value>>;
}

// biome-ignore lint/suspicious/noExplicitAny: only the tool knows its own input and output.
export type AnyTool = Tool<any, any>;

type ListedSchema = ListToolsResult["tools"][number]["inputSchema"];

/** Registers tools, and lists those for models. */
export function registerTools(server: McpServer, tools: readonly AnyTool[], ports: ToolPorts): void {
  for (const tool of tools) registerTool(server, tool, ports);
  const listed = tools
    .filter(({ isUnlisted }) => isUnlisted !== true)
    .map((tool) => ({
      ...factsOf(tool),
      name: tool.name,
      inputSchema: jsonSchemaOf(inputOf(tool, ports.project), "input") as ListedSchema,
      outputSchema: jsonSchemaOf(tool.output, "output") as ListedSchema,
    }));
  server.server.setRequestHandler("tools/list", () => ({ tools: listed }));
}

function factsOf({ title, description, writes = false }: AnyTool) {
  const hints = { readOnlyHint: !writes, destructiveHint: false, idempotentHint: !writes, openWorldHint: false };
  return { title, description, annotations: { title, ...hints } };
}

/** Registers a tool. A failed call is answered with the tool's error, never with a protocol error. */
function registerTool(server: McpServer, tool: AnyTool, { live, project, redact }: ToolPorts): void {
  const { name, output, tokensMaxDefault } = tool;
  const input = inputOf(tool, project);
  const config = {
    ...factsOf(tool),
    inputSchema: standardSchema(input, (value) => ({ value })),
    outputSchema: standardSchema(output),
  };
  server.registerTool(name, config, async (args, { mcpReq: { signal } }): Promise<CallToolResult> => {
    try {
      const { tokensMax = tokensMaxDefault, ...asked } = parseArguments(input, args ?? {}) as { tokensMax?: number };
      const budget = { tokensMax, tokenCounter: estimatingTokenCounter };
      const client = server.server.getClientVersion()?.name;
      const call = { live: live.of(signal), project, redact, client, budget, signal };
      const { value, text } = await tool.run(asked, call);
      return { content: [{ type: "text", text }], structuredContent: value };
    } catch (error) {
      if (signal.aborted) throw error; // nobody waits for the answer
      return failedCall(error);
    }
  });
}

/** Adds `tokensMax`, and leaves out `project` if only one is visible. */
function inputOf({ input, tokensMaxDefault, writes }: AnyTool, project: string | undefined): ObjectSchema {
  const own = project !== undefined && "project" in input.shape ? z.omit(input, { project: true }) : input;
  if (writes) return own;
  const meaning = `Of the answer; ${tokensMaxDefault} if left out`;
  return z.extend(own, { tokensMax: z.optional(whole(TOKENS_MIN, TOKENS_MAX)).check(z.describe(meaning)) });
}

/** Without `validate`, the schema checks the value. The tool checks its own input, to explain errors in the library's words. */
function standardSchema(
  schema: z.ZodMiniType,
  validate: StandardSchemaWithJSON["~standard"]["validate"] = schema["~standard"].validate,
): StandardSchemaWithJSON {
  const jsonSchema = {
    input: (): Record<string, unknown> => jsonSchemaOf(schema, "input"),
    output: (): Record<string, unknown> => jsonSchemaOf(schema, "output"),
  };
  return { "~standard": { version: 1, vendor: "zod", jsonSchema, validate } };
}

export const PAGE = {
  note: z.string(),
  left: z.int().check(z.describe("The number of items after these")),
  nextOffset: z.exactOptional(z.int()).check(z.describe("The offset of the next page; left out at the end")),
};

/** `count` is the length of the list, and `left` the number of items after the page. */
export function pageFacts(left: number, count: number) {
  return { note: RECORD_NOTE, left, ...(left > 0 && { nextOffset: count - left }) };
}

/**
 * Describes the rest of a list, which the model gets by calling the tool again.
 *
 * @param count  The number of items in the list. If it is not known (`isCounted` is false), one more item than was asked for
 *   shows that there are more.
 */
export function restOfList(tool: string, offset: number, count: number, { isCounted = true } = {}): ListRemainder {
  const more = isCounted ? "" : "There are at least this many more. ";
  const pointer = (left: number): string => `${more}Continue with ${tool} at offset ${count - left}.`;
  return { beyond: Math.max(0, count - offset), pointer };
}
