import { createInterface } from "node:readline";
import { type FunctionCallingConfigMode, GoogleGenAI, type Part } from "@google/genai";
import { fromGemini, toGemini } from "../../src/adapters/gemini.ts";
import { openStore } from "../../src/index.ts";
import { agentTools } from "../../src/session/aids/tools.ts";

/**
 * `npx tsx scripts/examples/chat.ts agent.db plans` is a conversation with Gemini that a store keeps. Each line is a message. The
 * same command continues the session, also after a crash: a message without an answer is answered first. The key is
 * `GEMINI_API_KEY`. In a program of your own, import from `coppice`, `coppice/tools` and `coppice/adapters/gemini`.
 */
const MODEL = "gemini-3.1-flash-lite";

/** The most rounds of tool calls in one turn. After them, the model must answer. */
const ROUNDS_MAX = 8;

/** Google documents this signature for calls that another model made. */
const missingSignature = "skip_thought_signature_validator";

const [path = "agent.db", sessionId = "chat"] = process.argv.slice(2);
const gemini = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY! });
const store = openStore(path);
const session = store.session(sessionId);
const tools = agentTools(store);
const newest = () => session.messages({ last: 1 })[0];

/** Lets the model answer the newest message. A call is stored with its result, or not at all, so the next turn can always go on. */
async function answer(query: string): Promise<void> {
  for (let round = 0; newest()?.role !== "assistant"; round++) {
    const { messages } = session.render({ query });
    const { systemInstruction, contents } = toGemini(messages, { missingSignature });
    const mode = (round < ROUNDS_MAX ? "AUTO" : "NONE") as FunctionCallingConfigMode;
    const config = {
      tools: tools.gemini,
      toolConfig: { functionCallingConfig: { mode } },
      ...(systemInstruction !== undefined && { systemInstruction }),
    };
    const parts: Part[] = [];
    for await (const chunk of await gemini.models.generateContentStream({ model: MODEL, contents, config })) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        if (part.thought !== true) process.stdout.write(part.text ?? "");
        const isEmpty = part.text === "" && part.thoughtSignature === undefined;
        if (!isEmpty) parts.push(part);
      }
    }
    const [said] = fromGemini({ role: "model", parts });
    if (said === undefined || said.parts.length === 0) throw new Error(`${MODEL} answered nothing.`);
    const results = [];
    for (const part of said.parts) {
      if (part.type !== "tool_call") continue;
      const { content, isError } = await tools.run(part.name, part.args);
      results.push({ type: "tool_result", toolCallId: part.toolCallId, content, isError } as const);
    }
    session.append(results.length === 0 ? [said] : [said, { role: "tool", parts: results }]);
  }
  process.stdout.write("\n");
}

const waiting = newest();
if (waiting !== undefined && waiting.role !== "assistant") await answer(waiting.text);
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  session.append({ role: "user", content: line });
  await answer(line);
}
store.close();
