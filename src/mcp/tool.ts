import type { CallToolResult, McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { parseInput } from "../session/inputs.ts";
import type { ResultBudget } from "../session/result-pages.ts";
import { failedCall } from "./failure.ts";
import type { LiveStore } from "./live-store.ts";

/** Most tokens of a result: a page of a book. */
const TOKENS_MAX = 100_000;
const TOKENS_MIN = 200;

/** What every tool works with. */
export interface ToolPorts {
  live: LiveStore;
  /** The only project that can be seen; every one if left out. */
  project: string | undefined;
}

/** A call, checked. */
export interface ToolCall extends ToolPorts {
  budget: ResultBudget;
  signal: AbortSignal;
}

/** What comes back: a value for programs, and the same as text for clients that show their model no values. */
export interface ToolAnswer<Value> {
  value: Value;
  text: string;
}

/** One word of what a model can do here. It translates arguments and results; it decides nothing. */
export interface Tool<Input extends object = object, Value extends object = object> {
  name: string;
  title: string;
  /** For a model: when to use it, what comes back, how to go on. */
  description: string;
  input: z.ZodObject & z.ZodType<Input>;
  output: z.ZodType<Value>;
  /** Most tokens of a result where the caller does not say. */
  tokensMaxDefault: number;
  /** Whether it only reads, as all do unless they say otherwise. */
  writes?: boolean;
  run(input: Input, call: ToolCall): ToolAnswer<Value> | Promise<ToolAnswer<Value>>;
}

// biome-ignore lint/suspicious/noExplicitAny: what its input parses to is a tool's own business.
export type AnyTool = Tool<any, any>;

/** Offer a tool. Whatever goes wrong in a call is answered as an error of the tool, never as one of the protocol. */
export function registerTool(server: McpServer, tool: AnyTool, ports: ToolPorts): void {
  const { name, title, description, output, tokensMaxDefault, writes = false } = tool;
  const input = inputOf(tool, ports.project);
  const config = {
    title,
    description,
    inputSchema: advertised(input),
    outputSchema: checked(output),
    annotations: {
      title,
      readOnlyHint: !writes,
      destructiveHint: false,
      idempotentHint: !writes,
      openWorldHint: false,
    },
  };
  server.registerTool(name, config, async (args, { mcpReq: { signal } }): Promise<CallToolResult> => {
    try {
      const { tokensMax = tokensMaxDefault, ...asked } = parseInput(input, args ?? {}) as { tokensMax?: number };
      const budget = { tokensMax, tokenCounter: estimatingTokenCounter };
      const { value, text } = await tool.run(asked, { ...ports, budget, signal });
      return { content: [{ type: "text", text }], structuredContent: value };
    } catch (error) {
      if (signal.aborted) throw error; // nobody waits for an answer, and it is no bug
      return failedCall(error);
    }
  });
}

/** With a budget; and where there is one project only, nobody needs to name it. */
function inputOf({ input, tokensMaxDefault, writes }: AnyTool, project: string | undefined): z.ZodObject {
  const own = project !== undefined && "project" in input.shape ? input.omit({ project: true }) : input;
  if (writes) return own;
  const meaning = `Most tokens of the result: ${TOKENS_MIN} to ${TOKENS_MAX}, ${tokensMaxDefault} if left out. What has no room is counted, with a way to it`;
  return own.extend({ tokensMax: z.int().min(TOKENS_MIN).max(TOKENS_MAX).optional().describe(meaning) });
}

/** The schema as clients see it. What they send is checked by the tool, which says what is wrong in the library's words. */
function advertised(schema: z.ZodType): StandardSchemaWithJSON {
  const standard = schema["~standard"] as StandardSchemaWithJSON["~standard"];
  return { "~standard": { ...standard, jsonSchema: jsonSchemaOf(schema), validate: (value) => ({ value }) } };
}

/** The schema of what comes back. The server holds each result against it before it is sent. */
function checked(schema: z.ZodType): StandardSchemaWithJSON {
  const standard = schema["~standard"] as StandardSchemaWithJSON["~standard"];
  return { "~standard": { ...standard, jsonSchema: jsonSchemaOf(schema) } };
}

/** Every word of it is sent to a model with each of its calls: the bounds that all whole numbers have say nothing. */
function jsonSchemaOf(schema: z.ZodType): StandardSchemaWithJSON["~standard"]["jsonSchema"] {
  const jsonSchema = (io: "input" | "output"): Record<string, unknown> =>
    z.toJSONSchema(schema, {
      io,
      override: ({ jsonSchema: node }) => {
        if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
        if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      },
    });
  return { input: () => jsonSchema("input"), output: () => jsonSchema("output") };
}
