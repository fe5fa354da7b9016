import * as z from "zod/mini";
import type { PlacedAction } from "../../core/action.ts";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { once } from "../../core/once.ts";
import { textValue } from "../../core/options.ts";
import { type FieldsOf, identifier, parseOptions, whole } from "../../core/schema.ts";
import { actionsOfStep, isChange, replacedBy } from "../../models/actions.ts";
import { isSession, projectNow, type Repositories } from "../../store/index.ts";
import { changedSince } from "./changed-since.ts";
import {
  type CommandWay,
  changesOf,
  type FileSession,
  type Fix,
  type Friction,
  fileSessions,
  fixesAfter,
  fixesOf,
  plainPath,
  type Replaced,
  WORK_LIMIT_DEFAULT,
  type Work,
  type WorkOptions,
  type WorkReader,
  waysOf,
  withoutCopies,
} from "./past-work.ts";

/** The newest messages that upkeep has not read yet and that are read for each answer. */
const UNNOTED_MAX = 2_000;
const FRICTION_SESSIONS_MIN = 3;
/** The newest failures after which a fix is looked for. */
const FRICTION_FAILURES_MAX = 5;

const WORK_OPTIONS = once(() =>
  z.strictObject({
    project: z.optional(identifier()),
    limit: z._default(whole(0, PAGE_LIMIT_MAX), WORK_LIMIT_DEFAULT),
  } satisfies FieldsOf<WorkOptions>),
);

/** The answers for a store. */
export class StoreWork implements Work {
  readonly #repositories: Repositories;

  constructor({ repositories }: { repositories: Repositories }) {
    this.#repositories = repositories;
  }

  file(path: string, options: WorkOptions = {}): FileSession[] {
    return this.#read("work.file", options, (reader, { project, limit }) =>
      fileSessions(reader, plainPath(textValue("the path", path)), { project, limit }),
    );
  }

  replaced(path: string, options: WorkOptions = {}): Replaced[] {
    return this.#read("work.replaced", options, (reader, { project, limit }) => {
      const changes = changesOf(reader, plainPath(textValue("the path", path)), project);
      const found: Replaced[] = [];
      for (const { messageId, part, target } of changes) {
        if (found.length === limit) break;
        const call = reader.parts(messageId)[part];
        const texts = call?.type === "tool_call" ? replacedBy(call, target) : [];
        if (texts.length > 0) found.push({ messageId, texts });
      }
      return found;
    });
  }

  changedSince(sessionId: string): string[] {
    const { database, sessions } = this.#repositories;
    return database.read(() => changedSince(this.#repositories, sessions.existing(textValue("session id", sessionId))));
  }

  fixes(error: string, options: WorkOptions = {}): Fix[] {
    return this.#read("work.fixes", options, (reader, { project, limit }) =>
      fixesOf(reader, textValue("the error", error), {
        ...{ project, limit },
        errors: () => this.#repositories.actions.errors(),
      }),
    );
  }

  ways(command: string, options: WorkOptions = {}): CommandWay[] {
    return this.#read("work.ways", options, (reader, { project, limit }) =>
      waysOf(reader, textValue("the command", command), project, limit),
    );
  }

  friction(options: WorkOptions = {}): Friction[] {
    return this.#read("work.friction", options, (reader, { project, limit }) => {
      const recurring = this.#repositories.actions.recurring({
        project,
        sessionsMin: FRICTION_SESSIONS_MIN,
        limit,
      });
      return recurring.flatMap((one): Friction[] => {
        const failures = withoutCopies(reader.failedWith(one.error, { project, limit: FRICTION_FAILURES_MAX }));
        const [newest] = failures;
        if (newest === undefined) return []; // by newer rules, these calls did not fail with it
        const [fix = null] = fixesAfter(reader, failures, one.error, 1);
        const { target: command, messageId, sessionId } = newest;
        return [{ ...one, command, messageId, sessionId, fix }];
      });
    });
  }

  #read<T>(
    method: string,
    options: WorkOptions,
    answer: (reader: WorkReader, options: { project: string | undefined; limit: number }) => T,
  ): T {
    const { project: named, limit } = parseOptions(method, WORK_OPTIONS(), options);
    const { database } = this.#repositories;
    return database.read(() => {
      const project = named === undefined ? undefined : projectNow(this.#repositories, named);
      return answer(workReader(this.#repositories), { project, limit });
    });
  }
}

/** See `HAS_WORKED`. */
function hasWorked({ kind, outcome }: PlacedAction): boolean {
  return outcome === "ok" && (kind === "run" || isChange(kind));
}

/** Reads the table of actions, and the messages that it lacks. */
function workReader({ actions, sessions, messages, remembered }: Repositories): WorkReader {
  const unnoted = actions.unnoted(UNNOTED_MAX, actionsOfStep).flatMap((action): PlacedAction[] => {
    const session = sessions.known(action.sessionId);
    return isSession(session) ? [{ ...action, project: session.project }] : [];
  });
  // The table may have an earlier state of a step.
  const ids = new Set(unnoted.map(({ messageId }) => messageId));
  const isNoted = ({ messageId }: PlacedAction): boolean => !ids.has(messageId);
  const withUnnoted = (
    noted: readonly PlacedAction[],
    project: string | undefined,
    isFound: (action: PlacedAction) => boolean,
  ): PlacedAction[] => {
    const others = unnoted.filter((one) => isFound(one) && (project === undefined || one.project === project));
    // An import reads the newest sessions first, so ids do not tell what is newer.
    return [...noted.filter(isNoted), ...others].sort(
      (left, right) => right.createdAtMs - left.createdAtMs || right.messageId - left.messageId,
    );
  };
  return {
    named: (name, scope) => withUnnoted(actions.named(name, scope), scope.project, (action) => action.name === name),
    failedWith: (error, scope) =>
      withUnnoted(actions.failedWith(error, scope), scope.project, (action) => action.error === error),
    workedAfter: (sessionId, seq, limit) => [
      ...actions.workedAfter(sessionId, seq, limit).filter(isNoted),
      ...unnoted.filter((action) => action.sessionId === sessionId && action.seq > seq && hasWorked(action)),
    ],
    verdictsOn: (ids) => remembered.verdictsOn(ids),
    parts: (messageId) => messages.byIds([messageId])[0]?.parts ?? [],
    turn: (sessionId, seq) => messages.byIds(actions.turnIds({ sessionId, seq })),
  };
}
