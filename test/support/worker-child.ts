import { geminiSummarizer, openStore, type Store, StoreError } from "../../src/index.ts";
import { watchingStatements } from "./statements.ts";
import { withoutSharedCalls } from "./without-shared-calls.ts";
import type { Command, Outcome, Run } from "./worker-process.ts";

// Does to a store what its parent says, command by command, and says what came of each: see worker-process.ts.

let store: Store | undefined;
/** How many messages each session had when this process last wrote to it or looked. */
const countSeen = new Map<string, number>();

async function obey(command: Command): Promise<unknown> {
  if (command.do === "open") {
    store?.close();
    countSeen.clear();
    const { busyTimeoutMs = 5_000, geminiUrl: baseUrl, aheadMs = 0 } = command;
    const summarizer =
      baseUrl === undefined ? {} : { summarizer: withoutSharedCalls(geminiSummarizer({ apiKey: "test", baseUrl })) };
    store = openStore(command.path, { busyTimeoutMs, clock: () => Date.now() + aheadMs, ...summarizer });
    return null;
  }
  const session = store!.session(command.session, command.settings);
  const seen = (count: number): void => void countSeen.set(command.session, count);
  switch (command.do) {
    case "append": {
      const options = command.expecting ? { seq: countSeen.get(command.session) ?? 0 } : {};
      const results = session.append(command.messages, options);
      seen(results.at(-1)!.seq + 1);
      return results;
    }
    case "stall": {
      session.render(); // reads what an append would read first, in a transaction of its own
      let isLocked = false;
      let countLocked = 0;
      const { error } = await watchingStatements(
        (_, sql) => {
          isLocked ||= sql === "BEGIN IMMEDIATE";
          if (isLocked) countLocked += 1;
          // The lock and one message are behind it.
          if (countLocked === 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, command.ms);
        },
        () => session.append(command.messages),
      );
      if (error !== undefined) throw error;
      return null;
    }
    case "atomically":
      return store!.atomically(() => {
        const { seq } = session.append(command.message);
        const count = Number(store!.items.get(["test"], "count")?.value ?? 0) + 1;
        session.entries.append([{ value: { seq, count } }]);
        store!.items.put(["test", "seqs"], String(seq), count);
        store!.items.put(["test"], "count", count);
        return { seq, count };
      });
    case "render": {
      const result = session.render({ tokensMax: command.tokensMax });
      seen([...result.sources, ...result.omitted].reduce((sum, { messageCount }) => sum + messageCount, 0));
      return result;
    }
    case "messages":
      return session.messages();
    case "compact":
      session.compact();
      return null;
    case "resolve":
      return session.resolveDirty(command.concurrency === undefined ? {} : { concurrency: command.concurrency });
  }
}

async function outcomeOf(command: Command): Promise<Outcome> {
  try {
    return { value: await obey(command) };
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    const { code, details } = error;
    return { error: { code, details } };
  }
}

process.on("message", async ({ runNumber, commands }: Run) => {
  for (const command of commands) {
    const outcome = await outcomeOf(command);
    await new Promise((resolve) => process.send!({ runNumber, outcome }, resolve));
  }
});
process.send!("ready");
