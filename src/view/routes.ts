import * as z from "zod/mini";
import { parseHandle } from "../core/handle.ts";
import { ROLES } from "../core/message-words.ts";
import { STRATEGIES } from "../core/options.ts";
import {
  type Given,
  identifier,
  listOf,
  type ObjectSchema,
  oneWordOf,
  parseArguments,
  text,
  trueOrFalse,
  whole,
} from "../core/schema.ts";
import { VERSION } from "../core/version.ts";
import type { Store } from "../index.ts";
import { internalsOf } from "../session/opened-store.ts";
import { Forgetting } from "./acts.ts";
import { Apart } from "./apart.ts";
import type { About, GetRoutes, PostRoutes } from "./api.ts";
import type { Asking } from "./ask.ts";
import { contextAnswer } from "./context.ts";
import { Events } from "./events.ts";
import { forestAnswer, logAnswer, whyAnswer } from "./forest.ts";
import { healthAnswer } from "./health.ts";
import { membersOf, messagesPage, outlineOf } from "./messages.ts";
import { PAGE_MAX } from "./questions.ts";
import { queryOf, wholeText, yesText } from "./request.ts";
import { searchAnswer, themesAnswer } from "./search.ts";
import { newsOf, SessionList, sessionPage } from "./sessions.ts";
import { sql } from "./sql.ts";
import type { ViewStore } from "./view-store.ts";
import { workAnswer, workOverviewAnswer } from "./work.ts";

type Get<R extends keyof GetRoutes> = (
  parameters: URLSearchParams,
  signal: AbortSignal,
) => Promise<GetRoutes[R]["answer"]> | GetRoutes[R]["answer"];
type Asked<F extends z.core.$ZodShape> = Given<z.output<z.ZodMiniObject<F, z.core.$strict>>>;
type Post<R extends keyof PostRoutes> = (
  body: unknown,
  signal: AbortSignal,
) => Promise<PostRoutes[R]["answer"]> | PostRoutes[R]["answer"];

const LEVELS = ["step", "cluster", "theme", "subject", "span"] as const;
const LOST_LINES_MAX = 100;
const SUBJECTS_DEFAULT = 100;
const PAGE_DEFAULT = 5_000;

/** For work whose answer is shared: it goes on if one of those who wait for it leaves. */
const UNENDED = new AbortController().signal;

const OFFSET = { offsetMinutes: z.optional(wholeText(-1_440, 1_440)) };
const ASK_FIELDS = { q: text(), project: z.optional(text()) };
const ASK_BODY = z.strictObject(ASK_FIELDS) as unknown as ObjectSchema;

/** What the routes of a view answer. They translate, and leave every decision to the library. */
export class Routes {
  readonly view: ViewStore;
  readonly events: Events;
  readonly #list: SessionList;
  readonly #apart = new Apart();
  /** The newest sum of what agents used. One is made after the other, however often the store changes. */
  #usage: Promise<unknown> = Promise.resolve();
  readonly #forgetting: Forgetting;
  readonly #asking: Asking;
  readonly #session: string | null;

  constructor(view: ViewStore, asking: Asking, session: string | null) {
    this.view = view;
    this.events = new Events(view);
    this.#list = new SessionList(view);
    this.#forgetting = new Forgetting(view);
    this.#asking = asking;
    this.#session = session;
  }

  async close(): Promise<void> {
    this.events.close();
    await this.#apart.close();
  }

  readonly get: { readonly [R in keyof GetRoutes]: Get<R> } = {
    "/api/about": () => this.#about(),
    "/api/sessions": withQuery(
      {
        project: z.optional(text()),
        source: z.optional(text()),
        sinceMs: z.optional(wholeText(0)),
        untilMs: z.optional(wholeText(0)),
        text: z.optional(text()),
        limit: z.optional(wholeText(1, 500)),
        offset: z.optional(wholeText(0)),
      },
      (request) => this.#list.page(request),
    ),
    "/api/days": withQuery(
      {
        project: z.optional(text()),
        source: z.optional(text()),
        ...OFFSET,
      },
      (request) => this.#list.days(request),
    ),
    "/api/news": withQuery({ after: wholeText(0) }, ({ after }) =>
      this.view.read((store) => newsOf(store, this.view.position(), after)),
    ),
    "/api/search": withQuery(
      {
        q: z._default(text(), ""),
        session: z.optional(text()),
        project: z.optional(text()),
        source: z.optional(text()),
        role: z.optional(oneWordOf(ROLES)),
        sinceMs: z.optional(wholeText(0)),
        untilMs: z.optional(wholeText(0)),
        limit: z.optional(wholeText(1, 100)),
        explain: z.optional(yesText()),
      },
      ({ explain, ...request }) =>
        this.view.read((store) => searchAnswer(store, { ...request, explain: explain ? 1 : 0 })),
    ),
    "/api/themes": withQuery(
      {
        q: z.optional(text()),
        root: z.optional(wholeText(1)),
        project: z.optional(text()),
        limit: z.optional(wholeText(1, 100)),
      },
      (request) => this.view.read((store) => themesAnswer(store, request)),
    ),
    "/api/evidence": withQuery(ASK_FIELDS, (request) => this.#asking.evidence(request)),
    "/api/session": this.#withStore({ session: text() }, (store, { session }) => sessionPage(store, session)),
    "/api/outline": this.#withStore(
      {
        session: text(),
        seqFrom: z._default(wholeText(0), 0),
        limit: z._default(wholeText(1, PAGE_MAX), PAGE_DEFAULT),
      },
      (store, { session, seqFrom, limit }) => outlineOf(store, session, seqFrom, limit),
    ),
    "/api/messages": this.#withStore(
      { session: text(), seqFrom: z._default(wholeText(0), 0), limit: z._default(wholeText(1, 200), 50) },
      (store, { session, seqFrom, limit }) => messagesPage(store, session, seqFrom, limit),
    ),
    "/api/members": this.#withStore(
      {
        root: text(),
        level: z.optional(oneWordOf(LEVELS)),
        offset: z.optional(wholeText(0)),
        limit: z.optional(wholeText(1, 200)),
      },
      membersOf,
    ),
    "/api/context": withQuery(
      {
        session: text(),
        tokensMax: z.optional(wholeText(1, 100_000_000)),
        strategy: z.optional(oneWordOf(STRATEGIES)),
        query: z.optional(text()),
        scope: z.optional(oneWordOf(["session", "project"])),
        at: z.optional(text().check(z.regex(/^@?\d{1,15}$/, { error: "a seq, or @ and a log position" }))),
      },
      ({ at, ...request }, signal) =>
        at === undefined
          ? this.view.read((store) => contextAnswer(store, request))
          : this.#apart.ask({ kind: "context", path: this.view.path, request: { ...request, at } }, signal),
    ),
    "/api/forest": this.#withStore({ session: text() }, (store, { session }) => forestAnswer(store, session)),
    "/api/log": this.#withStore(
      { session: text(), after: z._default(wholeText(0), 0), limit: z._default(wholeText(1, PAGE_MAX), PAGE_DEFAULT) },
      (store, { session, after, limit }) => logAnswer(store, session, after, limit),
    ),
    "/api/why": this.#withStore({ session: text(), position: wholeText(1) }, (store, { session, position }) =>
      whyAnswer(store, session, position),
    ),
    "/api/subjects": this.#withStore(
      { project: z.optional(text()), limit: z._default(wholeText(1, 500), SUBJECTS_DEFAULT) },
      (store, options) => ({ subjects: store.subjects(options), sql: SUBJECTS_SQL }),
    ),
    "/api/subject": this.#withStore({ handle: text(), limit: z.optional(wholeText(0, 1_000)) }, (store, request) => {
      const { handle, ...options } = request;
      const page = store.subject(handle, { ...options, onUnreadable: () => {} });
      return { ...page, sql: subjectSql(page.subject) };
    }),
    "/api/recap": this.#withStore(
      { sinceMs: z.optional(wholeText(0)), project: z.optional(text()) },
      (store, options) => store.recap({ ...options, onUnreadable: () => {} }),
    ),
    "/api/work": this.#withStore(
      { file: z.optional(text()), error: z.optional(text()), command: z.optional(text()), project: z.optional(text()) },
      workAnswer,
    ),
    "/api/work-overview": withQuery({ project: z.optional(text()), sinceMs: z.optional(wholeText(0)) }, (request) =>
      this.view.readOnce(`work ${JSON.stringify(request)}`, (store) => workOverviewAnswer(store, request)),
    ),
    "/api/lost": this.#withStore({ session: text(), summary: wholeText(0) }, (store, { session, summary }) => ({
      lost: store.lost({ sessionId: session, summaryId: summary, limit: LOST_LINES_MAX }) ?? null,
    })),
    "/api/usage": withQuery(OFFSET, (request) =>
      this.view.readOnce(`usage ${JSON.stringify(request)}`, () => {
        const ask = () =>
          this.#apart.ask<GetRoutes["/api/usage"]["answer"]>({ kind: "usage", path: this.view.path, request }, UNENDED);
        const answer = this.#usage.then(ask, ask);
        this.#usage = answer;
        return answer;
      }),
    ),
    "/api/health": this.#withStore({}, (store) => healthAnswer(store)),
    "/api/doctor": async (_parameters, signal) => ({
      findings: await this.#apart.ask({ kind: "doctor", path: this.view.path }, signal),
    }),
    "/api/verify": (_parameters, signal) => this.#apart.ask({ kind: "verify", path: this.view.path }, signal),
    "/api/progress": async () => this.#apart.progress,
    "/api/sql": withQuery({ query: text() }, ({ query }, signal) =>
      this.#apart.ask({ kind: "sql", path: this.view.path, query }, signal),
    ),
  };

  /** All but `enter`, which the server answers. */
  readonly post: { readonly [R in Exclude<keyof PostRoutes, "/api/enter">]: Post<R> } = {
    "/api/ask": (body, signal) => this.#asking.ask(parseArguments(ASK_BODY, body) as Asked<typeof ASK_FIELDS>, signal),
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
      ({ session, messages, confirm }) => this.#forgetting.forget(session, messages, confirm),
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

  #withStore<F extends z.core.$ZodShape, A>(fields: F, answer: (store: Store, request: Asked<F>) => A | Promise<A>) {
    return withQuery(fields, (request) => this.view.read((store) => answer(store, request)));
  }

  #act<F extends z.core.$ZodShape, A>(fields: F, act: (body: Asked<F>) => A) {
    const schema = z.strictObject(fields);
    return (body: unknown): A => {
      const answer = act(parseArguments(schema as unknown as ObjectSchema, body) as Asked<F>);
      this.#list.drop();
      void this.events.look();
      return answer;
    };
  }
}

function withQuery<F extends z.core.$ZodShape, A>(fields: F, answer: (request: Asked<F>, signal: AbortSignal) => A) {
  const schema = z.strictObject(fields);
  return (parameters: URLSearchParams, signal: AbortSignal): A =>
    answer(queryOf(schema as unknown as ObjectSchema, parameters) as Asked<F>, signal);
}

const SUBJECTS_SQL = `SELECT subject_parent_id, count(*) AS cluster_count, count(DISTINCT session_id) AS session_count,
  sum(message_count) AS message_count, sum(token_count) AS token_count
FROM clusters WHERE subject_parent_id IS NOT NULL
GROUP BY subject_parent_id HAVING session_count > 1 ORDER BY token_count DESC`;

function subjectSql(handle: string): string {
  return sql`SELECT cluster_id, session_id, project, label, message_count, seq_first, seq_last
FROM subject_members WHERE subject_id = ${parseHandle(handle).root} ORDER BY cluster_id DESC`;
}
