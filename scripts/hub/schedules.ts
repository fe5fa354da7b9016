import { deepStrictEqual, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type Hub, openHub } from "../../src/hub/index.ts";
import { openStore, type Store, StoreError } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { storeIdOf, takeIdBlock } from "../../src/store/changes/id-blocks.ts";
import { factsInStore, factsOnHub } from "../../test/support/hub-facts.ts";
import { calls, results, talk } from "../../test/support/said.ts";

const SMALL = { hotSize: 4, overlap: 1, evictBatch: 4, maxThemes: 3, openClustersMax: 4 } as const;

/** What happens. The numbers choose among what there is. */
const step = fc.record({
  kind: fc.constantFrom(
    ...[
      "create",
      "append",
      "append",
      "append",
      "append",
      "rewind",
      "undo",
      "edit",
      "forgetMessages",
      "forgetSession",
      "facts",
      "rename",
      "items",
      "items",
    ],
    ...[
      "push",
      "push",
      "push",
      "push",
      "push",
      "push",
      "push",
      "pushTwice",
      "pull",
      "pull",
      "pull",
      "pull",
      "take",
      "take",
    ],
    ...["fork", "fork", "takeDuringPush", "save", "save", "restore", "restore", "pushSaved", "pushSaved", "keep"],
  ) as fc.Arbitrary<Kind>,
  store: fc.nat(11),
  session: fc.nat(11),
  count: fc.nat(11),
});
type Kind =
  | (
      | "create"
      | "append"
      | "rewind"
      | "undo"
      | "edit"
      | "forgetMessages"
      | "forgetSession"
      | "facts"
      | "rename"
      | "items"
    )
  | ("push" | "pushTwice" | "pull" | "take" | "fork" | "takeDuringPush" | "save" | "restore" | "pushSaved" | "keep");
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A state of a session. */
interface State {
  /** What was done until then. Each message that was appended, each that was forgotten, and each other change has a name. */
  done: ReadonlySet<string>;
  /** The facts, without the rows that each store has of its own. */
  lines: readonly string[];
  /** What the facts were before, and what they are. An undo may bring earlier ones back. */
  past: ReadonlySet<string>;
  /** What a model sees, if the state was read in a store. */
  rendered: string;
}

const NOTHING = { done: new Set<string>(), past: new Set<string>() };

/** What a file has. */
interface FileModel {
  sessions: Map<string, State>;
  /** Sessions that were forgotten, and of which the hub was not told yet. */
  untold: Set<string>;
  /** Sessions that were forgotten, apart from copies. A pull does not bring them back. */
  forgotten: Set<string>;
  /** What the hub had of each session when the file last pushed or pulled it. */
  seen: Map<string, State>;
  /** The titles and items that the file and the hub last had in common. */
  agreed: Map<string, readonly string[]>;
  /** True from the first push or pull on: before, a store notes nothing that is forgotten. */
  isNoting: boolean;
}

interface StoreModel extends FileModel {
  path: string;
  store: Store;
  storeId: string;
  saved: (FileModel & { path: string })[];
}

interface HubSession {
  state: State | "forgotten";
  /** False if it was forgotten before it was pushed. Then copies of the file keep it. */
  wasPushed: boolean;
  origin: string;
  holder: string;
  /** The key of the tombstones of the store that pushed it last. */
  key?: string | undefined;
}

export interface ScheduleFigures {
  schedules: number;
  steps: number;
  /** How often each outcome of a push or a pull was seen. */
  outcomes: Record<string, number>;
}

/** Which schedules of a seed run, counted from 1. */
export interface ScheduleRange {
  seed: number;
  from?: number;
  to: number;
}

/**
 * Runs random schedules on 2 to 4 stores and a hub, and compares all of them with a model in the end. The model knows states by what
 * was done until then: a state may only be replaced by one in which all of that was done, too, or by one whose facts were the same
 * before. Then an undo on the hub has brought back what the other one goes on from.
 *
 * @param url  Of a superuser of a hub who is in one team.
 * @param onFailure  Called for each schedule that fails, when it does.
 * @throws {AggregateError} the schedules that failed, after all have run.
 */
export async function hubSchedules(
  url: string,
  { seed, from = 1, to }: ScheduleRange,
  onFailure: (error: Error) => void = () => {},
): Promise<ScheduleFigures> {
  const figures: ScheduleFigures = { schedules: 0, steps: 0, outcomes: {} };
  const failures: Error[] = [];
  const hubs = [await openHub(url), await openHub(url)] as const;
  try {
    for (const [index, schedule] of schedulesOf(seed, to).entries()) {
      if (index + 1 < from) continue;
      const name = `schedule-${seed}-${index + 1}`;
      await runSchedule(url, hubs, name, schedule, figures.outcomes).catch((cause: Error) => {
        failures.push(new Error(`${name}: ${cause.message}`, { cause }));
        onFailure(failures.at(-1)!);
      });
      figures.schedules += 1;
      figures.steps += schedule.steps.length;
    }
  } finally {
    for (const hub of hubs) await hub.close();
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
  return figures;
}

interface Schedule {
  storeCount: number;
  steps: Step[];
}

function schedulesOf(seed: number, count: number): Schedule[] {
  const schedules: Schedule[] = [];
  const schedule = fc.record({
    storeCount: fc.integer({ min: 2, max: 4 }),
    steps: fc.array(step, { minLength: 20, maxLength: 60, size: "max" }),
  });
  fc.assert(
    fc.property(schedule, (one) => {
      schedules.push(one);
    }),
    { seed, numRuns: count },
  );
  return schedules;
}

async function runSchedule(
  url: string,
  hubs: readonly [Hub, Hub],
  name: string,
  { storeCount, steps }: Schedule,
  outcomes: Record<string, number>,
): Promise<void> {
  const world = new World(url, hubs, name, storeCount, outcomes);
  try {
    for (let store = 0; store < storeCount; store++)
      await world.take({ kind: "create", store, session: 0, count: store });
    for (const step of steps) await world.take(step);
    await world.compare();
  } finally {
    world.close();
  }
}

class World {
  readonly #url: string;
  readonly #hubs: readonly [Hub, Hub];
  readonly #project: string;
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), "coppice-schedule-")));
  readonly #stores: StoreModel[];
  readonly #onHub = new Map<string, HubSession>();
  readonly #outcomes: Record<string, number>;
  #now = 1_700_000_000_000;
  #newest = 0;

  constructor(
    url: string,
    hubs: readonly [Hub, Hub],
    project: string,
    storeCount: number,
    outcomes: Record<string, number>,
  ) {
    this.#url = url;
    this.#hubs = hubs;
    this.#project = project;
    this.#outcomes = outcomes;
    this.#stores = Array.from({ length: storeCount }, (_, index) => {
      const path = join(this.#folder, `${index}.db`);
      const store = this.#open(path);
      const { repositories } = internalsOf(store);
      // Without blocks of their own, stores refuse sessions of others whose ids they have given themselves.
      repositories.database.write("test", () => takeIdBlock(repositories, index + 1));
      return {
        path,
        store,
        storeId: storeIdOf(repositories)!,
        sessions: new Map(),
        untold: new Set(),
        forgotten: new Set(),
        seen: new Map(),
        agreed: new Map(),
        isNoting: false,
        saved: [],
      };
    });
  }

  close(): void {
    for (const { store } of this.#stores) store.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async take({ kind, store, session, count }: Step): Promise<void> {
    const model = this.#stores[store % this.#stores.length]!;
    const chosen = (ids: Iterable<string>): string | undefined => {
      const all = [...ids];
      return all[session % Math.max(1, all.length)];
    };
    const own = chosen(model.sessions.keys());
    const theirs = chosen(this.#visible().map(([id]) => id));
    const [hub] = this.#hubs;
    switch (kind) {
      case "create": {
        const id = `${this.#project}-${this.#next()}`;
        model.store.session(id, { ...SMALL, project: this.#project });
        return this.#change(model, id, () => this.#append(model, id, count));
      }
      case "save":
        return this.#save(model);
      case "restore":
        return this.#restore(model, count);
      case "pushSaved":
        return this.#pushSaved(model, count);
      case "push":
        return this.#push(model, model.store, hub);
      case "pushTwice":
        return this.#pushTwice(model);
      case "keep":
        await hub.keep();
        return;
      case "pull":
      case "take":
      case "fork":
        if (theirs !== undefined) await this.#pull(model, theirs, { take: kind !== "pull", fork: kind === "fork" });
        return;
      case "takeDuringPush":
        if (theirs !== undefined)
          await this.#takeDuringPush(model, this.#stores[(store + 1) % this.#stores.length]!, theirs);
        return;
      default:
        if (own !== undefined) this.#locally(model, own, kind, count);
    }
  }

  #locally(model: StoreModel, id: string, kind: Kind, count: number): void {
    const { store } = model;
    const session = store.session(id);
    const messages = session.messages();
    const some = messages[count % Math.max(1, messages.length)];
    if (kind === "append") this.#change(model, id, () => this.#append(model, id, count));
    if (kind === "undo") this.#change(model, id, () => session.undo(), `undone ${this.#next()}`);
    if (kind === "rewind" && some !== undefined) {
      this.#change(model, id, () => session.rewind({ toMessageId: some.id }));
    }
    if (kind === "edit") {
      const question = messages.find(({ role, seq }) => role === "user" && seq >= (some?.seq ?? 0));
      const edited = { role: "user", content: `edited as ${this.#next()}` } as const;
      if (question !== undefined) this.#change(model, id, () => session.edit(question.id, edited));
    }
    if (kind === "forgetMessages" && some !== undefined) {
      const messageIds = messages
        .filter(({ seq }) => seq >= some.seq && seq <= some.seq + (count % 3))
        .map(({ id }) => id);
      this.#change(model, id, () => store.forget(id, { messageIds }));
    }
    if (kind === "facts") {
      this.#change(model, id, () => {
        session.update({ title: `named as ${this.#next()}` });
        session.entries.append([{ id: `entry ${this.#next()}`, value: { count } }]);
        store.items.put([id], "item", { number: this.#next() }, { session: id });
      });
    }
    if (kind === "rename") {
      const title = `named as ${this.#next()}`;
      this.#change(model, id, () => session.update({ title }), `changed in place ${title}`);
    }
    if (kind === "items") {
      const change = (): unknown =>
        count % 4 === 0
          ? store.items.delete([id], `item ${count % 3}`)
          : store.items.put([id], `item ${count % 3}`, { number: this.#next() }, { session: id });
      this.#change(model, id, change, `changed in place ${this.#next()}`);
    }
    if (kind === "forgetSession") {
      // Others do not lose what was a copy here.
      const { isCopy } = store.forget(id);
      model.sessions.delete(id);
      if (!isCopy) model.forgotten.add(id);
      if (!isCopy && model.isNoting) model.untold.add(id);
      this.#count(isCopy ? "copy forgotten" : "session forgotten");
    }
  }

  #append({ store }: StoreModel, id: string, count: number): void {
    const call = `call ${this.#next()}`;
    const long = count % 5 === 0 ? `a long output ${this.#next()} `.repeat(1_200) : `output ${this.#next()}`;
    const said = talk(count + 1).map((message) => ({ ...message, content: `${message.content} ${this.#next()}` }));
    store.session(id).append([...said, calls([call]), results([call], long)]);
  }

  /** Changes a session in its store, and notes what was done. */
  #change(model: StoreModel, id: string, change: () => unknown, name = `changed ${this.#next()}`): void {
    const before = model.sessions.get(id);
    change();
    this.#note(model, id, before?.done ?? new Set(), name);
  }

  #note(model: StoreModel, id: string, before: ReadonlySet<string>, name?: string): void {
    const state = stateOf(model.store, id, model.sessions.get(id) ?? NOTHING);
    const had = messagesIn(model.sessions.get(id)?.lines ?? []);
    const has = messagesIn(state.lines);
    const done = new Set(before);
    for (const [messageId, message] of has) if (had.get(messageId) !== message) done.add(message);
    for (const [messageId, message] of had) if (!has.has(messageId)) done.add(`forgotten ${message}`);
    if (name !== undefined && state.lines.join() !== model.sessions.get(id)?.lines.join()) done.add(name);
    model.sessions.set(id, { ...state, done });
  }

  async #push(model: FileModel & { storeId: string }, store: Store, hub: Hub): Promise<void> {
    for (const id of model.untold) await this.#tell(model, id);
    const report = await hub.push(store, { projects: [this.#project], forgotten: "forget" });
    await this.#untell(model);
    for (const id of [...model.sessions.keys()]) {
      const outcome = (["gone", "expired", "moved", "behind", "diverged"] as const).find((name) =>
        report[name].includes(id),
      );
      await this.#pushed({ ...model, store } as StoreModel, id, outcome ?? "sent");
    }
    ok(report.expired.length === 0);
  }

  /** The hub learns what was forgotten before it gets anything else. */
  async #tell({ storeId }: { storeId: string }, id: string): Promise<void> {
    const known = this.#onHub.get(id);
    const { origin = storeId, holder = storeId, wasPushed = false } = known ?? {};
    this.#onHub.set(id, { origin, holder, wasPushed, state: "forgotten" });
  }

  async #untell(model: FileModel): Promise<void> {
    model.untold.clear();
    model.isNoting = true;
  }

  /** Compares the outcome of a push of a session with the model, and changes the model. */
  async #pushed(model: StoreModel, id: string, outcome: string): Promise<void> {
    this.#count(`push ${outcome}`);
    const own = model.sessions.get(id)!;
    const there = this.#onHub.get(id);
    const expected = (...names: string[]): void =>
      ok(names.includes(outcome), `push of ${id}: ${outcome}, not ${names}`);
    if (there === undefined) {
      expected("sent");
      const key = internalsOf(model.store).repositories.tombstones.key();
      this.#onHub.set(id, { origin: model.storeId, holder: model.storeId, wasPushed: true, state: own, key });
      model.seen.set(id, own);
      model.agreed.set(id, own.lines);
    } else if (there.state === "forgotten") {
      expected(there.wasPushed ? "gone" : "diverged");
      if (outcome === "diverged") return;
      model.sessions.delete(id);
      model.forgotten.add(id);
    } else {
      const has = messagesIn(own.lines);
      const isRefused = outcome === "diverged" || outcome === "behind";
      const left = messagesIn(factsInStore(model.store, id));
      const forgotten = [...has].flatMap(([messageId, name]) => {
        const isForgotten = (there.state as State).done.has(`forgotten ${name}`);
        return isForgotten && !(isRefused && left.get(messageId) === name) ? name : [];
      });
      if (forgotten.length > 0) {
        const done = new Set([...own.done, ...forgotten.map((name) => `forgotten ${name}`)]);
        this.#note(model, id, done);
      }
      if (there.holder !== model.storeId) return expected("moved");
      this.#sent(model, id, there as HubSession & { state: State }, outcome, expected);
    }
  }

  #sent(
    { store, ...model }: StoreModel,
    id: string,
    there: HubSession & { state: State },
    outcome: string,
    expected: (...names: string[]) => void,
  ): void {
    const own = model.sessions.get(id)!;
    const isNewer = isIn(there.state.done, own.done) || own.past.has(digestOf(there.state.lines));
    const isOlder = isIn(own.done, there.state.done);
    if (model.seen.get(id) === there.state) expected("sent");
    // A file that was copied before it was pushed does not know what the other one pushed.
    else if (isNewer || (isOlder && own.lines.join() === there.state.lines.join())) expected("sent", "behind");
    else expected("behind", "diverged");
    if (outcome !== "sent") return;
    for (const which of [titleIn, itemsIn]) {
      const isOverwritten = ![own.lines, model.agreed.get(id) ?? []].some(
        (lines) => which(lines) === which(there.state.lines),
      );
      ok(!isOverwritten, `push of ${id}: it overwrote ${which(there.state.lines)}`);
    }
    model.agreed.set(id, own.lines);
    // The key of the tombstones is with the facts, so a copy that lacks it is asked to look first.
    const key = internalsOf(store).repositories.tombstones.key();
    there.state = key === there.key ? own : { ...own };
    there.key = key;
    model.seen.set(id, there.state);
  }

  async #pushTwice(model: StoreModel): Promise<void> {
    const other = this.#open(model.path);
    try {
      const reports = await Promise.all([
        this.#hubs[0].push(model.store, { projects: [this.#project], forgotten: "forget" }),
        this.#hubs[1].push(other, { projects: [this.#project], forgotten: "forget" }),
      ]);
      for (const id of model.untold) await this.#tell(model, id);
      await this.#untell(model);
      for (const id of [...model.sessions.keys()]) {
        const outcome = (["gone", "moved", "behind", "diverged"] as const).find((name) =>
          reports.some((report) => report[name].includes(id)),
        );
        await this.#pushed(model, id, outcome ?? "sent");
      }
    } finally {
      other.close();
    }
  }

  async #pull(model: StoreModel, id: string, options: { take: boolean; fork: boolean }): Promise<void> {
    const there = this.#onHub.get(id) as HubSession & { state: State };
    const own = model.sessions.get(id);
    const known = [...model.sessions.keys()];
    try {
      const pulled = await this.#hubs[0].pull(model.store, id, { ...options, forget: true });
      this.#count(`pull ${pulled.outcome}${pulled.forkId === null ? "" : " with fork"}`);
      model.seen.set(id, there.state);
      if (options.take) there.holder = model.storeId;
      this.#came(model, id, there.state, pulled);
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      this.#count(`pull ${error.code}`);
      deepStrictEqual(
        model.store
          .sessions()
          .map(({ id }) => id)
          .sort(),
        known.sort(),
        "a refused pull left something",
      );
      if (own !== undefined) same(stateOf(model.store, id, own).lines, own.lines, `refused pull of ${id}`);
      this.#refused(model, id, there.state, error);
    }
  }

  #came(
    model: StoreModel,
    id: string,
    came: State,
    { outcome, forkId }: { outcome: string; forkId: string | null },
  ): void {
    const own = model.sessions.get(id);
    const agreed = model.agreed.get(id);
    model.agreed.set(id, came.lines);
    model.isNoting = true;
    const hasAll = own !== undefined && (isIn(came.done, own.done) || messagesAreIn(came, own));
    if (outcome === "known") {
      ok(hasAll, `pull of ${id}: known, but there is more on the hub`);
      return;
    }
    ok(!model.forgotten.has(id), `pull of ${id}: it came back`);
    const state = stateOf(model.store, id, came);
    const hasStayed = hasAll && restOf(state.lines).join() === restOf(own.lines).join();
    if (!hasStayed) this.#forked(model, id, came);
    const ownDone = [...(own?.done ?? [])];
    const changedInPlace = ownDone.filter((name) => name.startsWith("changed in place "));
    const ownForgotten = ownDone.filter((name) => name.startsWith("forgotten ") && !came.done.has(name));
    const kept = hasStayed ? ownDone : [...changedInPlace, ...ownForgotten];
    const done = new Set([...came.done, ...kept]);
    model.sessions.set(id, { ...state, done });
    if (own !== undefined && forkId === null) {
      const merged = mergedIn(own.lines, came.lines, agreed);
      deepStrictEqual([titleIn(state.lines), itemsIn(state.lines)], merged, `title and items of ${id} after a pull`);
    }
    if (hasStayed) return;
    // What was forgotten of a copy stays forgotten here.
    if (ownForgotten.length > 0) {
      ok(messagesAreIn(came, { ...state, done }), `pull of ${id}: messages are missing`);
      return;
    }
    if (own === undefined || forkId !== null) same(state.lines, came.lines, `pull of ${id}`);
    else same(restOf(state.lines), restOf(came.lines), `pull of ${id}`);
    deepStrictEqual(state.rendered, came.rendered, `contexts of ${id} after a pull`);
  }

  /** The messages that only the store had are in forks now, each once, apart from those that were forgotten on the hub. */
  #forked(model: StoreModel, id: string, came: State): void {
    const there = new Set(messagesIn(came.lines).values());
    const own = [...messagesIn(model.sessions.get(id)?.lines ?? []).values()].filter(
      (name) => !there.has(name) && !came.done.has(`forgotten ${name}`),
    );
    const inForks: string[] = [];
    for (const { id: forkId } of model.store.sessions()) {
      if (forkId === id || model.sessions.has(forkId)) continue;
      this.#note(model, forkId, new Set(), `forked ${forkId}`);
      this.#count("fork");
      inForks.push(...messagesIn(model.sessions.get(forkId)!.lines).values());
    }
    const contentOf = (name: string): string => name.split(" ").at(-1)!;
    deepStrictEqual(inForks.map(contentOf).sort(), own.map(contentOf).sort(), `forks of ${id}`);
  }

  #refused(model: StoreModel, id: string, there: State, error: StoreError): void {
    const own = model.sessions.get(id);
    if (StoreError.is(error, "SESSION_FORGOTTEN")) ok(model.forgotten.has(id));
    else if (StoreError.is(error, "ID_TAKEN")) {
      const others = [...model.sessions]
        .filter(([other]) => other !== id)
        .flatMap(([, state]) => [...idsIn(state.lines)]);
      const taken = idsIn(there.lines);
      const isTaken = others.some((name) => taken.has(name));
      ok(isTaken, `pull of ${id}: ${error.message}`);
    } else {
      if (!StoreError.is(error, "SESSION_DIVERGED") || own === undefined) throw error;
      this.#refusedAsDiverged(model, id, there);
    }
  }

  #refusedAsDiverged(model: FileModel, id: string, there: State): void {
    const own = model.sessions.get(id)!;
    ok(model.seen.get(id) !== there, `pull of ${id}: only the store has gone on, and it was refused`);
    // An undo takes a branch away, which looks like one that was never there.
    const undone = [...own.done].filter((name) => name.startsWith("undone ") && !there.done.has(name));
    ok(undone.length > 0 || !isIn(there.done, own.done), `pull of ${id}: the store has all of it, and was refused`);
    if (isIn(own.done, there.done)) this.#count("older copy refused");
  }

  async #takeDuringPush(taker: StoreModel, pusher: StoreModel, id: string): Promise<void> {
    const there = this.#onHub.get(id) as HubSession & { state: State };
    if (taker.sessions.has(id) || there.holder !== pusher.storeId || pusher.untold.size > 0 || !pusher.sessions.has(id))
      return;
    const [pulled, pushed] = await Promise.allSettled([
      this.#hubs[1].pull(taker.store, id, { take: true, forget: true }),
      this.#hubs[0].push(pusher.store, { projects: [this.#project], forgotten: "forget" }),
    ]);
    if (pushed.status === "rejected") throw pushed.reason;
    const outcomeOf = (name: string): string =>
      (["gone", "moved", "behind", "diverged"] as const).find((list) => pushed.value[list].includes(name)) ?? "sent";
    const isTakenFirst = outcomeOf(id) === "moved";
    const took = (): void => {
      if (pulled.status === "rejected") {
        if (!StoreError.is(pulled.reason)) throw pulled.reason;
        this.#count(`pull ${pulled.reason.code}`);
        this.#refused(taker, id, there.state, pulled.reason);
        return;
      }
      taker.seen.set(id, there.state);
      there.holder = taker.storeId;
      this.#came(taker, id, there.state, pulled.value);
    };
    if (isTakenFirst) took();
    for (const name of [...pusher.sessions.keys()]) await this.#pushed(pusher, name, outcomeOf(name));
    if (!isTakenFirst) took();
    this.#count(isTakenFirst ? "taken before a push" : "taken after a push");
  }

  async #save(model: StoreModel): Promise<void> {
    const path = join(this.#folder, `saved-${this.#next()}.db`);
    await model.store.backup(path);
    const { sessions, untold, forgotten, seen, agreed, isNoting } = model;
    model.saved.push({
      path,
      sessions: new Map(sessions),
      untold: new Set(untold),
      forgotten: new Set(forgotten),
      seen: new Map(seen),
      agreed: new Map(agreed),
      isNoting,
    });
  }

  /** An old copy takes the place of the file. */
  #restore(model: StoreModel, count: number): void {
    const saved = model.saved[count % Math.max(1, model.saved.length)];
    if (saved === undefined) return;
    model.store.close();
    for (const ending of ["", "-wal", "-shm"]) rmSync(model.path + ending, { force: true });
    copyFileSync(saved.path, model.path);
    model.store = this.#open(model.path);
    model.sessions = new Map(saved.sessions);
    model.untold = new Set(saved.untold);
    model.forgotten = new Set(saved.forgotten);
    model.seen = new Map(saved.seen);
    model.agreed = new Map(saved.agreed);
    model.isNoting = saved.isNoting;
  }

  /** Another machine has an old copy of the file, and pushes it. */
  async #pushSaved(model: StoreModel, count: number): Promise<void> {
    const { storeId, saved } = model;
    const copy = saved[count % Math.max(1, saved.length)];
    if (copy === undefined) return;
    const store = this.#open(copy.path);
    try {
      await this.#push(Object.assign(copy, { storeId }), store, this.#hubs[1]);
    } finally {
      store.close();
    }
  }

  /** Compares all stores and the hub with the model. */
  async compare(): Promise<void> {
    for (const { store, sessions } of this.#stores) {
      deepStrictEqual(new Set(store.sessions().map(({ id }) => id)), new Set(sessions.keys()));
      for (const [id, state] of sessions) same(stateOf(store, id, state).lines, state.lines, `${id} in its store`);
      deepStrictEqual(store.verify().problems, []);
    }
    const listed = await this.#hubs[0].sessions({ project: this.#project, limit: 1_000 });
    deepStrictEqual(
      listed.map(({ sessionId, holder }) => `${sessionId} ${holder}`).sort(),
      this.#visible()
        .map(([id, { holder }]) => `${id} ${holder}`)
        .sort(),
    );
    for (const [id, { origin, state }] of this.#onHub) {
      const lines = await factsOnHub(this.#url, id, origin).catch(() => []);
      same(withoutStore(lines), state === "forgotten" ? [] : state.lines, `${id} on the hub`);
    }
  }

  /** Readers see no session that has no message. */
  #visible(): [id: string, session: HubSession][] {
    return [...this.#onHub].filter(([, { state }]) => state !== "forgotten" && messagesIn(state.lines).size > 0);
  }

  #open(path: string): Store {
    return openStore(path, { clock: () => (this.#now += 1_000) });
  }

  #next(): number {
    this.#newest += 1;
    return this.#newest;
  }

  #count(name: string): void {
    this.#outcomes[name] = (this.#outcomes[name] ?? 0) + 1;
  }
}

/** @throws {AssertionError} that shows the beginnings of the lines that only one of them has. */
function same(actual: readonly string[], expected: readonly string[], what: string): void {
  const only = (some: readonly string[], others: readonly string[]): string[] => {
    return some.filter((line) => !others.includes(line)).map((line) => line.slice(0, 300));
  };
  deepStrictEqual(only(actual, expected), only(expected, actual), what);
  deepStrictEqual(actual.length, expected.length, what);
}

/** The state of a session in a store, after a state. */
function stateOf(store: Store, id: string, { done, past }: Pick<State, "done" | "past">): State {
  const session = store.resume(id);
  const contexts = [500, 4_000].map((tokensMax) => session.render({ tokensMax }));
  const shown = contexts.map(({ messages, sources, omitted }) => ({ messages, sources, omitted }));
  const lines = withoutStore(factsInStore(store, id));
  return { done, past: new Set([...past, digestOf(lines)]), lines, rendered: JSON.stringify(shown) };
}

function digestOf(lines: readonly string[]): string {
  return createHash("sha256").update(lines.join("\n")).digest("base64");
}

interface Row {
  table: string;
  row: { id?: number; digest?: { base64: string } };
}

/** The messages of a session by id, with names that are different if their contents are. */
function messagesIn(lines: readonly string[]): Map<number, string> {
  const rows = lines.filter((line) => line.startsWith('{"table":"messages"')).map((line) => JSON.parse(line) as Row);
  return new Map(rows.map(({ row }) => [row.id!, `message ${row.id} ${row.digest!.base64}`]));
}

function idsIn(lines: readonly string[]): Set<string> {
  const rows = lines.map((line) => JSON.parse(line) as Row);
  return new Set(rows.flatMap(({ table, row }) => (typeof row.id === "number" ? [`${table} ${row.id}`] : [])));
}

/** Each store has an id and a key of its own, and may lack the parent of a fork. */
function withoutStore(lines: readonly string[]): string[] {
  return lines
    .filter((line) => !/^{"table":"(origin|tombstones)"/.test(line))
    .map((line) => {
      if (!line.startsWith('{"table":"sessions"')) return line;
      const { table, row } = JSON.parse(line) as { table: string; row: { supersededAtMs: number | null } };
      if (row.supersededAtMs !== null) return line;
      return JSON.stringify({ table, row: { ...row, parentSessionId: null, checksum: null } });
    });
}

function titleIn(lines: readonly string[]): string | null {
  return (sessionIn(lines)?.title as string | undefined) ?? null;
}

function sessionIn(lines: readonly string[]): Record<string, unknown> | undefined {
  const rows = lines.filter((line) => line.startsWith('{"table":"sessions"'));
  return rows
    .map((line) => (JSON.parse(line) as { row: Record<string, unknown> }).row)
    .find((row) => row.supersededAtMs === null);
}

function itemsIn(lines: readonly string[]): string {
  return lines.filter((line) => line.startsWith('{"table":"items"')).join("\n");
}

/** The lines without the title and the items. */
function restOf(lines: readonly string[]): string[] {
  const title = sessionIn(lines)?.title;
  return lines.flatMap((line) => {
    if (line.startsWith('{"table":"items"')) return [];
    return line.startsWith('{"table":"sessions"')
      ? line.replace(`"title":${JSON.stringify(title)}`, '"title":null')
      : line;
  });
}

/** The title and items after a pull: see `src/hub/README.md`. */
function mergedIn(
  own: readonly string[],
  came: readonly string[],
  agreed: readonly string[] | undefined,
): [title: string | null, items: string] {
  const isChanged = (lines: readonly string[], which: typeof titleIn): boolean =>
    agreed === undefined || which(lines) !== which(agreed);
  const title = isChanged(came, titleIn) ? (titleIn(came) ?? titleIn(own)) : titleIn(own);
  if (!isChanged(came, itemsIn)) return [title, itemsIn(own)];
  if (!isChanged(own, itemsIn)) return [title, itemsIn(came)];
  const nameOf = (line: string): string => /"namespace":.*?"key":"[^"]*"/.exec(line)![0];
  const there = itemsIn(came).split("\n").filter(Boolean);
  const names = new Set(there.map(nameOf));
  const here = itemsIn(own)
    .split("\n")
    .filter((line) => line !== "" && !names.has(nameOf(line)));
  return [title, [...there, ...here].sort().join("\n")];
}

function isIn(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((name) => all.has(name));
}

/** True if each message of a state is also in another, or was forgotten before it. */
function messagesAreIn(some: State, all: State): boolean {
  const has = new Set(messagesIn(all.lines).values());
  return [...messagesIn(some.lines).values()].every((name) => has.has(name) || all.done.has(`forgotten ${name}`));
}
