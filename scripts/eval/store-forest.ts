import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/index.ts";
import type { EvalMessage } from "./cluster-data.ts";

/** The numbers of the cluster and the theme of each cold message, by seq. */
export interface StoredForest {
  clusters: number[];
  themes: number[];
}

/**
 * Appends a conversation to its own store, compacts it, and reads the cluster and theme of each message. Uses the public API
 * only, so that it measures what users get.
 *
 * @param hotSize  The number of newest messages that stay out of the forest.
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
