import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { importRows } from "../../src/imports/import-rows.ts";
import { type MessageInput, type Session, type SessionOptions, type Store, StoreError } from "../../src/index.ts";
import { claimFaults, idsOf } from "../support/claims.ts";
import { runs, TESTS_ALL } from "../support/effort.ts";
import { assistant, calls, results, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { inFolderAsync, openFresh, tickingClock } from "../support/temporary-store.ts";

const settings = fc.record({
  project: fc.constant("p"),
  hotSize: fc.integer({ min: 4, max: 7 }),
  overlap: fc.constant(1),
  evictBatch: fc.integer({ min: 2, max: 5 }),
  maxThemes: fc.constant(3),
  openClustersMax: fc.constant(4),
  resolveTokensMin: fc.constant(40),
});
const DAY_MS = 86_400_000;

const SUBJECTS = [
  "deploy pipeline region lock bucket rollout cluster",
  "parser template brace token grammar syntax node",
  "invoice currency billing customer refund tax total",
];

type Event = { session: number; at: number } & (
  | { kind: "append"; subject: number; picks: number[]; isCompacted: boolean }
  | {
      kind: "begin" | "rewind" | "undo" | "fork" | "forgetMessage" | "forgetSession" | "rest" | "resolve" | "move";
    }
);

const event: fc.Arbitrary<Event> = fc
  .record({
    session: fc.nat(99),
    at: fc.nat(99),
    event: fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant("append" as const),
          subject: fc.nat(SUBJECTS.length - 1),
          picks: fc.array(fc.nat(99), { minLength: 1, maxLength: 12, size: "max" }),
          isCompacted: fc.boolean(),
        }),
      },
      {
        weight: 7,
        arbitrary: fc.record({
          kind: fc.constantFrom("rewind", "undo", "fork", "forgetMessage", "forgetSession", "rest", "resolve", "move"),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("begin") }) },
    ),
  })
  .map(({ event, ...where }) => ({ ...where, ...event }) as Event);

interface Said {
  seq: number;
  id: number;
  text: string;
}

/** What a session is to have, and what each undo is to bring back. */
interface Expected {
  said: Said[];
  undoable: { seqLast: number; superseded: Said[] }[];
}

/** What was done over all runs, and what it did; without it the test could pass on histories that are all refused. */
const seen = {
  rewind: 0,
  undo: 0,
  fork: 0,
  forgetMessage: 0,
  forgetSession: 0,
  rest: 0,
  resolve: 0,
  newHere: 0,
  continued: 0,
  summaries: 0,
  subjects: 0,
  shared: 0,
};

/**
 * Goal: sessions that fork, go back, come forward again, forget, are united in subjects and move to another store keep exactly
 * the messages that they should have, and nothing of them is taken for damage.
 * Method: run random histories of all these on one store, and move sessions to another one on the way. A model keeps the text
 * of each seq. Every few events, each session is compared with it, each message is claimed once by each context, and every
 * handle that the log ever had is expanded. In the end both stores must pass `verify`.
 */
test("forks, rewinds, forgetting, upkeep and moves get along with each other", async () => {
  await fc.assert(
    fc.asyncProperty(settings, fc.array(event, { minLength: 30, maxLength: 45, size: "max" }), (options, history) =>
      inFolderAsync((folder) => new Run(folder, options).play(history)),
    ),
    { numRuns: Math.max(3, runs(15)), endOnFailure: true },
  );
  if (!TESTS_ALL) return; // a few runs need not meet each
  expect(Object.entries(seen).filter(([, count]) => count < 3)).toEqual([]);
}, 120_000);

class Run {
  readonly #rowsPath: string;
  readonly #settings: SessionOptions;
  readonly #store: Store;
  readonly #other: Store;
  readonly #expected = new Map<string, Expected>();
  /** The messages of sessions in the other store. */
  readonly #moved = new Map<string, string[]>();
  readonly #undone = new Set<string>();
  #sleptMs = 0;
  #begunCount = 0;
  #saidCount = 0;

  constructor(folder: string, settings: SessionOptions) {
    this.#rowsPath = join(folder, "rows.jsonl");
    this.#settings = settings;
    const ticks = tickingClock();
    const clock = (): number => ticks() + this.#sleptMs;
    const options = { clock, summarizer: scriptedSummarizer("good") };
    this.#store = openFresh(join(folder, "agent.db"), options);
    this.#other = openFresh(join(folder, "other.db"), options);
    this.#begin();
  }

  async play(history: readonly Event[]): Promise<void> {
    for (const [index, happening] of history.entries()) {
      if (this.#expected.size === 0) this.#begin();
      const ids = [...this.#expected.keys()];
      await this.#do(ids[happening.session % ids.length]!, happening);
      if (index % 15 === 14) await this.#compare();
    }
    await this.#compare();
    const [row] = this.#store.query(
      `SELECT (SELECT count(*) FROM summaries WHERE status = 'done') AS summaries,
              (SELECT count(*) FROM unions WHERE level = 'subject') AS subjects`,
    ) as [{ summaries: number; subjects: number }];
    seen.summaries += row.summaries;
    seen.subjects += row.subjects;
    for (const store of [this.#store, this.#other]) {
      expect(store.verify()).toMatchObject({ ok: true, problems: [] });
      store.close();
    }
  }

  #begin(): void {
    const id = this.#newId();
    this.#store.session(id, this.#settings);
    this.#expected.set(id, { said: [], undoable: [] });
  }

  #newId(): string {
    this.#begunCount += 1;
    return `s${this.#begunCount}`;
  }

  async #do(id: string, happening: Event): Promise<void> {
    const session = this.#store.resume(id);
    const expected = this.#expected.get(id)!;
    const { said, undoable } = expected;
    const at = said[happening.at % said.length];
    switch (happening.kind) {
      case "append":
        for (const message of this.#messages(happening)) {
          session.append(message);
          said.push(session.messages({ last: 1 })[0]!);
        }
        if (happening.isCompacted) session.compact();
        break;
      case "begin":
        this.#begin();
        break;
      case "rewind": {
        if (at === undefined) break;
        if (refused(() => session.rewind({ toSeq: at.seq }), "SESSION_SHARED", "OPTION_INVALID")) break;
        const superseded = said.splice(said.indexOf(at) + 1);
        if (superseded.length > 0) undoable.push({ seqLast: at.seq, superseded });
        seen.rewind += 1;
        break;
      }
      case "undo": {
        if (refused(() => session.undo(), "SESSION_SHARED")) break;
        const last = undoable.pop();
        if (last === undefined) break;
        expected.said = [...said.filter(({ seq }) => seq <= last.seqLast), ...last.superseded];
        this.#undone.add(id);
        seen.undo += 1;
        break;
      }
      case "fork": {
        const forkId = this.#newId();
        if (refused(() => session.fork({ id: forkId, ...(at && { toSeq: at.seq }) }), "OPTION_INVALID")) break;
        this.#expected.set(forkId, { said: said.slice(0, said.indexOf(at!) + 1), undoable: [] });
        seen.fork += 1;
        break;
      }
      case "forgetMessage": {
        if (at === undefined) break;
        const step = this.#store.query(
          `SELECT id FROM messages WHERE step_id = (SELECT step_id FROM messages WHERE id = ${at.id})`,
        );
        if (refused(() => this.#store.forget(id, { messageIds: [at.id] }), "SESSION_SHARED")) break;
        const isLeft = (message: Said): boolean => !step.some((row) => row.id === message.id);
        expected.said = said.filter(isLeft);
        for (const branch of undoable) branch.superseded = branch.superseded.filter(isLeft);
        seen.forgetMessage += 1;
        break;
      }
      case "forgetSession":
        if (refused(() => this.#store.forget(id), "SESSION_SHARED")) break;
        this.#expected.delete(id);
        seen.forgetSession += 1;
        break;
      case "rest":
        this.#sleptMs += 5 * DAY_MS;
        await this.#store.upkeep();
        seen.rest += 1;
        break;
      case "resolve":
        await session.resolveDirty();
        session.compact();
        seen.resolve += 1;
        break;
      case "move":
        this.#move(id);
    }
  }

  /** Moves a session, or what it has become since. A fork is refused. */
  #move(id: string): void {
    if (refused(() => writeFileSync(this.#rowsPath, this.#rowsOf(id)), "SESSION_SHARED")) return;
    const [moved] = importRows(this.#other, this.#rowsPath);
    // An undo deletes the branch that the other store has.
    if (this.#undone.has(id) && moved!.error?.code === "SESSION_DIVERGED") return;
    expect(moved!.error).toBeNull();
    if (moved!.outcome === "new") seen.newHere += 1;
    if (moved!.outcome === "continued") seen.continued += 1;
    this.#moved.set(id, textsOf(this.#store.resume(id)));
  }

  #rowsOf(id: string): string {
    return [...this.#store.export({ rows: true, sessions: [id] })].map((line) => `${line}\n`).join("");
  }

  #messages({ subject, picks }: { subject: number; picks: readonly number[] }): MessageInput[] {
    const words = SUBJECTS[subject]!.split(" ");
    return picks.flatMap((pick) => {
      this.#saidCount += 1;
      const text = `Message ${this.#saidCount}: the ${words[pick % 7]} of the ${words[(pick * 3 + 1) % 7]} is ${words[pick % 5]}.`;
      if (pick % 5 === 0) return [calls([`call_${this.#saidCount}`]), results([`call_${this.#saidCount}`], text)];
      return [pick % 2 === 0 ? user(text) : assistant(text)];
    });
  }

  async #compare(): Promise<void> {
    for (const [id, { said }] of this.#expected) {
      const session = this.#store.resume(id);
      const plain = ({ seq, id, text }: Said): Said => ({ seq, id, text });
      expect([id, session.messages().map(plain)]).toEqual([id, said.map(plain)]);
      for (const tokensMax of [600, 100_000]) {
        if (refused(() => session.render({ tokensMax }), "BUDGET_TOO_SMALL")) continue;
        expect(claimFaults(this.#store, session, session.render({ tokensMax }))).toEqual([]);
      }
      const hits = await this.#store.recall("the region of the bucket", { sessionIds: [id] });
      expect(said.map(plain)).toEqual(
        expect.arrayContaining(hits.map(({ messageId, seq, text }) => ({ seq, id: messageId, text }))),
      );
    }
    for (const [id, texts] of this.#moved) {
      const session = this.#other.resume(id);
      expect([id, textsOf(session)]).toEqual([id, texts]);
      expect(claimFaults(this.#other, session, session.render({ tokensMax: 100_000 }))).toEqual([]);
    }
    for (const store of [this.#store, this.#other]) this.#readAll(store);
  }

  /** Everything that is not of one session; nothing of it may be taken for damage. */
  #readAll(store: Store): void {
    store.recap({ sinceMs: 0 });
    for (const { subject } of store.subjects()) {
      store.subject(subject);
      const ids = idsOf(store, subject);
      expect(ids).toHaveLength(new Set(ids).size);
    }
    for (const { id } of store.query("SELECT id FROM messages WHERE id % 7 = 0")) store.expand(id as number);
    const past = store.query(
      `SELECT level || ':' || root || '@' || id AS handle FROM (
         SELECT id, level, root FROM unions UNION ALL SELECT id, level, root FROM undone_unions)`,
    );
    for (const { handle } of past) refused(() => store.expand(handle as string), "ROOT_NOT_FOUND");
  }
}

/** Returns true if a call is refused with one of these codes. Any other error goes on. */
function refused(call: () => unknown, ...codes: StoreError["code"][]): boolean {
  try {
    call();
    return false;
  } catch (error) {
    if (!StoreError.is(error) || !codes.includes(error.code)) throw error;
    if (error.code === "SESSION_SHARED") seen.shared += 1;
    return true;
  }
}

function textsOf(session: Session): string[] {
  return session.messages().map(({ text }) => text);
}
