import { createHash } from "node:crypto";
import { isPartOf, projectAt } from "../core/project.ts";

export interface StayRules {
  folder: string | undefined;
  isExcluded: (folder: string, project: string) => boolean;
  /** True if the user names the project of all messages. */
  isNamed: boolean;
  /** The end of the external id of the stay that holds a message already, or "" for the session itself; undefined if none does. */
  holderOf: (messageId: string) => string | undefined;
}

/** What `Stays` calls a folder whose words are left out. */
export const EXCLUDED = "/excluded";

/**
 * Tells where the messages of a session belong whose agent moved to another project: the part that was said there, a stay, becomes a
 * session of that project. The agent's moves within a project make none.
 */
export class Stays<Import> {
  readonly #rules: StayRules;
  readonly #names = new Map<string, string>();
  readonly #projects = new Map<string, string>();
  /** True if the agent was in an excluded folder: its summaries and titles may tell what was said there. */
  hasExcluded = false;
  /** True once the report counts what is left out. */
  isCounted = false;
  /** The import of each stay that came first. Those of other paths of the transcript have it as their target. */
  readonly first = new Map<string, Import>();

  constructor(rules: StayRules) {
    this.#rules = rules;
    const project = rules.folder === undefined ? undefined : projectAt(rules.folder);
    if (project !== undefined) this.#projects.set("", project);
  }

  /** Returns the end of the external id of a folder's stay: "" for the session itself. `EXCLUDED` if its words are left out. */
  nameOf(folder: string, messageId: string): string {
    const known = this.#names.get(folder);
    if (known !== undefined) return known;
    const name = folder === this.#rules.folder ? "" : this.#newNameOf(folder, messageId);
    this.#names.set(folder, name);
    if (name === EXCLUDED) this.hasExcluded = true;
    return name;
  }

  #newNameOf(folder: string, messageId: string): string {
    const { isExcluded, isNamed, holderOf } = this.#rules;
    const project = projectAt(folder);
    if (project === undefined) return "";
    if (isExcluded(folder, project)) return EXCLUDED;
    if (this.#projects.get("") === undefined) return "";
    for (const [name, known] of this.#projects) if (isPartOf(project, known)) return name;
    // A folder that was deleted after an import may seem to be another project.
    const held = holderOf(messageId);
    if (held !== undefined || isNamed) return held ?? "";
    const name = `/in-${createHash("sha256").update(project).digest("hex").slice(0, 12)}`;
    this.#projects.set(name, project);
    return name;
  }
}
