import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { openStore, type Store, StoreError } from "../../../src/index.ts";
import { randomFrom } from "../messages.ts";
import { type Column, columnsOf } from "./columns.ts";
import { type Answer, type Question, questionsOf } from "./questions.ts";
import { Stored } from "./shown.ts";

/** The copies that a child reads: those with seeds from `seedFrom` to before `seedTo`. */
export interface Work {
  source: string;
  target: string;
  seedFrom: number;
  seedTo: number;
  /** True to flip one bit of a value in each copy. The columns of all tables and indexes are hit equally often. */
  isByColumn: boolean;
}

/** The reads of one damaged copy that went wrong, by name. */
export interface Outcome {
  seed: number;
  damage: string;
  /** Those that showed a text, a name, a time or an order of messages that was not stored. */
  wrong: string[];
  /** Those that showed only what was stored, and not all of it, or other numbers or hits. */
  missing: string[];
  /** True if `verify` found something, or the store was refused. */
  isFound: boolean;
  untyped: string[];
  refusedCount: number;
  /** Reads that still differ although `verify({ rebuild: true })` found the store sound. */
  notHealed: string[];
}

const PAGE = 4_096;

/** Flips one to eight bits, or replaces a page, whole or in part. @returns the copy, and what was done. */
function damaged(bytes: Buffer, random: () => number): { copy: Buffer; damage: string } {
  const copy = Buffer.from(bytes);
  const at = (length: number): number => Math.floor(random() * length);
  if (random() < 0.75) {
    const places = Array.from({ length: 1 + at(8) }, () => at(copy.length));
    for (const place of places) copy[place]! ^= 1 << at(8);
    return { copy, damage: `bits at ${places.join(", ")}` };
  }
  const page = at(copy.length / PAGE);
  const [from, to] = [page * PAGE + (random() < 0.5 ? 0 : at(8) * 512), (page + 1) * PAGE];
  const kind = at(3);
  if (kind === 0) copy.fill(0, from, to);
  else if (kind === 1) {
    const other = at(copy.length / PAGE) * PAGE + (from % PAGE);
    bytes.copy(copy, from, other, other + to - from);
  } else for (let place = from; place < to; place++) copy[place] = at(256);
  return { copy, damage: `page ${page + 1} from byte ${from % PAGE}: ${["zeros", "another page", "noise"][kind]}` };
}

/** Flips a bit of a value. @returns the copy, and what was done. */
function damagedIn(columns: readonly Column[], bytes: Buffer, random: () => number): { copy: Buffer; damage: string } {
  const copy = Buffer.from(bytes);
  const oneOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const { name, places } = oneOf(columns);
  const { byte, length } = oneOf(places);
  const [at, bit] = [byte + Math.floor(random() * length), Math.floor(random() * 8)];
  copy[at]! ^= 1 << bit;
  return { copy, damage: `bit ${bit} at ${at} in ${name}` };
}

async function answer(question: Question, store: Store): Promise<Answer> {
  try {
    return { json: JSON.stringify(await question.ask(store)) ?? "null" };
  } catch (error) {
    if (StoreError.is(error)) return { code: error.code };
    return { untyped: `${question.name}: ${(error as Error).stack}` };
  }
}

function isSound(store: Store): boolean {
  try {
    return store.verify().ok;
  } catch (error) {
    if (StoreError.is(error)) return false;
    throw error;
  }
}

const clock = (): number => Date.UTC(2026, 1, 1);

async function check(
  work: Work,
  seed: number,
  originals: { questions: Question[]; answers: Answer[]; columns: readonly Column[] | undefined; stored: Stored },
): Promise<Outcome> {
  const random = randomFrom(seed);
  const { questions, answers, columns, stored } = originals;
  const bytes = readFileSync(work.source);
  const { copy, damage } = columns === undefined ? damaged(bytes, random) : damagedIn(columns, bytes, random);
  const lists = { wrong: [], missing: [], untyped: [], notHealed: [] };
  const outcome: Outcome = { seed, damage, ...lists, isFound: false, refusedCount: 0 };
  for (const suffix of ["", "-wal", "-shm"]) rmSync(work.target + suffix, { force: true });
  writeFileSync(work.target, copy);
  const readonly = random() < 0.5;
  const refuse = (error: unknown): void => {
    if (StoreError.is(error)) outcome.refusedCount += 1;
    else outcome.untyped.push(String((error as Error).stack));
  };
  let store: Store;
  try {
    store = openStore(work.target, { readonly, clock });
  } catch (error) {
    refuse(error);
    outcome.isFound = true;
    return outcome;
  }
  try {
    for (const [index, question] of questions.entries()) {
      const said = await answer(question, store);
      const right = answers[index]!;
      if ("untyped" in said) outcome.untyped.push(said.untyped);
      else if ("code" in said) outcome.refusedCount += 1;
      else if (!("json" in right) || right.json !== said.json) {
        const wrong = stored.wrongIn(said.json);
        if (wrong === undefined) outcome.missing.push(question.name);
        else outcome.wrong.push(`${question.name}: ${wrong}`);
      }
    }
    outcome.isFound = !isSound(store);
    if (!readonly && store.verify({ rebuild: true }).ok) {
      for (const [index, question] of questions.entries()) {
        const said = await answer(question, store);
        const right = answers[index]!;
        if (JSON.stringify(said) !== JSON.stringify(right)) outcome.notHealed.push(question.name);
      }
    }
  } catch (error) {
    refuse(error);
  } finally {
    try {
      store.close();
    } catch (error) {
      refuse(error);
    }
  }
  return outcome;
}

process.on("message", async (work: Work) => {
  const original = openStore(work.source, { readonly: true, clock });
  const questions = questionsOf(original);
  const answers: Answer[] = [];
  for (const question of questions) answers.push(await answer(question, original));
  const stored = new Stored(
    original,
    answers.flatMap((right) => ("json" in right ? [right.json] : [])),
  );
  original.close();
  const columns = work.isByColumn ? columnsOf(work.source) : undefined;
  for (let seed = work.seedFrom; seed < work.seedTo; seed++) {
    process.send!(await check(work, seed, { questions, answers, columns, stored }));
  }
  process.disconnect();
});
