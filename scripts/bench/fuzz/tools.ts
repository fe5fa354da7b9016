import { type MessageInput, openStore } from "../../../src/index.ts";
import { type AgentTools, agentTools } from "../../../src/session/aids/agent-tools.ts";
import { checkVerified } from "./importers.ts";
import { isPlain, mutatedJson } from "./odd-json.ts";
import { isCallers, mutatedValue, oddValue } from "./odd-values.ts";
import { type Target, UntypedError } from "./target.ts";

const CALLS: readonly (readonly [name: string, given: unknown])[] = [
  [
    "recall",
    { query: "the deploy of the blue region", project: "web", limit: 5, since: "2026-01-01", roles: ["user"] },
  ],
  ["expand", { target: "message:1", limit: 3, offset: 0, level: "step" }],
  ["expand", { target: "cluster:1", limit: 3 }],
  ["context", { sessionId: "long", tokensMax: 2_000, query: "the deploy" }],
];

const MESSAGES: readonly MessageInput[] = [
  { role: "user", content: "Why does the deploy of the blue region fail?" },
  { role: "assistant", content: "The lock of the bucket is stale." },
];

/** The tools of `coppice/tools`, whose names and arguments a model makes up. An answer may say that a call was wrong; it never throws. */
export const tools: Target = {
  async open(folder) {
    const store = openStore(`${folder}/store.db`);
    const session = store.session("long", { project: "web", hotSize: 4, overlap: 1, evictBatch: 2 });
    session.append(Array.from({ length: 20 }, () => MESSAGES).flat());
    const offered: AgentTools[] = [agentTools(store), agentTools(store, { project: "web" })];
    return {
      async feed(random) {
        const [name, given] = random.pick(CALLS);
        const called = random.chance(0.05) ? (oddValue(random) as string) : name;
        const text = random.chance(0.5) ? mutatedJson(given, random) : mutatedValue(given, random);
        let answer: unknown;
        try {
          answer = await random.pick(offered).run(called, text as string);
        } catch (error) {
          if (isCallers(error)) return;
          throw error;
        }
        if (isPlain(answer) && "content" in answer && typeof answer.content === "string") return;
        throw new UntypedError(`the tool ${name} answers with no text`);
      },
      async close() {
        checkVerified(store);
        store.close();
      },
    };
  },
};
