import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StoreError } from "../core/errors.ts";
import { checkTarget, flushToDisk, inFileSystem, moveIntoPlace } from "../core/files.ts";
import type { Store } from "../index.ts";
import type { GetRoutes, ViewMessage, ViewPart, WorkCount } from "./api.ts";
import { Asking } from "./ask.ts";
import { type Asset, pageAround, readAssets } from "./assets.ts";
import { partAt, textOfPart, viewMessage } from "./messages.ts";
import { fileKeyOf, PAGE_MAX, urlOf } from "./questions.ts";
import { Routes } from "./routes.ts";
import { ViewStore } from "./view-store.ts";

/** Browsers open a larger file slowly, and many programs do not send it. */
const BYTES_MAX = 200_000_000;
const SESSIONS_AT_ONCE = 500;
const MESSAGES_AT_ONCE = 200;

/** Replaces secrets: first in whole texts, and then in what was made of them. */
export interface FileRedactor {
  whole<T>(value: T): T;
  derived<T>(value: T): T;
}

export interface PageFileOptions {
  redactor: FileRedactor;
  /** By default the whole store. */
  project?: string;
  /** True to replace an existing file. */
  overwrite?: boolean;
  bytesMax?: number;
  assets?: ReadonlyMap<string, Asset>;
  /** An error that it throws ends the work. */
  onProgress?: (sessionCount: number, totalCount: number) => void;
}

export interface PageFileReport {
  /** The absolute path of the file. */
  path: string;
  byteLength: number;
  sessionCount: number;
  messageCount: number;
}

/**
 * Writes the view of a store or project into one HTML file, which opens without a server and sends nothing. It has what a reader of the
 * view can look at without typing a question, without secrets, pictures and files.
 *
 * @throws {StoreError} `FILE_EXISTS` unless `overwrite` is given; `FILE_NOT_FOUND`; `FILE_NOT_USABLE`, also for a page that is too large.
 *   Then nothing was written.
 */
export async function writePageFile(store: Store, path: string, options: PageFileOptions): Promise<PageFileReport> {
  const { overwrite = false, bytesMax = BYTES_MAX, assets = readAssets() } = options;
  const target = resolve(path);
  checkTarget(target, store.path, overwrite);
  const [before, after] = pageAround(assets);
  const folder = inFileSystem(target, () => mkdtempSync(join(dirname(target), ".coppice-page-")));
  try {
    const copy = join(folder, "page.html");
    const descriptor = inFileSystem(target, () => openSync(copy, "wx", 0o600));
    let counts: Pick<PageFileReport, "sessionCount" | "messageCount">;
    const file = new AnswerFile(target, descriptor, bytesMax);
    try {
      file.write(before);
      counts = await new Answers(store, file, options).write();
      file.write(after);
    } finally {
      closeSync(descriptor);
    }
    inFileSystem(target, () => {
      flushToDisk(copy);
      checkTarget(target, store.path, overwrite); // again: the work took time
      moveIntoPlace(copy, target, overwrite);
    });
    return { path: target, byteLength: file.byteLength, ...counts };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text of the file, with answers by the questions that the page asks. */
class AnswerFile {
  byteLength = 0;
  readonly #path: string;
  readonly #descriptor: number;
  readonly #bytesMax: number;
  readonly #keys = new Set<string>();

  constructor(path: string, descriptor: number, bytesMax: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#bytesMax = bytesMax;
  }

  /** @throws {StoreError} `FILE_NOT_USABLE` if there is no room, or if the page becomes too large. */
  write(text: string): void {
    this.byteLength += Buffer.byteLength(text);
    if (this.byteLength > this.#bytesMax) {
      const reason = `the page would have more than ${this.#bytesMax / 1_000_000} MB, which is too large for a file`;
      const fix = "Nothing was written. Choose a project, or a smaller one, with `--project NAME`.";
      throw new StoreError("FILE_NOT_USABLE", { path: this.#path, reason, fix });
    }
    inFileSystem(this.#path, () => writeFileSync(this.#descriptor, text));
  }

  put(url: string, answer: unknown): void {
    const key = fileKeyOf(url);
    if (this.#keys.has(key)) return;
    // No text of an answer can end the element that it stands in.
    const entry = `${JSON.stringify(key)}:${JSON.stringify(answer)}`.replaceAll("<", "\\u003c");
    this.write(`${this.#keys.size === 0 ? "" : ",\n"}${entry}`);
    this.#keys.add(key);
  }
}

type Request<R extends keyof GetRoutes> = GetRoutes[R]["request"];
type Answer<R extends keyof GetRoutes> = GetRoutes[R]["answer"];

/** Asks what the page can ask of a store or project, and writes the answers without secrets. */
class Answers {
  readonly #view: ViewStore;
  readonly #routes: Routes;
  readonly #file: AnswerFile;
  readonly #redactor: FileRedactor;
  readonly #onProgress: PageFileOptions["onProgress"];
  readonly #ofProject: { project?: string };
  /** The messages with which agents went on after a compaction. */
  readonly #summaries: { session: string; summary: number }[] = [];
  #messageCount = 0;
  /** Not the hidden sessions, and not those of other projects. */
  #inFile: ReadonlySet<string> = new Set();

  constructor(store: Store, file: AnswerFile, { redactor, project, onProgress }: PageFileOptions) {
    this.#view = new ViewStore(store, false);
    this.#routes = new Routes(this.#view, new Asking(this.#view, undefined), null);
    this.#file = file;
    this.#redactor = redactor;
    this.#onProgress = onProgress;
    this.#ofProject = project === undefined ? {} : { project };
  }

  async write(): Promise<{ sessionCount: number; messageCount: number }> {
    const sessions = await this.#sessions();
    const ids = sessions.map(({ id }) => id);
    let done = 0;
    const eachSession = async (work: (id: string) => Promise<void>): Promise<void> => {
      for (const id of ids) {
        await work(id);
        this.#onProgress?.(++done, 2 * ids.length);
      }
    };
    // What is made of messages comes after all of them, when every secret is known.
    await eachSession((id) => this.#messages(id));
    this.#file.put("/api/sessions", this.#redactor.derived({ sessions }));
    this.#inFile = new Set(ids);
    const subjects = new Set<string>();
    await eachSession((id) => this.#session(id, subjects));
    for (const request of this.#summaries) await this.#keep("/api/lost", request);
    await this.#ofStore(sessions, subjects);
    return { sessionCount: ids.length, messageCount: this.#messageCount };
  }

  async #sessions(): Promise<Answer<"/api/sessions">["sessions"]> {
    const sessions: Answer<"/api/sessions">["sessions"] = [];
    for (let offset: number | null = 0; offset !== null; ) {
      const request = { ...this.#ofProject, limit: SESSIONS_AT_ONCE, offset };
      const page: Answer<"/api/sessions"> = await this.#ask("/api/sessions", request);
      sessions.push(...page.sessions);
      offset = page.next;
    }
    return sessions;
  }

  async #messages(session: string): Promise<void> {
    const messages: ViewMessage[] = [];
    for (let seqFrom: number | undefined = 0; seqFrom !== undefined; ) {
      const from: number = seqFrom;
      const read = await this.#view.read((store) =>
        store.resume(session).messages({ seqFrom: from, limit: MESSAGES_AT_ONCE }),
      );
      for (const message of read.map((one) => this.#redactor.whole(one))) {
        const shown = viewMessage(message);
        messages.push(shown);
        if (shown.metadata?.isCompactSummary === true) this.#summaries.push({ session, summary: shown.id });
        for (const part of partsOf(shown.parts)) {
          // A picture cannot be searched for secrets.
          if (part.type === "file") part.href = null;
          const whole = "isCut" in part && part.isCut ? partAt(message, part.path) : undefined;
          if (whole === undefined || whole.type === "file") continue;
          this.#file.put(urlOf("/api/part", { message: shown.id, path: part.path }), textOfPart(whole));
        }
      }
      seqFrom = read.length < MESSAGES_AT_ONCE ? undefined : read.at(-1)!.seq + 1;
    }
    this.#messageCount += messages.length;
    this.#file.put(urlOf("/api/messages", { session }), { messages });
  }

  /** @param subjects  Gets the subjects of its clusters. */
  async #session(session: string, subjects: Set<string>): Promise<void> {
    const change = ({ parent, children, ...answer }: Answer<"/api/session">) => ({
      ...answer,
      parent: parent !== null && this.#inFile.has(parent.session) ? parent : null,
      children: children.filter((child) => this.#inFile.has(child.session)),
    });
    const { seqEnd } = await this.#keep("/api/session", { session }, { change });
    for (let seqFrom = 0; seqFrom === 0 || seqFrom < seqEnd; seqFrom += PAGE_MAX) {
      await this.#keep("/api/outline", { session, seqFrom, limit: PAGE_MAX });
    }
    const { clusters } = await this.#keep("/api/forest", { session });
    for (const { subject } of clusters) if (subject !== null) subjects.add(subject);
    for (let after: number | null = 0; after !== null; ) {
      const log: Answer<"/api/log"> = await this.#keep("/api/log", { session, after, limit: PAGE_MAX });
      for (const position of log.positions) await this.#keep("/api/why", { session, position });
      after = log.next;
    }
    await this.#keep("/api/context", { session }, { change: (answer) => ({ ...answer, rendered: [] }) });
  }

  async #ofStore(sessions: Answer<"/api/sessions">["sessions"], subjects: Set<string>): Promise<void> {
    const { project } = this.#ofProject;
    const projects = [...new Set(sessions.map((session) => session.project))].filter((one) => one !== null);
    const sources = new Set(sessions.map(({ source }) => source));
    for (const asked of [{}, ...projects.map((one) => ({ project: one }))]) {
      const request = { ...asked, ...this.#ofProject };
      const listed = await this.#keep("/api/subjects", { ...request, limit: SESSIONS_AT_ONCE }, { asked });
      for (const { subject } of listed.subjects) subjects.add(subject);
      const work = await this.#keep("/api/work-overview", request, { asked });
      const rows: [keyof Request<"/api/work">, WorkCount[]][] = [
        ["file", work.files],
        ["error", work.errors],
        ["command", work.commands],
      ];
      for (const [of, counts] of rows) {
        for (const row of this.#ofFile(counts)) {
          const among = request.project ?? row.project;
          await this.#keep("/api/work", { [of]: row.name.trim(), ...(among !== null && { project: among }) });
        }
      }
    }
    for (const handle of subjects) await this.#keep("/api/subject", { handle, limit: 1_000 });
    await this.#keep(
      "/api/usage",
      {},
      {
        change: ({ rows }) => ({ rows: rows.filter((row) => project === undefined || row.project === project) }),
      },
    );
    if (project === undefined) await this.#keep("/api/health", {});
    await this.#keep(
      "/api/about",
      {},
      {
        change: (about) => ({
          ...about,
          projects: about.projects.filter((one) => projects.includes(one.project)),
          sources: about.sources.filter((one) => sources.has(one)),
          project: project ?? null,
        }),
      },
    );
  }

  async #ask<R extends keyof GetRoutes>(route: R, request: Request<R>): Promise<Answer<R>> {
    const { searchParams } = new URL(urlOf(route, request), "http://view");
    return this.#routes.get[route](searchParams, AbortSignal.any([]));
  }

  /**
   * Asks, and writes the answer.
   *
   * @param options.asked  What the page asks, if that is something else.
   * @param options.change  Makes what is written of the answer.
   */
  async #keep<R extends keyof GetRoutes>(
    route: R,
    request: Request<R>,
    {
      asked = request,
      change = (answer) => answer,
    }: { asked?: Request<R>; change?: (answer: Answer<R>) => object } = {},
  ): Promise<Answer<R>> {
    const answer = await this.#ask(route, request);
    const shown = Object.entries(change(answer)).map(([name, value]) => [name, this.#ofFile(value)]);
    this.#file.put(
      urlOf(route, this.#redactor.derived(asked)),
      this.#redactor.derived({ ...Object.fromEntries(shown), sql: undefined }),
    );
    return answer;
  }

  /** Leaves out the rows of a list that are of other sessions. */
  #ofFile<T>(value: T): T {
    if (!Array.isArray(value)) return value;
    return value.filter((row) => typeof row?.sessionId !== "string" || this.#inFile.has(row.sessionId)) as T;
  }
}

function* partsOf(parts: readonly ViewPart[]): Generator<ViewPart> {
  for (const part of parts) {
    yield part;
    if (part.type === "tool_result") yield* partsOf(part.content);
  }
}
