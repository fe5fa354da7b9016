import { setTimeout as wait } from "node:timers/promises";
import { openStore, type Store } from "../../src/index.ts";

const QUESTION = "When is high water?";
const WORDS = "I look it up in the almanac.";
const RESULT = "At 04:12.";

const die = (): string => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("The process is dead.");
};

/** A second tool that runs at the same time. It waits until the first one has ended. */
const dieLater = async (): Promise<string> => {
  await wait(100);
  return die();
};

/** A turn of each framework, with its own runner. The model speaks and calls two tools at once, and the second one kills the process. */
const TURNS: Record<string, (store: Store, isStreamed: boolean) => Promise<unknown>> = {
  "openai-agents": async (store, isStreamed) => {
    const { Agent, Runner, tool } = await import("@openai/agents-core");
    const { assistantMessage, functionCall, modelResponse, ScriptedModel } = await import(
      "@openai/agents-core/testing"
    );
    const { CoppiceSession } = await import("../../src/frameworks/openai-agents.ts");
    const { z } = await import("zod");
    const toolOf = (name: string, execute: () => string | Promise<string>) =>
      tool({ name, description: name, parameters: z.object({}), execute });
    const tools = [toolOf("tide", () => RESULT), toolOf("wind", dieLater)];
    const calls = ["tide", "wind"].map((name, index) => functionCall(name, {}, { callId: `call-${index + 1}` }));
    const session = new CoppiceSession(store, { sessionId: "s" });
    const getModel = () => new ScriptedModel([modelResponse([assistantMessage(WORDS), ...calls])]);
    const runner = session.recording(new Runner({ tracingDisabled: true, modelProvider: { getModel } }));
    const agent = new Agent({ name: "Harbor", model: "scripted", tools });
    const run = { session, sessionInputCallback: session.inputCallback() };
    if (!isStreamed) return await runner.run(agent, QUESTION, run);
    for await (const _ of await runner.run(agent, QUESTION, { ...run, stream: true }));
  },
  "ai-sdk": async (store, isStreamed) => {
    const { generateText, jsonSchema, simulateReadableStream, stepCountIs, streamText, tool } = await import("ai");
    const { MockLanguageModelV3 } = await import("ai/test");
    const { contextSteps } = await import("../../src/frameworks/ai-sdk.ts");
    const calls = ["tide", "wind"].map((toolName, index) => {
      return { type: "tool-call" as const, toolCallId: `call-${index + 1}`, toolName, input: "{}" };
    });
    const finishReason = { unified: "tool-calls" as const, raw: undefined };
    const usage = {
      inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 3, text: 3, reasoning: 0 },
    };
    const content = [{ type: "text" as const, text: WORDS }, ...calls];
    const chunks = [
      { type: "stream-start" as const, warnings: [] },
      { type: "text-start" as const, id: "1" },
      { type: "text-delta" as const, id: "1", delta: WORDS },
      { type: "text-end" as const, id: "1" },
      ...calls,
      { type: "finish" as const, finishReason, usage },
    ];
    const inputSchema = jsonSchema<object>({ type: "object", properties: {} });
    const settings = {
      model: new MockLanguageModelV3({
        doGenerate: async () => ({ content, finishReason, usage, warnings: [] }),
        doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
      }),
      tools: {
        tide: tool({ inputSchema, execute: async () => RESULT }),
        wind: tool({ inputSchema, execute: dieLater }),
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
        const calls = ["tide", "wind"].map((name, index) => ({
          functionCall: { id: `call-${index + 1}`, name, args: {} },
        }));
        yield { content: { role: "model", parts: [{ text: WORDS }, ...calls] } };
      }
      async connect(): Promise<never> {
        throw new Error("There is no connection.");
      }
    }
    const tools = [
      new FunctionTool({ name: "tide", description: "High water.", execute: () => RESULT }),
      new FunctionTool({ name: "wind", description: "Wind.", execute: dieLater }),
    ];
    const agent = new LlmAgent({ name: "harbor", model: new ScriptedLlm({ model: "scripted" }), tools });
    const sessionService = new CoppiceSessionService(store);
    const runner = new Runner({ appName: "app", agent, sessionService });
    const { id: sessionId } = await sessionService.createSession({ appName: "app", userId: "ada" });
    const newMessage = { role: "user", parts: [{ text: QUESTION }] };
    for await (const _ of runner.runAsync({ userId: "ada", sessionId, newMessage }));
  },
  // These are the calls that a compiled graph makes whose tools are tasks of their own.
  langgraph: async (store) => {
    const { AIMessage, HumanMessage, ToolMessage } = await import("@langchain/core/messages");
    const { emptyCheckpoint, uuid6 } = await import("@langchain/langgraph-checkpoint");
    const { CoppiceSaver } = await import("../../src/frameworks/langgraph.ts");
    const saver = new CoppiceSaver(store);
    let thread: Awaited<ReturnType<typeof saver.put>> = { configurable: { thread_id: "s", checkpoint_ns: "" } };
    const calls = ["tide", "wind"].map((name, index) => ({ id: `call-${index + 1}`, name, args: {} }));
    const said = [
      new HumanMessage({ id: "m1", content: QUESTION }),
      new AIMessage({ id: "m2", content: WORDS, tool_calls: calls }),
    ];
    for (const count of [0, 1, 2]) {
      const values = { channel_values: { messages: said.slice(0, count) }, channel_versions: { messages: count } };
      const checkpoint = { ...emptyCheckpoint(), ...values, id: uuid6(count) };
      thread = await saver.put(thread, checkpoint, { source: "loop", step: count, parents: {} }, { messages: count });
      if (count < 2) await saver.putWrites(thread, [["messages", [said[count]]]], `task-${count}`);
    }
    const result = new ToolMessage({ id: "m3", content: RESULT, tool_call_id: "call-1", name: "tide" });
    await saver.putWrites(thread, [["messages", [result]]], "task-2");
    await dieLater();
  },
  // The SDK mirrors the lines of its transcript when it has written them.
  "claude-agent-sdk": async (store) => {
    const { CoppiceSessionStore } = await import("../../src/frameworks/claude-agent-sdk.ts");
    const sessions = new CoppiceSessionStore(store);
    const sessionId = "5d3f2a10-0000-4000-8000-00000000000f";
    let lineCount = 0;
    const uuidAt = (line: number) => (line === 0 ? null : `7a3c5e10-4b2d-4f68-9c01-00000000000${line}`);
    const lineOf = (type: "user" | "assistant", content: unknown) => {
      const line = { type, parentUuid: uuidAt(lineCount), uuid: uuidAt(++lineCount)!, sessionId, cwd: "/work" };
      return {
        ...line,
        message: { role: type, content, ...(type === "assistant" && { id: "msg-1", type: "message" }) },
      };
    };
    const mirror = (...lines: ReturnType<typeof lineOf>[]) => sessions.append({ projectKey: "p", sessionId }, lines);
    const calls = ["tide", "wind"].map((name, index) => ({
      type: "tool_use",
      id: `call-${index + 1}`,
      name,
      input: {},
    }));
    await mirror(lineOf("user", QUESTION));
    await mirror(...[{ type: "text", text: WORDS }, ...calls].map((block) => lineOf("assistant", [block])));
    await mirror(lineOf("user", [{ type: "tool_result", tool_use_id: "call-1", content: RESULT }]));
    await dieLater();
  },
};

// Runs a turn of the framework `argv[2]` on the store `argv[3]`, streamed if `argv[4]` says so, and is killed in its tool.
const [, , framework, path, way] = process.argv;
await TURNS[framework!]!(openStore(path!), way === "streamed");
