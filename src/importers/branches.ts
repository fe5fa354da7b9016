import type { Draft } from "./draft.ts";
import type { ImportEvent, ImportedSession } from "./importer.ts";
import { Thread } from "./thread.ts";

/** Something that can be gone back to: a message with what belongs to it. */
interface Place {
  key: string;
  thread: Thread;
  /** External id of its last message. */
  lastId: string;
  isPrompt: boolean;
}

/**
 * A conversation that its agent let the user take back and go on from an earlier point.
 *
 * What was taken back stays where it stands; what follows becomes a session of its own, a fork that begins after the last
 * message kept, `<session>/fork-<id of its first message>`. So a file that has grown by such a turn changes nothing of what
 * was imported before.
 */
export class Branches {
  readonly root: ImportedSession;
  readonly #threads: Thread[] = [];
  #live: Place[] = [];
  #current: Thread;
  /** Set from a step back to the next message: where to go on from. */
  #fork: { after: Place | undefined } | undefined;

  constructor(root: ImportedSession) {
    this.root = root;
    this.#current = new Thread(root);
    this.#threads.push(this.#current);
  }

  get current(): Thread {
    return this.#current;
  }

  /** What is live and can be taken back, oldest first. */
  get keys(): string[] {
    return this.#live.map(({ key }) => key);
  }

  threadOf(key: string): Thread | undefined {
    return this.#live.find((place) => place.key === key)?.thread;
  }

  /** Add messages that are taken back together, as `key`. `isPrompt`: the user's words open a turn with them. */
  *push(key: string, drafts: readonly Draft[], isPrompt = false): Generator<ImportEvent> {
    const [first] = drafts;
    if (first === undefined) return;
    if (this.#fork !== undefined) yield* this.#begin(first.message.id, this.#fork.after);
    for (const draft of drafts) yield* this.#current.push(draft);
    const lastId = drafts.at(-1)!.message.id;
    this.#live.push({ key, thread: this.#current, lastId, isPrompt });
  }

  /** What was pushed last has another message at its end now. */
  prolong(lastId: string): void {
    const last = this.#live.at(-1);
    if (last !== undefined) last.lastId = lastId;
  }

  /** Take back `key` and everything after it; everything, where nothing of that name is live. */
  backTo(key: string): void {
    const index = this.#live.findIndex((place) => place.key === key);
    this.#cut(Math.max(0, index));
  }

  /** Take back the last `count` pushes. */
  backBy(count: number): void {
    this.#cut(Math.max(0, this.#live.length - count));
  }

  /** Take back the last `count` prompts, each with what followed it. */
  backByPrompts(count: number): void {
    const prompts = this.#live.flatMap(({ isPrompt }, index) => (isPrompt ? [index] : []));
    if (count > 0) this.#cut(prompts.at(-count) ?? 0);
  }

  /** Only these are live, in this order: the agent has put them in the place of everything before. */
  keep(keys: readonly (string | undefined)[]): void {
    const places = new Map(this.#live.map((place) => [place.key, place]));
    this.#live = keys.flatMap((key) => (key === undefined ? [] : (places.get(key) ?? [])));
  }

  /** Tell what is held as if the file ended here. @param isFinished  Nothing was written for long. */
  *pause(isFinished: boolean): Generator<ImportEvent> {
    for (const thread of this.#threads) yield* thread.pause(isFinished);
  }

  /** @param isFinished  Nothing will be written any more. */
  *finish(isFinished: boolean): Generator<ImportEvent> {
    for (const thread of this.#threads) yield* thread.finish(isFinished);
  }

  #cut(length: number): void {
    if (length === this.#live.length) return;
    this.#live = this.#live.slice(0, length);
    this.#fork = { after: this.#live.at(-1) };
  }

  *#begin(firstId: string, after: Place | undefined): Generator<ImportEvent> {
    const { externalId, metadata, createdAtMs: _, ...root } = this.root;
    const parent = after?.thread ?? this.#current;
    yield* this.#current.flush();
    const session: ImportedSession = {
      ...root,
      externalId: `${externalId}/fork-${firstId}`,
      parentExternalId: parent.session.externalId,
    };
    if (metadata !== undefined) session.metadata = { ...metadata };
    if (after !== undefined) session.forkedAfter = after.lastId;
    this.#current = new Thread(session);
    this.#threads.push(this.#current);
    this.#fork = undefined;
  }
}
