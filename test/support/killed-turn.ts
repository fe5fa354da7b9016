import { openStore, type Store } from "../../src/index.ts";

const QUESTION = "When is high water?";
const WORDS = "I look it up in the almanac.";

const die = (): string => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("The process is dead.");
};

/** A turn of each framework, with its own runner. The model speaks and calls a tool, and the tool kills the process. */
const TURNS: Record<string, (store: Store, isStreamed: boolean) => Promise<unknown>> = {
  "openai-agents": async (store, isStreamed) => {
    const { Agent, Runner, tool } = await import("@openai/agents-core");
    const { assistantMessage, functionCall, modelResponse, ScriptedModel } = await import(
      "@openai/agents-core/testing"
    );
    const { CoppiceSession } = await import("../../src/frameworks/openai-agents.ts");
    const { z } = await import("zod");
    const tide = tool({ name: "tide", description: "High water.", parameters: z.object({}), execute: die });
    const answer = [assistantMessage(WORDS), functionCall("tide", {}, { callId: "call-1" })];
    const session = new CoppiceSession(store, { sessionId: "s" });
    const getModel = () => new ScriptedModel([modelResponse(answer)]);
    const runner = new Runner({ tracingDisabled: true, modelProvider: session.recording({ getModel }) });
    const agent = new Agent({ name: "Harbor", model: "scripted", tools: [tide] });
    const run = { session, sessionInputCallback: session.inputCallback() };
    if (!isStreamed) return await runner.run(agent, QUESTION, run);
    for await (const _ of await runner.run(agent, QUESTION, { ...run, stream: true }));
  },
  "ai-sdk": async (store, isStreamed) => {
    const { generateText, jsonSchema, simulateReadableStream, stepCountIs, streamText, tool } = await import("ai");
    const { MockLanguageModelV3 } = await import("ai/test");
    const { contextSteps } = await import("../../src/frameworks/ai-sdk.ts");
    const call = { type: "tool-call" as const, toolCallId: "call-1", toolName: "tide", input: "{}" };
    const finishReason = { unified: "tool-calls" as const, raw: undefined };
    const usage = {
      inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 3, text: 3, reasoning: 0 },
    };
    const content = [{ type: "text" as const, text: WORDS }, call];
    const chunks = [
      { type: "stream-start" as const, warnings: [] },
      { type: "text-start" as const, id: "1" },
      { type: "text-delta" as const, id: "1", delta: WORDS },
      { type: "text-end" as const, id: "1" },
      call,
      { type: "finish" as const, finishReason, usage },
    ];
    const settings = {
      model: new MockLanguageModelV3({
        doGenerate: async () => ({ content, finishReason, usage, warnings: [] }),
        doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
      }),
      tools: {
        tide: tool({ inputSchema: jsonSchema<object>({ type: "object", properties: {} }), execute: async () => die() }),
      },
      ...{ prompt: QUESTION, stopWhen: stepCountIs(3), ...contextSteps(store.session("s")) },
    };
    await (isStreamed ? streamText(settings).consumeStream() : generateText(settings));
  },
  adk: async (store) => {
    const { BaseLlm, FunctionTool, LlmAgent, Runner } = await import("@google/adk");
    const { CoppiceSessionService } = await import("../../src/frameworks/adk.ts");
    class ScriptedLlm extends BaseLlm {
      async *generateContentAsync() {
        const call = { functionCall: { id: "call-1", name: "tide", args: {} } };
        yield { content: { role: "model", parts: [{ text: WORDS }, call] } };
      }
      async connect(): Promise<never> {
        throw new Error("There is no connection.");
      }
    }
    const tide = new FunctionTool({ name: "tide", description: "High water.", execute: die });
    const agent = new LlmAgent({ name: "harbor", model: new ScriptedLlm({ model: "scripted" }), tools: [tide] });
    const sessionService = new CoppiceSessionService(store);
    const runner = new Runner({ appName: "app", agent, sessionService });
    const { id: sessionId } = await sessionService.createSession({ appName: "app", userId: "ada" });
    const newMessage = { role: "user", parts: [{ text: QUESTION }] };
    for await (const _ of runner.runAsync({ userId: "ada", sessionId, newMessage }));
  },
};

// Runs a turn of the framework `argv[2]` on the store `argv[3]`, streamed if `argv[4]` says so, and is killed in its tool.
const [, , framework, path, way] = process.argv;
await TURNS[framework!]!(openStore(path!), way === "streamed");
