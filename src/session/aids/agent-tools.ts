import * as z from "zod/mini";
import { once } from "../../core/once.ts";
import { parseOptions, text, whole } from "../../core/schema.ts";
import { estimatingTokenCounter } from "../../core/tokens.ts";
import type { Store } from "../store.ts";
import { READING_TOOLS, type ReadingTool, runTool } from "./reading-tools.ts";

const TOKENS_DEFAULT = 3_000;
export const TOOL_TOKENS_MIN = 200;
export const TOOL_TOKENS_MAX = 100_000;

export interface AgentToolsOptions {
  /** The only project that the tools read; by default all. */
  project?: string;
  /** The most tokens of a result: 200 to 100,000, by default 3,000. */
  tokensMax?: number;
}

/** Past messages in the content are quoted, and say that they are data. */
export interface ToolOutcome {
  content: string;
  /** True if the call was wrong. The content then says how to correct it. */
  isError: boolean;
}

/** A tool's name, its description, and the JSON Schema of its arguments. */
export interface AgentTool {
  name: string;
  description: string;
  parameters: JsonSchema;
}

export type JsonSchema = { type: "object" } & Record<string, unknown>;

/** Arguments as a Standard Schema, which the AI SDK, zod and others understand. */
export interface ArgumentsSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) =>
      | { readonly value: unknown; readonly issues?: undefined }
      | { readonly issues: readonly { readonly message: string }[] };
    readonly jsonSchema: { readonly input: () => JsonSchema; readonly output: () => JsonSchema };
  };
}

/** The tools `recall`, `expand` and `context` in the shapes of the SDKs, and a function that runs a call of one of them. */
export interface AgentTools {
  readonly tools: readonly AgentTool[];
  /** `tools` of the Chat Completions API. */
  readonly openai: { type: "function"; function: AgentTool }[];
  /** `tools` of the Messages API. */
  readonly anthropic: { name: string; description: string; input_schema: JsonSchema }[];
  /** `config.tools` of `generateContent`. */
  readonly gemini: {
    functionDeclarations: { name: string; description: string; parametersJsonSchema: JsonSchema }[];
  }[];
  /** `tools` of the AI SDK, which runs them itself. */
  readonly aiSdk: Record<
    "recall" | "expand" | "context",
    {
      description: string;
      inputSchema: ArgumentsSchema;
      execute: (args: unknown, call?: { abortSignal?: AbortSignal }) => Promise<string>;
    }
  >;
  /**
   * Runs a call. A wrong call is an outcome, for the model to correct.
   *
   * @param args  The arguments, as an object or as JSON.
   * @throws the signal's reason if aborted; {StoreError} if the store cannot be read.
   */
  run(name: string, args: unknown, options?: { signal?: AbortSignal }): Promise<ToolOutcome>;
}

const optionsSchema = once(() =>
  z.strictObject({
    project: z.optional(text()),
    tokensMax: z._default(whole(TOOL_TOKENS_MIN, TOOL_TOKENS_MAX), TOKENS_DEFAULT),
  }),
);

/**
 * Returns tools with which an agent reads the store by itself. A rendered context names `expand`, so an agent that gets one should
 * get these tools too.
 *
 * @throws {StoreError} `OPTION_INVALID`.
 */
export function agentTools(store: Store, options: AgentToolsOptions = {}): AgentTools {
  const { project, tokensMax } = parseOptions("agentTools", optionsSchema(), options);
  const ports = { store, tokenCounter: estimatingTokenCounter, project };
  const run: AgentTools["run"] = async (name, args, { signal = new AbortController().signal } = {}) => {
    signal.throwIfAborted();
    const call = { type: "tool_call", toolCallId: name, name, args: parsedJson(args) } as const;
    const { content, isError = false } = await runTool(call, tokensMax, ports, signal);
    return { content: content as string, isError };
  };
  const tools = READING_TOOLS.map(({ name, description, schema }) => ({
    name,
    description,
    parameters: structuredClone(schema) as JsonSchema, // SDKs change the schemas that they are given
  }));
  const aiSdkTools = READING_TOOLS.map((tool) => {
    const execute = async (args: unknown, call?: { abortSignal?: AbortSignal }): Promise<string> => {
      const { content } = await run(tool.name, args, call?.abortSignal && { signal: call.abortSignal });
      return content;
    };
    return [tool.name, { description: tool.description, inputSchema: argumentsSchema(tool), execute }] as const;
  });
  return {
    tools,
    openai: tools.map((tool) => ({ type: "function", function: tool })),
    anthropic: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    gemini: [
      {
        functionDeclarations: tools.map(({ name, description, parameters }) => {
          return { name, description, parametersJsonSchema: parameters };
        }),
      },
    ],
    aiSdk: Object.fromEntries(aiSdkTools) as AgentTools["aiSdk"],
    run,
  };
}

/** Models of OpenAI give arguments as JSON. What is no JSON is refused as arguments of another type. */
function parsedJson(args: unknown): unknown {
  if (typeof args !== "string") return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

function argumentsSchema({ schema }: ReadingTool): ArgumentsSchema {
  const jsonSchema = (): JsonSchema => structuredClone(schema) as JsonSchema;
  return {
    "~standard": {
      version: 1,
      vendor: "coppice",
      // The tool checks its arguments itself, and tells the model what is wrong.
      validate: (value) => ({ value }),
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  };
}
