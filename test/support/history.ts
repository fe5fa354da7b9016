/** One call of a process on a session, as the process saw it. Messages go by their keys, of which no two are alike. */
export type Event = {
  process: string;
  /** When it was called and when it returned; `to` is Infinity where the process was killed before it could tell. */
  from: number;
  to: number;
} & (
  | {
      /** All keys at once, at the session's end. */
      kind: "append";
      keys: readonly string[];
      answer: Answer;
    }
  | {
      /** Those of the keys that the session does not hold. */
      kind: "sync";
      keys: readonly string[];
      answer: Answer;
    }
  /** A look at the session that found so many messages. */
  | { kind: "read"; count: number }
);

/** The places acknowledged; `refused`: nothing was written; `unknown`: it may have happened or not. */
export type Answer = readonly number[] | "refused" | "unknown";

type Writing = Extract<Event, { answer: Answer }>;

/**
 * Could the calls of all processes have happened one at a time, each at some moment between its call and its return, and
 * left the session in this order? (Herlihy and Wing, *Linearizability*, 1990.)
 *
 * For a list that only grows, and whose every append says where it came to stand, that takes no search: a call that
 * returned before another began must have left no more messages than the other found.
 *
 * @param order  The keys of the session's messages at the end.
 * @returns a line for each thing that could not be so.
 */
export function historyFaults(events: readonly Event[], order: readonly string[]): string[] {
  const seqs = new Map(order.map((key, seq) => [key, seq]));
  const writings = events.filter((event): event is Writing => event.kind !== "read");
  const said = new Set(writings.filter(({ answer }) => answer !== "refused").flatMap(({ keys }) => keys));
  return [
    ...order.filter((key, seq) => seqs.get(key) !== seq).map((key) => `${key} stands twice`),
    ...order.filter((key) => !said.has(key)).map((key) => `${key} is there, and nobody was let say it`),
    ...writings.flatMap((event) => placeFaults(event, order, seqs)),
    ...programFaults(writings, seqs),
    ...timeFaults(events, seqs),
  ];
}

/** What a call says of places, and where its messages are. */
function placeFaults({ kind, keys, answer }: Writing, order: readonly string[], seqs: Map<string, number>): string[] {
  const name = `${kind} of ${keys.join(", ")}`;
  if (answer === "refused") return [];
  if (answer === "unknown") {
    const present = keys.filter((key) => seqs.has(key));
    const isWhole = present.length === 0 || keys.every((key, index) => seqs.get(key) === seqs.get(keys[0]!)! + index);
    return kind === "sync" || isWhole ? [] : [`${name} happened in part`];
  }
  const found = answer.map((seq) => order[seq]!);
  if (kind === "append") {
    const isInPlace = found.length === keys.length && keys.every((key, index) => found[index] === key);
    const isWhole = answer.every((seq, index) => seq === answer[0]! + index);
    return isInPlace && isWhole
      ? []
      : [`${name} was acknowledged at ${answer.join(", ")}; there is ${found.join(", ")}`];
  }
  return [
    ...found.filter((key) => !keys.includes(key)).map((key) => `${name} was acknowledged for ${key}`),
    ...keys.filter((key) => !seqs.has(key)).map((key) => `${name} left out ${key}`),
  ];
}

/** What one process said in turn stands in that order, and what it did after the kill did not happen. */
function programFaults(writings: readonly Writing[], seqs: Map<string, number>): string[] {
  const faults: string[] = [];
  const last = new Map<string, { seq: number; isOver: boolean }>();
  for (const { kind, process, keys, answer } of writings) {
    if (kind === "sync" || answer === "refused") continue;
    const before = last.get(process) ?? { seq: -1, isOver: false };
    const seq = seqs.get(keys[0]!);
    if (seq !== undefined && before.isOver) faults.push(`${keys[0]} was said by ${process} after what did not happen`);
    if (seq !== undefined && seq < before.seq) faults.push(`${keys[0]} stands before what ${process} said earlier`);
    last.set(process, { seq: seq ?? before.seq, isOver: before.isOver || seq === undefined });
  }
  return faults;
}

/** The most messages a call can have found, and the least it can have left, as far as it shows. */
function countsOf(event: Event, seqs: Map<string, number>): { found: number; left: number } {
  if (event.kind === "read") return { found: event.count, left: event.count };
  if (event.answer === "refused") return { found: Number.POSITIVE_INFINITY, left: 0 };
  if (event.answer === "unknown") {
    const seq = event.kind === "append" ? seqs.get(event.keys[0]!) : undefined;
    return { found: seq ?? Number.POSITIVE_INFINITY, left: 0 }; // it has not returned before anything began
  }
  const known = event.keys.flatMap((key) => seqs.get(key) ?? []);
  return { found: event.answer[0] ?? Number.POSITIVE_INFINITY, left: Math.max(-1, ...event.answer, ...known) + 1 };
}

function timeFaults(events: readonly Event[], seqs: Map<string, number>): string[] {
  const faults: string[] = [];
  const counted = events.map((event) => ({ event, ...countsOf(event, seqs) }));
  for (const earlier of counted) {
    for (const later of counted) {
      if (earlier.event.to >= later.event.from || earlier.left <= later.found) continue;
      const names = [earlier, later].map(({ event }) => `${event.kind} of ${event.process} at ${event.from}`);
      faults.push(`${names[0]} left ${earlier.left} messages, and ${names[1]} found ${later.found}`);
    }
  }
  return faults;
}
