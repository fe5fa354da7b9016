import { estimatingTokenCounter } from "../core/tokens.ts";
import { TITLES } from "../models/title.ts";
import { makeRepositories, openForHook, type Repositories } from "../store/index.ts";
import type { SessionMemory } from "./begin.ts";
import type { Firing } from "./firing.ts";
import { sayToPrompt } from "./prompt.ts";
import type { Said } from "./quotation.ts";
import { sayAtStart } from "./start.ts";

/** Milliseconds that a read waits for a lock. */
const LOCK_WAIT_MS = 100;

/** Returns the answer to an event that is read with the store's own code; undefined if there is nothing to quote. Writes nothing. */
export function sayFromStore(path: string, firing: Firing, memory: SessionMemory): Said | undefined {
  const database = openForHook(path, LOCK_WAIT_MS);
  try {
    return sayFrom(makeRepositories(database, estimatingTokenCounter, TITLES), firing, memory);
  } finally {
    database.client.close();
  }
}

/** Answers from an open store. */
export function sayFrom(repositories: Repositories, firing: Firing, memory: SessionMemory): Said | undefined {
  return firing.event === "prompt" ? sayToPrompt(repositories, firing, memory) : sayAtStart(repositories, firing);
}
