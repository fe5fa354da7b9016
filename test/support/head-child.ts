import type { Store } from "../../src/index.ts";
import { type Action, act, opened } from "./head-run.ts";

// Does to a store what its parent says, one action after another: see head-run.ts.

let store: Store;

process.on("message", async (said: { open: string } | { action: Action }) => {
  try {
    if ("open" in said) store = opened(said.open);
    process.send!({ value: "action" in said ? await act(store, said.action) : null });
  } catch (error) {
    process.send!({ error: String((error as Error).stack) });
  }
});
process.on("disconnect", () => process.exit());
