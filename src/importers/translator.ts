import type { Branch } from "./branch.ts";
import { Branches } from "./branches.ts";
import type { ImportEvent, ImportedSession, ImportFile } from "./importer.ts";
import type { DamagedLine, Pause } from "./lines.ts";

/**
 * Translates one file: finds the messages in its items, and yields them as events in the order of the contract. Each format has
 * a subclass that knows its items: lines, or elements of a document.
 *
 * Most files hold one session, with the name "". Others hold several.
 */
export abstract class Translator<Item extends object> {
  protected readonly file: ImportFile;
  readonly #sessions = new Map<string, Branches>();
  #events: ImportEvent[] = [];

  constructor(file: ImportFile) {
    this.file = file;
  }

  abstract read(item: Item): void;

  /** Called for an item that cannot be read. */
  protected skip(): void {}

  /** Adds the messages that only waited for the end. Called before each pause and at the end of the file. */
  protected end(_isQuiet: boolean, _isPause: boolean): void {}

  /** Completes a session just before it is announced. */
  protected async complete(_session: ImportedSession): Promise<void> {}

  /** Returns false while too little is known about a session to announce it before the end of the file. */
  protected isReady(_branch: Branch, _isFull: boolean): boolean {
    return true;
  }

  /** Returns the branches of the session of this name. The first call creates them from `describe`. */
  protected open(name: string, describe: () => ImportedSession): Branches {
    let branches = this.#sessions.get(name);
    if (branches === undefined) {
      branches = new Branches({
        session: describe(),
        emit: (event) => this.emit(event),
        isReady: (branch, isFull) => this.isReady(branch, isFull),
      });
      this.#sessions.set(name, branches);
    }
    return branches;
  }

  /** Returns the branches of the session of this name, if it has been opened. */
  protected branches(name = ""): Branches | undefined {
    return this.#sessions.get(name);
  }

  /** All sessions, subagents last. */
  protected get sessions(): Branches[] {
    const isSubagent = ({ root }: Branches) => root.session.parentExternalId !== undefined;
    const sessions = [...this.#sessions.values()];
    return [...sessions.filter((one) => !isSubagent(one)), ...sessions.filter(isSubagent)];
  }

  protected emit(event: ImportEvent): void {
    this.#events.push(event);
  }

  protected warn(line: number, reason: string): void {
    this.emit({ kind: "warning", line, reason });
  }

  /** Emits all remaining messages. */
  protected finish(isFinished: boolean): void {
    for (const { all } of this.sessions) for (const branch of all) branch.finish(isFinished);
    this.#sessions.clear();
  }

  /** Yields the events of the file with these items. */
  async *translate(
    items: AsyncIterable<Item | DamagedLine | Pause> | Iterable<Item | DamagedLine>,
  ): AsyncGenerator<ImportEvent> {
    for await (const item of items) {
      if ("isPause" in item) {
        this.end(item.isQuiet, true);
        for (const { all } of this.sessions) for (const branch of all) branch.pause(item.isQuiet);
        yield* this.#emitted();
        yield { kind: "paused" };
        continue;
      }
      if ("problem" in item) {
        this.skip();
        this.warn(item.line, item.problem);
      } else this.read(item);
      if (this.#events.length > 0) yield* this.#emitted();
    }
    const { isFinished = false } = this.file;
    this.end(isFinished, false);
    this.finish(isFinished);
    yield* this.#emitted();
  }

  async *#emitted(): AsyncGenerator<ImportEvent> {
    for (const event of this.#events.splice(0)) {
      if (event.kind === "session") await this.complete(event.session);
      yield event;
    }
  }
}
