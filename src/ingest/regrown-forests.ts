import { StoreError } from "../core/errors.ts";
import type { SessionSettings } from "../core/options.ts";
import type { DecidedRow } from "../forest/step-placer.ts";
import type { Embedder } from "../models/embedder.ts";
import { applyLog, clusterLine, type DerivedRows, themeLine } from "../store/derive.ts";
import { enteringSteps } from "../store/features.ts";
import type { FollowedRow, StagedMessage, Target } from "../store/reembedding.ts";
import type { Repositories } from "../store/repositories.ts";
import { RegrownSession } from "./regrown-session.ts";

/** Rows of the log in use that are followed at once: some 20 ms. */
const PAGE_ROWS = 100;

/** How far it came: there may be more rows; all were followed; the next step lacks a vector; the log was rewritten. */
export type Followed = "more" | "current" | "unstaged" | "stale";

/**
 * The forests of all sessions, grown again in memory from staged vectors while the forests in use go on growing.
 *
 * It follows the log in use from its beginning: whenever a step entered there, it enters here. So the new log is the one that
 * the store would have if it had used the new embedder from the start. Following on takes in what is appended meanwhile.
 * The newest settings apply from the beginning, and forgotten messages are left out.
 */
export class RegrownForests {
  readonly #repositories: Repositories;
  readonly #target: Target;
  readonly #embedder: Embedder;
  readonly #sessions = new Map<string, RegrownSession>();
  /** Identifies the log that was followed. */
  readonly #stamp: string;
  /** The position of the last row followed, in the log in use. */
  #followedTo = 0;
  /** The position of the last row of the new log, which begins at 1. */
  #position = 0;

  constructor(repositories: Repositories, target: Target, embedder: Embedder) {
    this.#repositories = repositories;
    this.#target = target;
    this.#embedder = embedder;
    this.#stamp = this.#stampNow();
  }

  /** The position in the log in use up to which it was followed. */
  get followedTo(): number {
    return this.#followedTo;
  }

  /** By id. */
  get sessions(): ReadonlyMap<string, RegrownSession> {
    return this.#sessions;
  }

  /** Returns the new log of all sessions, in order. */
  log(): { sessionId: string; row: DecidedRow }[] {
    const rows = [...this.#sessions].flatMap(([sessionId, { log }]) => log.map((row) => ({ sessionId, row })));
    return rows.sort((left, right) => left.row.id - right.row.id);
  }

  /** Follows some more rows. Call it inside a transaction. */
  follow(): Followed {
    const { reembedding } = this.#repositories;
    if (this.#stampNow() !== this.#stamp) return "stale";
    const rows = reembedding.followed(this.#followedTo, PAGE_ROWS);
    const steps = this.#stepsOf(rows);
    const settings = new Map<string, SessionSettings>();
    for (const row of rows) {
      const { sessionId, position } = row;
      const known = settings.get(sessionId) ?? this.#repositories.sessions.byId(sessionId)!.settings;
      settings.set(sessionId, known);
      if (!this.#followRow(row, steps, known)) return "unstaged";
      this.#followedTo = position;
    }
    return rows.length < PAGE_ROWS ? "current" : "more";
  }

  /**
   * Applies a session's new log to its messages, all read again, as `verify` does with the log in use, and compares.
   *
   * @throws {StoreError} `STORE_CORRUPT` if the two differ.
   */
  check(sessionId: string): void {
    const { database, reembedding, sessions } = this.#repositories;
    const session = this.#sessions.get(sessionId)!;
    const refuse = (reason: string): never => {
      const text = `the new forest of session "${sessionId}" is not what its log says: ${reason}`;
      throw new StoreError("STORE_CORRUPT", { path: database.path, reason: text });
    };
    const row = sessions.byId(sessionId);
    if (row === undefined || this.#stampNow() !== this.#stamp) return; // forgotten meanwhile: everything is grown again
    const messages = reembedding.ofSession(this.#target, sessionId, row.graduatedSeq);
    const entered = new Set(session.log.flatMap(({ kind, node }) => (kind === "start" || kind === "join" ? node : [])));
    const derived = applyLog(
      {
        log: session.log,
        subjectLog: [],
        steps: enteringSteps(messages, -1).filter(({ features }) => entered.has(features.id)),
        dimension: this.#embedder.dimension,
      },
      { labelOf: () => "", labelTextChars: 0 }, // labels are not compared
      refuse,
    );
    if (!isSame(derived!, session.rows())) refuse("sums or counts differ");
  }

  /** Follows one row. @returns false, with nothing changed, if a vector is missing. */
  #followRow(row: FollowedRow, steps: ReadonlyMap<number, StagedMessage[]>, settings: SessionSettings): boolean {
    const { sessionId, kind, node, root } = row;
    const { openClustersMax, maxThemes } = settings;
    const options = { similarityMin: this.#embedder.similarityMin, openClustersMax, maxThemes };
    const session = this.#sessions.get(sessionId) ?? new RegrownSession(this.#embedder.dimension);
    if (kind === "settle") {
      this.#position = session.settle(root, this.#position, options);
      return true;
    }
    const messages = steps.get(node);
    if (messages === undefined) {
      const reason = `the log lets step ${node} into the forest, and it is not there`;
      throw new StoreError("STORE_CORRUPT", { path: this.#repositories.database.path, reason });
    }
    if (messages.some(({ isMissing }) => isMissing)) return false;
    this.#sessions.set(sessionId, session);
    this.#position = session.enter(root, messages, this.#position, options);
    return true;
  }

  #stepsOf(rows: readonly FollowedRow[]): Map<number, StagedMessage[]> {
    const nodes = rows.filter(({ kind }) => kind !== "settle").map(({ node }) => node);
    const steps = new Map<number, StagedMessage[]>();
    for (const message of this.#repositories.reembedding.ofSteps(this.#target, nodes)) {
      const step = steps.get(message.stepId);
      if (step === undefined) steps.set(message.stepId, [message]);
      else step.push(message);
    }
    return steps;
  }

  /** Changes if the log was rewritten or another generation came into use. */
  #stampNow(): string {
    const { id, rewriteCount } = this.#repositories.generations.newest()!;
    return `${id}.${rewriteCount}`;
  }
}

function isSame(left: DerivedRows, right: DerivedRows): boolean {
  const lines = ({ parents, clusters, themes }: DerivedRows): string =>
    JSON.stringify([
      [...parents].sort(([a], [b]) => a - b),
      clusters.map(clusterLine).sort(),
      themes.map(themeLine).sort(),
    ]);
  return lines(left) === lines(right);
}
