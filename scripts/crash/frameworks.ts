import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CoppiceSessionService } from "../../src/frameworks/adk.ts";
import { openStore } from "../../src/index.ts";
import { SHARED } from "../../test/support/adk-work.ts";
import { COUNT_WHOLE } from "../../test/support/framework-checks.ts";
import { workElsewhere } from "../../test/support/framework-process.ts";
import { randomFrom } from "../bench/messages.ts";
import { compile } from "./compile.ts";

const CHILD = fileURLToPath(new URL("../../test/support/framework-child.ts", import.meta.url));
/**
 * A piece of work runs fewer statements. A process that comes to the end of its piece has stored it. A piece of the OpenAI Agents
 * SDK is two transactions: one appends an item, and one replaces it.
 */
const STATEMENTS_MAX = { langgraph: 24, adk: 24, "openai-agents": 48 };
export type KilledFramework = keyof typeof STATEMENTS_MAX;
export const KILLED_FRAMEWORKS = Object.keys(STATEMENTS_MAX) as KilledFramework[];
/** Pieces of work after which a new file is begun. */
const PIECES_MAX = 150;

export interface FrameworkCrashFigures extends Record<string, number> {
  kills: number;
  /** Processes that did all of their work before the statement at which they were to die. */
  finished: number;
  pieces: number;
  lost: number;
  /** Kills after which a piece was stored in part, or `verify` had a finding. */
  unsound: number;
}

/**
 * Kills processes in the middle of a `put` of LangGraph, an `appendEvent` of ADK or an `applyHistoryTransaction` of the OpenAI Agents
 * SDK, and checks that each is there whole or not at all.
 */
export async function crashFrameworks(
  framework: KilledFramework,
  kills: number,
  seed: number,
  onKill: (kills: number) => void = () => {},
): Promise<FrameworkCrashFigures> {
  const random = randomFrom(seed);
  const figures = { kills: 0, finished: 0, pieces: 0, lost: 0, unsound: 0 };
  const child = compile(CHILD);
  try {
    while (figures.kills < kills) {
      const folder = mkdtempSync(join(tmpdir(), "coppice-crash-"));
      const path = join(folder, "agent.db");
      if (framework === "adk") {
        const store = openStore(path);
        await new CoppiceSessionService(store).createSession(SHARED);
        store.close();
      }
      for (let known = 0; known < PIECES_MAX && figures.kills < kills; ) {
        const count = Math.floor(random() * 4);
        const dyingStatement = 1 + Math.floor(random() * STATEMENTS_MAX[framework]);
        const name = `p${figures.kills}-${figures.finished}`;
        const { done, isKilled } = await workElsewhere({
          framework,
          path,
          name,
          count,
          dyingStatement,
          compiled: child.path,
        });
        if (isKilled) {
          figures.kills += 1;
          onKill(figures.kills);
        } else figures.finished += 1;
        const store = openStore(path);
        try {
          const found = await COUNT_WHOLE[framework](store);
          if (found < known + done) figures.lost += known + done - found;
          if (!store.verify().ok || found > known + done + 1) figures.unsound += 1;
          figures.pieces += found - known;
          known = found;
        } catch (error) {
          console.error(`${folder}: ${error}`);
          figures.unsound += 1;
        } finally {
          store.close();
        }
      }
      if (figures.unsound === 0) rmSync(folder, { recursive: true });
    }
    return figures;
  } finally {
    child.remove();
  }
}
