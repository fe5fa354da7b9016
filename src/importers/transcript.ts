import type { BranchOptions } from "./branch.ts";
import { Branches } from "./branches.ts";
import type { ImportEvent, ImportedSession, ImportFile } from "./importer.ts";
import type { DamagedLine, Pause } from "./lines.ts";

/** Translates one format: finds the messages in the items of a file, and adds them to a `Transcript`. */
export interface Translator<Item> {
  /** Translates one item: a line, an element of a document. */
  read(item: Item): void;
  /** Called for an item that cannot be read. */
  skip?(): void;
  /** Adds the messages that only waited for the end. Called before each pause and at the end of the file. */
  end?(isQuiet: boolean, isPause: boolean): void;
  /** Completes a session just before it is announced. */
  complete?(session: ImportedSession): Promise<void>;
}

/**
 * The pipeline of a file: a translator adds messages as it finds them, and they leave as events in the order of the contract.
 *
 * Most files hold one session. Others hold several, each with a name.
 */
export class Transcript {
  readonly #sessions = new Map<string, { branches: Branches; isSubagent: boolean }>();
  #events: ImportEvent[] = [];

  /** Returns the branches of the session of this name. The first call creates them from `describe`. */
  open(
    name: string,
    describe: () => ImportedSession,
    { isSubagent = false, isReady }: { isSubagent?: boolean; isReady?: NonNullable<BranchOptions["isReady"]> } = {},
  ): Branches {
    let session = this.#sessions.get(name);
    if (session === undefined) {
      const emit = (event: ImportEvent) => this.emit(event);
      const options: BranchOptions = { session: describe(), emit };
      if (isReady !== undefined) options.isReady = isReady;
      session = { branches: new Branches(options), isSubagent };
      this.#sessions.set(name, session);
    }
    return session.branches;
  }

  /** Returns the branches of the session of this name, if it has been opened. */
  branches(name = ""): Branches | undefined {
    return this.#sessions.get(name)?.branches;
  }

  /** All sessions, subagents last. */
  get sessions(): Branches[] {
    const sessions = [...this.#sessions.values()];
    const own = sessions.filter(({ isSubagent }) => !isSubagent);
    return [...own, ...sessions.filter(({ isSubagent }) => isSubagent)].map(({ branches }) => branches);
  }

  emit(event: ImportEvent): void {
    this.#events.push(event);
  }

  warn(line: number, reason: string): void {
    this.emit({ kind: "warning", line, reason });
  }

  /** Emits the messages that are complete, and keeps holding those that later entries may change. */
  pause(isQuiet: boolean): void {
    for (const { all } of this.sessions) for (const branch of all) branch.pause(isQuiet);
  }

  /** Emits all remaining messages. */
  finish(isFinished: boolean): void {
    for (const { all } of this.sessions) for (const branch of all) branch.finish(isFinished);
    this.#sessions.clear();
  }

  get hasEvents(): boolean {
    return this.#events.length > 0;
  }

  /** Returns the events since the last call. */
  takeEvents(): ImportEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** Reads a file item by item, through the translator that `begin` makes. */
export async function* readTranscript<Item extends object>(
  { isFinished = false }: ImportFile,
  items: AsyncIterable<Item | DamagedLine | Pause>,
  begin: (transcript: Transcript) => Translator<Item>,
): AsyncGenerator<ImportEvent> {
  const transcript = new Transcript();
  const translator = begin(transcript);
  async function* emitted(): AsyncGenerator<ImportEvent> {
    for (const event of transcript.takeEvents()) {
      if (event.kind === "session") await translator.complete?.(event.session);
      yield event;
    }
  }
  for await (const item of items) {
    if ("isPause" in item) {
      translator.end?.(item.isQuiet, true);
      transcript.pause(item.isQuiet);
      yield* emitted();
      yield { kind: "paused" };
      continue;
    }
    if ("problem" in item) {
      translator.skip?.();
      transcript.warn(item.line, item.problem);
    } else translator.read(item);
    if (transcript.hasEvents) yield* emitted();
  }
  translator.end?.(isFinished, false);
  transcript.finish(isFinished);
  yield* emitted();
}
