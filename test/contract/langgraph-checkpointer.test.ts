import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import { openStore, type Store } from "../../src/index.ts";

// LangGraph's own suite takes these from the global scope. It has 718 cases, and excuses none for this saver.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it });

const stores = new Map<CoppiceSaver, Store>();

const initializer = {
  checkpointerName: "CoppiceSaver",
  createCheckpointer: () => {
    const store = openStore(":memory:");
    const saver = new CoppiceSaver(store);
    stores.set(saver, store);
    return saver;
  },
  destroyCheckpointer: (saver: CoppiceSaver) => stores.get(saver)!.close(),
};

validate(initializer);
deltaChannelHistoryTests(initializer);
