import { Branch, type BranchOptions } from "./branch.ts";
import type { MessageEntry } from "./entry.ts";
import type { ImportedSession } from "./importer.ts";

/** A place in the conversation: after a message of a branch. */
export interface BranchPlace {
  branch: Branch;
  lastId: string;
}

/** Messages that the user can take back together. */
interface RewindPoint extends BranchPlace {
  key: string;
  isPrompt: boolean;
}

/** A line that names the line before it in the conversation. */
interface FollowedLine {
  key: string | undefined;
  after: string | undefined;
  line: number;
  isPrompt: boolean;
  isReply: boolean;
  /** True for a line of the user, the model or a tool. */
  isSaid: boolean;
}

/** A line of a transcript in which every line names the line before it, and going back leads to any of them. */
interface TreeLine {
  key: string;
  after: string | null;
  line: number;
}

/**
 * The branches of one session: the path that was written first, and another one for each time that the user went back and continued
 * from there.
 *
 * Messages that the user took back stay in their branch. The next message begins a branch, `<session>/fork-<id of that message>`,
 * after the last message that was kept. So the events of a file that has grown begin with those of the shorter file. `head` tells
 * which branch is the session now.
 */
export class Branches {
  readonly root: Branch;
  readonly all: Branch[] = [];
  current: Branch;
  readonly #options: BranchOptions;
  #points: RewindPoint[] = [];
  /** The branch of the newest line that somebody said. */
  #newest: Branch | undefined;
  /** Set from the moment the user goes back until the next message. */
  #forkAfter: { point: BranchPlace | undefined } | undefined;
  /** For `follow` and `followTree`: the branch and the number of each line, by key. */
  readonly #lines = new Map<string, { branch: Branch; line: number }>();
  /** For `followTree`: the key of the newest line of each branch. */
  readonly #tips = new Map<Branch, string>();
  /** For `follow`: the lines of the newest prompt and of the newest answered prompt of each branch. */
  readonly #prompts = new Map<Branch, { newest: number; answered: number }>();

  constructor(options: BranchOptions) {
    this.#options = options;
    this.root = this.current = this.#begin(options);
  }

  /** Where the conversation is now. Undefined if nobody went back, or if nothing of the branch was emitted yet. */
  get head(): { session: string; messageId: string | null } | undefined {
    const back = this.#forkAfter;
    if (this.all.length === 1 && back === undefined) return undefined;
    const { branch = this.#newest ?? this.current, lastId = undefined } = back?.point ?? {};
    const messageId = back === undefined ? branch.newestId : (lastId ?? null);
    return messageId === undefined ? undefined : { session: branch.session.externalId, messageId };
  }

  get keys(): string[] {
    return this.#points.map(({ key }) => key);
  }

  /** Adds messages that the user can take back together. `isPrompt` is true if they open a turn. */
  add(entries: readonly MessageEntry[], key = "", isPrompt = false): BranchPlace | undefined {
    const [first] = entries;
    if (first === undefined) return undefined;
    if (this.#forkAfter !== undefined) this.#forkAt(first.message.id, this.#forkAfter.point);
    const ids = entries.map((entry) => this.current.add(entry));
    const place = { branch: this.current, lastId: ids.at(-1)! };
    this.#points.push({ ...place, key, isPrompt });
    return place;
  }

  /** Says which path the program shows, if there are several. */
  showAt(place: BranchPlace): void {
    if (this.all.length > 1) this.#forkAfter = { point: place };
  }

  /** Adds messages to the point with this key. If there is none, the messages join the newest ones. */
  extend(entries: readonly MessageEntry[], key: string): void {
    const point = this.#points.find((one) => one.key === key);
    for (const entry of entries) {
      const id = (point?.branch ?? this.current).add(entry);
      if (point !== undefined && point === this.#points.at(-1)) point.lastId = id;
    }
  }

  /** Takes back `key` and everything after it. An unknown key takes back everything. */
  rewindTo(key: string): void {
    this.#cut(this.#points.findIndex((point) => point.key === key));
  }

  /** Takes back everything after `key`. Without a key, takes back everything. */
  rewindAfter(key: string | undefined): void {
    const length = this.#points.findLastIndex((point) => point.key === key) + 1;
    if (length < this.#points.length) this.#cut(length);
  }

  rewindBy(count: number): void {
    this.#cut(this.#points.length - count);
  }

  rewindPrompts(count: number): void {
    const prompts = this.#points.flatMap(({ isPrompt }, index) => (isPrompt ? [index] : []));
    if (count > 0) this.#cut(prompts.at(-count) ?? 0);
  }

  /** Keeps only the points with these keys, because the agent dropped all others from its context. */
  keep(keys: readonly (string | undefined)[]): void {
    const points = new Map(this.#points.map((point) => [point.key, point]));
    this.#points = keys.flatMap((key) => (key === undefined ? [] : (points.get(key) ?? [])));
  }

  /** Switches to the branch of line `after`. A prompt that goes back to before an answered prompt begins a branch instead. */
  follow({ key, after, line, isPrompt, isReply, isSaid }: FollowedLine): Branch {
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
    // What is read earlier is emitted earlier, so that an import knows all paths that a new message leaves.
    if (isPrompt && branch !== this.current) this.current.leave();
    this.current = branch;
    if (isSaid) this.#newest = branch;
    if (key !== undefined && !this.#lines.has(key)) this.#lines.set(key, { branch, line });
    return branch;
  }

  /**
   * Switches to the branch of line `after`, or begins a branch if that line is not the newest one of its branch. `after` is null for
   * a line that nothing precedes, and the current branch goes on if the line is unknown.
   */
  followTree({ key, after, line }: TreeLine): Branch {
    const followed = after === null ? undefined : this.#lines.get(after);
    const branch = followed?.branch ?? this.current;
    const isRoot = after === null && this.#lines.size > 0;
    const left = this.current;
    this.current = branch;
    if (isRoot || (followed !== undefined && after !== this.#tips.get(branch))) {
      const parent = isRoot ? this.root : branch;
      const forkedAt = { parent, line: followed?.line ?? 0 };
      this.current = this.#begin({ ...this.#options, session: this.#forkOf(key, parent), forkedAt });
    }
    if (this.current !== left) left.leave();
    this.#lines.set(key, { branch: this.current, line });
    this.#tips.set(this.current, key);
    return this.current;
  }

  branchOf(key: string): Branch | undefined {
    return this.#lines.get(key)?.branch;
  }

  #cut(length: number): void {
    const kept = this.#points.slice(0, Math.max(0, length));
    if (kept.length === this.#points.length) return;
    this.#points = kept;
    this.#forkAfter = { point: this.#points.at(-1) };
  }

  #forkAt(firstId: string, point: BranchPlace | undefined): void {
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
      pathOf: externalId,
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
