import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { walkFiles } from "../../src/importers/files.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { openStore, type Store } from "../../src/index.ts";
import type { Evaluation } from "../eval.ts";
import { withProgress } from "../progress.ts";
import { agentSessions, INJECTED, OWN, START_MS } from "./echo-sessions.ts";
import { inFolder } from "./folder.ts";

const SESSIONS = 100;
const HITS = 10;
const DAY_MS = 86_400_000;

/**
 * Imports sessions of agents in which hooks inject text and the agent asks Coppice, and asks the question of each session. The
 * sessions are made here, in the formats of Claude Code, Codex and Gemini CLI. The data folder is not read.
 *
 * - `answered`: questions with the answer among the hits.
 * - `injectedHits`, `ownCallHits`: hits that show an injected block, or a call of Coppice or its result.
 * - `injectedTitles`, `injectedSubjects`: sessions and clusters, and subjects, that are titled by one of these.
 * - `warnings`: those of the import.
 */
export async function evaluateEcho(): Promise<Evaluation> {
  const figures: Record<string, number> = {};
  const add = (name: string, count: number): void => {
    figures[name] = (figures[name] ?? 0) + count;
  };
  await inFolder(async (folder) => {
    const files = join(folder, "files");
    mkdirSync(files);
    const sessions = agentSessions(SESSIONS);
    for (const { name, lines } of sessions) {
      writeFileSync(join(files, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    }
    const store = openStore(join(folder, "echo.db"), { clock: () => START_MS + SESSIONS * DAY_MS });
    const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
    for await (const file of walkFiles([files])) add("warnings", (await run.read(file)).warnings.length);
    await store.upkeep();
    add("sessions", store.sessions().length);
    for (const { question, answer } of withProgress("questions", sessions)) {
      const hits = await store.recall(question, { limit: HITS });
      const shown = hits.map(({ text, neighbors }) => [text, ...neighbors.map(({ snippet }) => snippet)].join("\n"));
      add("questions", 1);
      add("answered", shown.some((text) => text.includes(answer)) ? 1 : 0);
      add("injectedHits", shown.filter((text) => text.includes(INJECTED)).length);
      add("ownCallHits", shown.filter((text) => OWN.test(text)).length);
    }
    add("injectedTitles", titlesIn(store).filter(isEcho).length);
    add("injectedSubjects", store.subjects({ limit: 10_000 }).filter(({ label }) => isEcho(label)).length);
    add("subjects", store.subjects({ limit: 10_000 }).length);
    store.close();
  });
  return { name: "echo", figures };
}

function titlesIn(store: Store): string[] {
  const labels = store.query("SELECT label FROM clusters").map(({ label }) => String(label));
  return [...labels, ...store.sessions().map(({ title, opening }) => title ?? opening ?? "")];
}

function isEcho(title: string): boolean {
  return title.includes(INJECTED) || OWN.test(title);
}
