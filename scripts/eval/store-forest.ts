import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/index.ts";
import type { EvalMessage } from "./cluster-data.ts";

/** Where each cold message ended up, by place: its cluster's and its theme's number. */
export interface StoredForest {
  clusters: number[];
  themes: number[];
}

/**
 * Append a conversation to a store of its own, let it compact, and read where its messages went. Through the public API
 * only, so what is measured is what users get.
 *
 * @param hotSize  Newest messages that stay out of the forest.
 */
export function storedForest(messages: readonly EvalMessage[], hotSize: number): StoredForest {
  const folder = mkdtempSync(join(tmpdir(), "coppice-eval-"));
  const store = openStore(join(folder, "agent.db"));
  try {
    const session = store.session("conversation", { hotSize, overlap: 0 });
    for (const { role, name, text, createdAtMs } of messages) {
      session.append({ role, content: text, createdAt: createdAtMs, ...(name === undefined ? {} : { name }) });
    }
    session.compact();
    const rootsOf = (level: "cluster" | "theme"): number[] => {
      const roots: number[] = [];
      session.roots({ level }).forEach(({ root, messageCount }, number) => {
        for (const { seq } of store.expand(root, { limit: messageCount }).members) roots[seq] = number;
      });
      return roots;
    };
    return { clusters: rootsOf("cluster"), themes: rootsOf("theme") };
  } finally {
    store.close();
    rmSync(folder, { recursive: true });
  }
}
