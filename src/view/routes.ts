import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import { parseHandle } from "../core/handle.ts";
import { ROLES } from "../core/message-words.ts";
import { STRATEGIES } from "../core/options.ts";
import { identifier, listOf, type ObjectSchema, parseArguments, text, trueOrFalse, whole } from "../core/schema.ts";
import { VERSION } from "../core/version.ts";
import type { Store } from "../index.ts";
import { internalsOf } from "../session/opened-store.ts";
import { forgetAnswer } from "./acts.ts";
import { Apart } from "./apart.ts";
import type { About, GetRoutes, PostRoutes } from "./api.ts";
import type { Asking } from "./ask.ts";
import { contextAnswer } from "./context.ts";
import { Events } from "./events.ts";
import { forestAnswer, logAnswer, whyAnswer } from "./forest.ts";
import { healthAnswer } from "./health.ts";
import { membersOf, messagesPage, outlineOf } from "./messages.ts";
import { type AskedFor, QUERIES, type Query } from "./requests.ts";
import { searchAnswer, themesAnswer } from "./search.ts";
import { newsOf, SessionList, sessionPage } from "./sessions.ts";
import { sql } from "./sql.ts";
import type { ViewStore } from "./view-store.ts";
import { workAnswer, workOverviewAnswer } from "./work.ts";

type Get<R extends keyof GetRoutes> = (request: Query<R>, signal: AbortSignal) => Promise<GetRoutes[R]> | GetRoutes[R];
type Post<R extends keyof PostRoutes> = (
  body: unknown,
  signal: AbortSignal,
) => Promise<PostRoutes[R]["answer"]> | PostRoutes[R]["answer"];

const LOST_LINES_MAX = 100;
const SUBJECTS_DEFAULT = 100;
const PAGE_DEFAULT = 5_000;

/** For work whose answer is shared: it goes on if one of those who wait for it leaves. */
const UNENDED = new AbortController().signal;

/** What the routes of a view answer. They translate, and leave every decision to the library. */
export class Routes {
  readonly view: ViewStore;
  readonly events: Events;
  readonly #list: SessionList;
  readonly #apart = new Apart();
  /** The newest sum of what agents used. One is made after the other, however often the store changes. */
  #usage: Promise<unknown> = Promise.resolve();
  /** Makes the codes that confirm what is to be forgotten. */
  readonly #forgetKey = randomBytes(16);
  readonly #asking: Asking;
  readonly #session: string | null;

  constructor(view: ViewStore, asking: Asking, session: string | null) {
    this.view = view;
    this.events = new Events(view);
    this.#list = new SessionList(view);
    this.#asking = asking;
    this.#session = session;
  }

  async close(): Promise<void> {
    this.events.close();
    await this.#apart.close();
  }

  readonly get: { readonly [R in keyof GetRoutes]: Get<R> } = {
    "/api/about": () => this.#about(),
    "/api/sessions": (request) => this.#list.page(request),
    "/api/days": (request) => this.#list.days(request),
    "/api/news": this.#read((store, { after }) => newsOf(store, this.view.position(), after)),
    "/api/search": this.#read(searchAnswer),
    "/api/themes": this.#read(themesAnswer),
    "/api/evidence": (request) => this.#asking.evidence(request),
    "/api/session": this.#read((store, { session }) => sessionPage(store, session)),
    "/api/outline": this.#read((store, { session, seqFrom = 0, limit = PAGE_DEFAULT }) =>
      outlineOf(store, session, seqFrom, limit),
    ),
    "/api/messages": this.#read((store, { session, seqFrom = 0, limit = 50 }) =>
      messagesPage(store, session, seqFrom, limit),
    ),
    "/api/members": this.#read(membersOf),
    "/api/context": ({ at, ...request }, signal) =>
      at === undefined
        ? this.view.read((store) => contextAnswer(store, request))
        : this.#apart.ask({ kind: "context", path: this.view.path, request: { ...request, at } }, signal),
    "/api/forest": this.#read((store, { session }) => forestAnswer(store, session)),
    "/api/log": this.#read((store, { session, after = 0, limit = PAGE_DEFAULT }) =>
      logAnswer(store, session, after, limit),
    ),
    "/api/why": this.#read((store, { session, position }) => whyAnswer(store, session, position)),
    "/api/subjects": this.#read((store, { limit = SUBJECTS_DEFAULT, ...options }) => ({
      subjects: store.subjects({ ...options, limit }),
      sql: SUBJECTS_SQL,
    })),
    "/api/subject": this.#read((store, { handle, ...options }) => {
      const page = store.subject(handle, { ...options, onUnreadable: () => {} });
      return { ...page, sql: subjectSql(page.subject) };
    }),
    "/api/work": this.#read(workAnswer),
    "/api/work-overview": (request) =>
      this.view.readOnce(`work ${JSON.stringify(request)}`, (store) => workOverviewAnswer(store, request)),
    "/api/lost": this.#read((store, { session, summary }) => ({
      lost: store.lost({ sessionId: session, summaryId: summary, limit: LOST_LINES_MAX }) ?? null,
    })),
    "/api/usage": (request) =>
      this.view.readOnce(`usage ${JSON.stringify(request)}`, () => {
        const ask = () =>
          this.#apart.ask<GetRoutes["/api/usage"]>({ kind: "usage", path: this.view.path, request }, UNENDED);
        const answer = this.#usage.then(ask, ask);
        this.#usage = answer;
        return answer;
      }),
    "/api/health": this.#read(healthAnswer),
    "/api/doctor": async (_request, signal) => ({
      findings: await this.#apart.ask({ kind: "doctor", path: this.view.path }, signal),
    }),
    "/api/verify": (_request, signal) => this.#apart.ask({ kind: "verify", path: this.view.path }, signal),
    "/api/progress": () => this.#apart.progress,
    "/api/sql": ({ query }, signal) => this.#apart.ask({ kind: "sql", path: this.view.path, query }, signal),
  };

  /** All but `enter`, which the server answers. */
  readonly post: { readonly [R in Exclude<keyof PostRoutes, "/api/enter">]: Post<R> } = {
    "/api/ask": (body, signal) => this.#asking.ask(bodyAs(QUERIES["/api/evidence"], body), signal),
    "/api/rename": this.#act({ session: text(), title: identifier() }, ({ session, title }) =>
      this.view.write("rename", (store) => {
        store.resume(session).update({ title: title });
        return { title };
      }),
    ),
    "/api/pin": this.#act({ message: whole(1), pinned: trueOrFalse() }, ({ message, pinned }) =>
      this.view.write("pin", (store) => {
        store.resume(internalsOf(store).message(message).sessionId).pin(message, { pinned });
        return { pinned };
      }),
    ),
    "/api/forget": this.#act(
      { session: text(), messages: z.optional(listOf(whole(1))), confirm: z.optional(text()) },
      (request) => this.view.write("forget", (store) => forgetAnswer(store, this.#forgetKey, request)),
    ),
  };

  async #about(): Promise<About> {
    const sources = "SELECT DISTINCT source FROM sessions WHERE source IS NOT NULL ORDER BY source";
    const named = await this.view.read((store) => ({ projects: store.projects(), sources: store.query(sources) }));
    return {
      version: VERSION,
      path: this.view.path,
      isWritable: this.view.isWritable,
      agent: this.#asking.agent?.title ?? null,
      nowMs: Date.now(),
      projects: named.projects.map(({ project, name }) => ({ project, name })),
      sources: named.sources.map(({ source }) => String(source)),
      roles: [...ROLES],
      strategies: [...STRATEGIES],
      session: this.#session,
    };
  }

  #read<Q, A>(answer: (store: Store, request: Q) => A | Promise<A>): (request: Q) => Promise<A> {
    return (request) => this.view.read((store) => answer(store, request));
  }

  #act<F extends z.core.$ZodShape, A>(fields: F, act: (body: AskedFor<F>) => A) {
    return (body: unknown): A => {
      const answer = act(bodyAs(fields, body));
      this.#list.drop();
      void this.events.look();
      return answer;
    };
  }
}

/** @throws {StoreError} `OPTION_INVALID`. */
function bodyAs<F extends z.core.$ZodShape>(fields: F, body: unknown): AskedFor<F> {
  return parseArguments(z.strictObject(fields) as unknown as ObjectSchema, body) as AskedFor<F>;
}

const SUBJECTS_SQL = `SELECT subject_parent_id, count(*) AS cluster_count, count(DISTINCT session_id) AS session_count,
  sum(message_count) AS message_count, sum(token_count) AS token_count
FROM clusters WHERE subject_parent_id IS NOT NULL
GROUP BY subject_parent_id HAVING session_count > 1 ORDER BY token_count DESC`;

function subjectSql(handle: string): string {
  return sql`SELECT cluster_id, session_id, project, label, message_count, seq_first, seq_last
FROM subject_members WHERE subject_id = ${parseHandle(handle).root} ORDER BY cluster_id DESC`;
}
