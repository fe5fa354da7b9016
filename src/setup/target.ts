import type { Machine } from "../core/data-folder.ts";
import type { Edit } from "./edits.ts";
import type { OwnCommand } from "./own-command.ts";

/** Something that setup connects with Coppice: an agent, an editor, or the service that follows transcripts. */
export interface Target {
  name: string;
  title: string;
  /** The agent's name in `agentLocations` if its transcripts are followed. */
  followedAs?: string;
  /** False if the target gets no hooks. True by default. */
  hasHooks?: boolean;
  /** True if the agent has settings on this machine. */
  isUsed(machine: Machine): boolean;
  edits(machine: Machine, command: OwnCommand): Edit[];
  /** What the person still has to do after setup. */
  next?: string;
  /** Returns true if the person has trusted the hooks. Left out for agents that do not ask. */
  isTrusted?(machine: Machine): boolean;
  /** Returns for how many days the agent keeps its transcripts. Left out for agents that delete none. */
  keptDays?(machine: Machine): { days: number; setting: string; path: string };
  /** Commands that start a service after its files were written, and that stop it before they are deleted. */
  service?(paths: readonly string[]): { start: readonly string[][]; stop: readonly string[][] };
}

/** Returns the folder that a variable names, if it is absolute. */
export function folderIn({ env }: Machine, variable: string, otherwise: string): string {
  const given = env[variable] ?? "";
  return given.startsWith("/") || /^[A-Za-z]:[\\/]/.test(given) ? given : otherwise;
}
