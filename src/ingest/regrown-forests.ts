import { DamageError } from "../core/damage.ts";
import { groupedBy } from "../core/groups.ts";
import type { SessionSettings } from "../core/options.ts";
import type { DecidedRow } from "../forest/forest.ts";
import type { Embedder } from "../models/embedder.ts";
import { TITLE_TEXT_CHARS } from "../models/title.ts";
import type { CarriedSummary, FollowedRow, Repositories, StagedMessage, Target } from "../store/index.ts";
import { CarriedSummaries } from "./carried-summaries.ts";
import { RegrownSession } from "./regrown-session.ts";

/** Rows followed in one transaction: about 20 ms. */
const PAGE_ROWS = 100;

/** `more`: more rows may follow. `current`: none is left. `unstaged`: a vector is missing. `stale`: the log changed. */
export type Followed = "more" | "current" | "unstaged" | "stale";

/**
 * The forests of all sessions, grown again in memory from staged vectors while the forests in use still grow. Steps enter in the
 * order of the log in use, as if the store had always used the new embedder, but with the newest settings for all.
 */
export class RegrownForests {
  readonly #repositories: Repositories;
  readonly #target: Target;
  readonly #embedder: Pick<Embedder, "dimension" | "similarityMin">;
  readonly #sessions = new Map<string, RegrownSession>();
  /** For each fork, the position up to which its own log has what it shares. */
  readonly #forks = new Map<string, number>();
  readonly #carried: CarriedSummaries;
  readonly #stamp: string;
  /** The position of the last row followed, in the log in use. */
  #followedTo = 0;
  /** The position of the last row of the new log, which begins at 1. */
  #position = 0;

  constructor(repositories: Repositories, target: Target, embedder: Pick<Embedder, "dimension" | "similarityMin">) {
    this.#repositories = repositories;
    this.#target = target;
    this.#embedder = embedder;
    this.#carried = new CarriedSummaries(repositories);
    this.#stamp = this.#stampNow();
  }

  get followedTo(): number {
    return this.#followedTo;
  }

  /** Keyed by session id. */
  get sessions(): ReadonlyMap<string, RegrownSession> {
    return this.#sessions;
  }

  log(): { sessionId: string; row: DecidedRow }[] {
    const rows = [...this.#sessions].flatMap(([sessionId, { log }]) => log.map((row) => ({ sessionId, row })));
    return rows.sort((left, right) => left.row.id - right.row.id);
  }

  /** Call it inside a transaction. */
  follow(): Followed {
    const { reembedding, paths, sessions } = this.#repositories;
    if (this.#stampNow() !== this.#stamp) return "stale";
    if (this.#followLateFork()) return "more";
    const rows = reembedding.followed(this.#followedTo, PAGE_ROWS);
    const steps = this.#stepsOf(rows);
    const settings = new Map<string, SessionSettings>();
    for (const row of rows) {
      // Each fork gets a log of its own in the new generation, because its past may be placed in another way later.
      for (const sessionId of paths.withRow(row.sessionId, row.position)) {
        const known = settings.get(sessionId) ?? sessions.byId(sessionId)!.settings;
        settings.set(sessionId, known);
        if (!this.#followRow({ ...row, sessionId }, steps, known)) return "unstaged";
      }
      this.#followedTo = row.position;
    }
    return rows.length < PAGE_ROWS ? "current" : "more";
  }

  /** Gives a fork that is new since the last call some of the rows that were followed before. @returns false if there is none. */
  #followLateFork(): boolean {
    const { reembedding, paths, sessions } = this.#repositories;
    for (const forkId of paths.forkIds()) {
      const from = this.#forks.get(forkId) ?? 0;
      if (from >= this.#followedTo) {
        this.#forks.set(forkId, Number.POSITIVE_INFINITY);
        continue;
      }
      const rows = reembedding.followedBy({ forkId, from, to: this.#followedTo, limit: PAGE_ROWS });
      const steps = this.#stepsOf(rows);
      const { settings } = sessions.byId(forkId)!;
      for (const row of rows) this.#followRow({ ...row, sessionId: forkId }, steps, settings);
      this.#forks.set(forkId, rows.length < PAGE_ROWS ? Number.POSITIVE_INFINITY : rows.at(-1)!.position);
      return true;
    }
    return false;
  }

  carriedSummaries(): CarriedSummary[] {
    return [...this.#sessions].flatMap(([sessionId, session]) => this.#carried.ofSession(sessionId, session));
  }

  /** @returns false, with nothing changed, if a vector is missing. */
  #followRow(row: FollowedRow, steps: ReadonlyMap<number, StagedMessage[]>, settings: SessionSettings): boolean {
    const { sessionId, kind, node, root } = row;
    const { openClustersMax, maxThemes } = settings;
    const options = { similarityMin: this.#embedder.similarityMin, openClustersMax, maxThemes };
    const session = this.#sessions.get(sessionId) ?? this.#newSession();
    if (kind === "settle") {
      this.#position = session.settle(root, this.#position, options);
      return true;
    }
    const messages = steps.get(node);
    if (messages === undefined) throw new DamageError(`step ${node} entered the forest, but it has no messages`);
    if (messages.some(({ isMissing }) => isMissing)) return false;
    this.#sessions.set(sessionId, session);
    this.#position = session.enter(root, messages, this.#position, options);
    return true;
  }

  #newSession(): RegrownSession {
    const { messages } = this.#repositories;
    return new RegrownSession(this.#embedder.dimension, (id) => messages.askedBefore(TITLE_TEXT_CHARS, id));
  }

  #stepsOf(rows: readonly Omit<FollowedRow, "sessionId">[]): Map<number, StagedMessage[]> {
    // A step that a fork shares enters in both logs.
    const nodes = [...new Set(rows.filter(({ kind }) => kind !== "settle").map(({ node }) => node))];
    return groupedBy(this.#repositories.reembedding.ofSteps(this.#target, nodes), ({ stepId }) => stepId);
  }

  /** Changes if the log was rewritten, or if another generation came into use. */
  #stampNow(): string {
    const { id, rewriteCount } = this.#repositories.generations.newest()!;
    return `${id}.${rewriteCount}`;
  }
}
