import { Branch, type BranchOptions } from "./branch.ts";
import type { MessageEntry } from "./entry.ts";
import type { ImportedSession } from "./importer.ts";

/** A point that the user can go back to: messages that are taken back together. */
interface RewindPoint {
  key: string;
  branch: Branch;
  /** The id of its last message. */
  lastId: string;
  isPrompt: boolean;
}

/** A line of a transcript whose lines name the line that they follow. */
interface FollowedLine {
  key: string | undefined;
  after: string | undefined;
  line: number;
  isPrompt: boolean;
  isReply: boolean;
}

/**
 * The branches of one session: the session itself, and a fork for each time that the user went back and continued from there.
 *
 * Messages that the user took back stay in their branch. The next message begins a fork, `<session>/fork-<id of that message>`,
 * after the last message that was kept. So a file that grows in this way changes nothing that was imported before.
 */
export class Branches {
  readonly root: Branch;
  readonly all: Branch[] = [];
  /** The branch to which messages are added. */
  current: Branch;
  readonly #options: BranchOptions;
  /** The points that can be taken back, oldest first. */
  #points: RewindPoint[] = [];
  /** Set between a step back and the next message. */
  #forkAfter: { point: RewindPoint | undefined } | undefined;
  /** For `follow`: the branch and the number of each line, by key. */
  readonly #lines = new Map<string, { branch: Branch; line: number }>();
  /** For `follow`: the lines of the newest prompt and of the newest answered prompt of each branch. */
  readonly #prompts = new Map<Branch, { newest: number; answered: number }>();

  constructor(options: BranchOptions) {
    this.#options = options;
    this.root = this.current = this.#begin(options);
  }

  get keys(): string[] {
    return this.#points.map(({ key }) => key);
  }

  /** Adds messages that are taken back together. `isPrompt` is true if they open a turn. */
  add(entries: readonly MessageEntry[], key = "", isPrompt = false): void {
    const [first] = entries;
    if (first === undefined) return;
    if (this.#forkAfter !== undefined) this.#forkAt(first.message.id, this.#forkAfter.point);
    for (const entry of entries) this.current.add(entry);
    this.#points.push({ key, branch: this.current, lastId: entries.at(-1)!.message.id, isPrompt });
  }

  /** Adds messages that belong to `key`, or to the newest messages if nothing of that key can be taken back. */
  extend(entries: readonly MessageEntry[], key: string): void {
    const point = this.#points.find((one) => one.key === key);
    for (const entry of entries) {
      (point?.branch ?? this.current).add(entry);
      if (point !== undefined && point === this.#points.at(-1)) point.lastId = entry.message.id;
    }
  }

  /** Takes back `key` and everything after it, or everything if nothing has that key. */
  rewindTo(key: string): void {
    this.#cut(this.#points.findIndex((point) => point.key === key));
  }

  /** Takes back the last `count` additions. */
  rewindBy(count: number): void {
    this.#cut(this.#points.length - count);
  }

  /** Takes back the last `count` prompts and what followed them. */
  rewindPrompts(count: number): void {
    const prompts = this.#points.flatMap(({ isPrompt }, index) => (isPrompt ? [index] : []));
    if (count > 0) this.#cut(prompts.at(-count) ?? 0);
  }

  /** Makes these the only points that can be taken back, because the agent dropped all others from its context. */
  keep(keys: readonly (string | undefined)[]): void {
    const points = new Map(this.#points.map((point) => [point.key, point]));
    this.#points = keys.flatMap((key) => (key === undefined ? [] : (points.get(key) ?? [])));
  }

  /**
   * Makes the branch of the line that `after` names the current one. A prompt that follows a line before an answered prompt
   * begins a fork instead.
   */
  follow({ key, after, line, isPrompt, isReply }: FollowedLine): Branch {
    const followed = after === undefined ? undefined : this.#lines.get(after);
    let branch = followed?.branch ?? this.current;
    if (isPrompt && key !== undefined && !this.#lines.has(key)) {
      if (followed !== undefined && followed.line < this.#prompts.get(branch)!.answered) {
        branch = this.#begin({
          ...this.#options,
          session: this.#forkOf(key, branch),
          forkedAt: { parent: branch, line: followed.line },
        });
      }
      this.#prompts.get(branch)!.newest = line;
    } else if (isReply) {
      const prompts = this.#prompts.get(branch)!;
      prompts.answered = prompts.newest;
    }
    this.current = branch;
    if (key !== undefined && !this.#lines.has(key)) this.#lines.set(key, { branch, line });
    return branch;
  }

  /** Returns the branch that holds the line with this key. */
  branchOf(key: string): Branch | undefined {
    return this.#lines.get(key)?.branch;
  }

  #cut(length: number): void {
    const kept = this.#points.slice(0, Math.max(0, length));
    if (kept.length === this.#points.length) return;
    this.#points = kept;
    this.#forkAfter = { point: this.#points.at(-1) };
  }

  #forkAt(firstId: string, point: RewindPoint | undefined): void {
    this.current.leave();
    const session = this.#forkOf(firstId, point?.branch ?? this.current);
    if (point !== undefined) session.forkedAfter = point.lastId;
    this.current = this.#begin({ ...this.#options, session });
    this.#forkAfter = undefined;
  }

  #forkOf(firstId: string, parent: Branch): ImportedSession {
    const { externalId, metadata, createdAtMs: _, ...about } = this.root.session;
    return {
      ...about,
      externalId: `${externalId}/fork-${firstId}`,
      parentExternalId: parent.session.externalId,
      ...(metadata !== undefined && { metadata: { ...metadata } }),
    };
  }

  #begin(options: BranchOptions): Branch {
    const branch = new Branch(options);
    this.all.push(branch);
    this.#prompts.set(branch, { newest: 0, answered: 0 });
    return branch;
  }
}
