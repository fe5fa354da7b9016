import { writeSync } from "node:fs";
import { openStore, type Store } from "../../src/index.ts";
import { watchingStatements } from "./statements.ts";

/** Does one piece of work, the `number`th of this process. */
export type Work = (number: number) => Promise<unknown>;

/** Writers by framework. The framework is imported only by a process that uses it, because that takes a second. */
const WRITERS: Record<string, (store: Store, name: string) => Promise<Work>> = {
  langgraph: async (store, name) => (await import("./langgraph-work.ts")).langgraphWork(store, name),
  adk: async (store, name) => (await import("./adk-work.ts")).adkWork(store, name),
  "ai-sdk": async (store, name) => (await import("./ai-sdk-work.ts")).aiSdkWork(store, name),
  "openai-agents": async (store, name) => (await import("./openai-agents-work.ts")).openaiAgentsWork(store, name),
  "claude-agent-sdk": async (store, name) =>
    (await import("./claude-agent-sdk-work.ts")).claudeAgentSdkWork(store, name),
};

// Works for the framework `argv[2]` on the store `argv[3]` under the name `argv[4]`: `argv[5]` pieces, each said on stdout when it
// is done. Then it dies before the statement numbered `argv[6]` of one more piece, if there is such a number.
const [, , framework, path, name, count, dyingStatement] = process.argv;
const work = await WRITERS[framework!]!(openStore(path!), name!);
for (let number = 0; number < Number(count); number++) {
  await work(number);
  writeSync(1, `${number}\n`);
}
if (dyingStatement !== undefined) {
  await watchingStatements(
    (at) => {
      if (at === Number(dyingStatement)) process.kill(process.pid, "SIGKILL");
    },
    () => work(Number(count)),
  );
}
