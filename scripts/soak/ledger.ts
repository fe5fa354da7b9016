import type { Message, Store } from "../../src/index.ts";
import { isAsSaid } from "./said.ts";

/** A line of JSON that an actor prints until it is killed. `at` is in Unix milliseconds by the machine's clock. */
export type Line =
  /** The store is open, and the actor's messages before `next` are in it. `ino` is the file's inode number. */
  | { say: "open"; next: number; ino: number }
  /** The messages from `from` to before `to` are about to be stored, in one transaction if `isWhole`. */
  | { say: "begin"; from: number; to: number; isWhole: boolean; at: number }
  /** All messages before `next` were acknowledged. */
  | { say: "stored"; next: number }
  /** Messages are about to be forgotten, or were. */
  | { say: "forgetting" | "forgot"; numbers: number[] }
  /** The actor has done something that stores no message. */
  | { say: "did" }
  /** A typed error of the library ended the actor. */
  | { say: "typed"; code: string }
  /** Something that must never be seen. */
  | { say: "untyped" | "wrong"; text: string };

interface Entry {
  /** All messages before this number were acknowledged. */
  next: number;
  /** Messages that may be stored. */
  begun: { from: number; to: number; isWhole: boolean } | undefined;
  /** Forgotten messages. The value is false while nobody has acknowledged it. */
  forgotten: Map<number, boolean>;
}

/** Remembers the messages that the store has acknowledged to each actor. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();

  get acknowledged(): number {
    return [...this.#entries.values()].reduce((sum, { next }) => sum + next, 0);
  }

  /** The number of an actor's next message, as far as it was acknowledged. */
  nextOf(actor: string): number {
    return this.#entries.get(actor)?.next ?? 0;
  }

  /** Returns a ledger of the messages in an older copy of the store. Those that it lacks before an actor's newest were forgotten. */
  asIn(store: Store): Ledger {
    const ledger = new Ledger();
    const stored = storedIn(store, () => {});
    for (const [actor, entry] of this.#entries) {
      const has = (number: number): boolean => stored.has(`${actor} ${number}`);
      let next = entry.begun?.to ?? entry.next;
      next = Math.min(next, entry.next + 1_000);
      while (next > 0 && !has(next - 1)) next -= 1;
      const absent = Array.from({ length: next }, (_, number) => number).filter((number) => !has(number));
      ledger.#entries.set(actor, {
        next,
        begun: undefined,
        forgotten: new Map(absent.map((number) => [number, true])),
      });
    }
    return ledger;
  }

  /** Notes a line of an actor. @returns the number of acknowledged messages that the actor could not find. */
  hear(actor: string, line: Line): number {
    const entry = this.#entries.get(actor) ?? { next: 0, begun: undefined, forgotten: new Map() };
    if (line.say === "begin") this.#entries.set(actor, { ...entry, begun: line });
    const isStored = line.say === "stored" || (line.say === "open" && line.next > entry.next);
    if (isStored && entry.begun !== undefined) {
      // An actor that forgets, and was started before an older copy replaced the file, leaves out the numbers that the copy lacks.
      for (let number = entry.next; number < entry.begun.from; number++) entry.forgotten.set(number, true);
    }
    if (line.say === "stored") this.#entries.set(actor, { ...entry, next: line.next, begun: undefined });
    if (line.say === "forgetting" || line.say === "forgot") {
      for (const number of line.numbers) entry.forgotten.set(number, line.say === "forgot");
      this.#entries.set(actor, entry);
    }
    if (line.say !== "open") return 0;
    // A batch that was not acknowledged before the kill is stored as a whole, or not at all. From here on it must stay.
    const isHalf = entry.begun?.isWhole && line.next > entry.next && line.next !== entry.begun.to;
    this.#entries.set(actor, { ...entry, next: Math.max(line.next, entry.next), begun: undefined });
    const missing = Array.from({ length: Math.max(0, entry.next - line.next) }, (_, index) => line.next + index);
    return missing.filter((number) => !entry.forgotten.has(number)).length + (isHalf ? 1 : 0);
  }

  /** Compares a store that nobody writes to with what was acknowledged. */
  check(store: Store): { lost: number; wrong: number; faults: string[] } {
    const faults: string[] = [];
    let lost = 0;
    let wrong = 0;
    const { ok, problems } = store.verify();
    if (!ok) {
      wrong += 1;
      faults.push(`verify: ${problems.map(({ text }) => text).join("; ")}`);
    }
    const stored = storedIn(store, (message) => {
      if (isAsSaid(message)) return;
      wrong += 1;
      faults.push(`message ${message.id} (${message.externalId}) is not what was said`);
    });
    for (const [actor, { next, begun, forgotten }] of this.#entries) {
      const has = (number: number): boolean => stored.has(`${actor} ${number}`);
      for (let number = 0; number < next; number++) {
        if (has(number) === !forgotten.has(number)) continue;
        if (has(number) && forgotten.get(number) === false) continue;
        faults.push(`${actor} ${number} is ${has(number) ? "there again" : "gone"}`);
        if (has(number)) wrong += 1;
        else lost += 1;
      }
      if (begun?.isWhole !== true) continue;
      const count = Array.from({ length: begun.to - begun.from }, (_, index) => has(begun.from + index));
      if (new Set(count).size < 2) continue;
      wrong += 1;
      faults.push(`${actor}: half of the messages ${begun.from} to ${begun.to} are there`);
    }
    return { lost, wrong, faults };
  }
}

const SUPERSEDED = `SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_id
  WHERE s.superseded_at_ms IS NOT NULL`;

/** Returns the external ids of all messages of a store, superseded ones included. */
function storedIn(store: Store, look: (message: Message) => void): Set<string> {
  const stored = new Set<string>();
  for (const { id } of store.sessions({ limit: 1_000 })) {
    for (const message of store.resume(id).messages()) {
      look(message);
      stored.add(message.externalId!);
    }
  }
  for (const { id } of store.query(SUPERSEDED)) {
    const { members } = store.expand(`message:${id}`, { level: "step" });
    const message = members.find((member) => member.id === id)!;
    look(message);
    stored.add(message.externalId!);
  }
  return stored;
}
