import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StoreError } from "../core/errors.ts";
import { checkTarget, flushToDisk, inFileSystem, moveIntoPlace } from "../core/files.ts";
import type { Message, Store } from "../index.ts";
import type { GetRoutes, UsageRow, ViewPart } from "./api.ts";
import { Asking } from "./ask.ts";
import { type Asset, pageAround, readAssets } from "./assets.ts";
import { partAt, textOfPart, viewMessage } from "./messages.ts";
import { fileKeyOf, PAGE_MAX, urlOf } from "./questions.ts";
import type { Query } from "./requests.ts";
import { Routes } from "./routes.ts";
import { SessionList } from "./sessions.ts";
import { ViewStore } from "./view-store.ts";

/** Browsers open a larger file slowly, and many programs do not send it. */
const BYTES_MAX = 200_000_000;
const SESSIONS_MAX = 1_000_000;
const SUBJECTS_MAX = 500;
const MESSAGES_AT_ONCE = 1_000;

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
  const { overwrite = false, assets = readAssets() } = options;
  const target = resolve(path);
  checkTarget(target, store.path, overwrite);
  const [before, after] = pageAround(assets);
  const folder = inFileSystem(target, () => mkdtempSync(join(dirname(target), ".coppice-page-")));
  try {
    const copy = join(folder, "page.html");
    const file = new PageFile(store, target, copy, options);
    try {
      file.write(before);
      await file.writeAnswers();
      file.write(after);
    } finally {
      file.close();
    }
    inFileSystem(target, () => {
      flushToDisk(copy);
      checkTarget(target, store.path, overwrite); // again: the work took time
      moveIntoPlace(copy, target, overwrite);
    });
    const { byteLength, sessionCount, messageCount } = file;
    return { path: target, byteLength, sessionCount, messageCount };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Asks what the page can ask of a store or project, and writes the answers without secrets. */
class PageFile {
  byteLength = 0;
  sessionCount = 0;
  messageCount = 0;
  readonly #target: string;
  readonly #descriptor: number;
  readonly #options: PageFileOptions;
  readonly #view: ViewStore;
  readonly #routes: Routes;
  readonly #keys = new Set<string>();
  /** Not the hidden sessions, and not those of other projects. */
  #sessions: ReadonlySet<string> = new Set();
  readonly #subjects = new Set<string>();
  /** The messages with which agents went on after a compaction. */
  readonly #summaries: Query<"/api/lost">[] = [];

  constructor(store: Store, target: string, copy: string, options: PageFileOptions) {
    this.#target = target;
    this.#descriptor = inFileSystem(target, () => openSync(copy, "wx", 0o600));
    this.#options = options;
    this.#view = new ViewStore(store, false);
    this.#routes = new Routes(this.#view, new Asking(this.#view, undefined), null);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** @throws {StoreError} `FILE_NOT_USABLE` if there is no room, or if the page becomes too large. */
  write(text: string): void {
    const { bytesMax = BYTES_MAX } = this.#options;
    this.byteLength += Buffer.byteLength(text);
    if (this.byteLength > bytesMax) {
      const reason = `the page would have more than ${bytesMax / 1_000_000} MB, which is too large for a file`;
      const fix = "Nothing was written. Choose a project, or a smaller one, with `--project NAME`.";
      throw new StoreError("FILE_NOT_USABLE", { path: this.#target, reason, fix });
    }
    inFileSystem(this.#target, () => writeFileSync(this.#descriptor, text));
  }

  async writeAnswers(): Promise<void> {
    const { redactor, onProgress, project } = this.#options;
    const request = { ...(project !== undefined && { project }), limit: SESSIONS_MAX };
    const { sessions } = await new SessionList(this.#view).page(request);
    this.#sessions = new Set(sessions.map(({ id }) => id));
    this.sessionCount = sessions.length;
    let done = 0;
    // What is made of messages comes after all of them, when every secret is known.
    for (const write of [this.#messages, this.#session]) {
      for (const { id } of sessions) {
        await write.call(this, id);
        onProgress?.(++done, 2 * sessions.length);
      }
    }
    this.#put("/api/sessions", redactor.derived({ sessions }));
    for (const summary of this.#summaries) await this.#keep("/api/lost", summary);
    await this.#ofStore(sessions);
  }

  async #messages(session: string): Promise<void> {
    const messages: Message[] = [];
    for (let seqFrom: number | undefined = 0; seqFrom !== undefined; ) {
      const options = { seqFrom, limit: MESSAGES_AT_ONCE };
      const read: Message[] = await this.#view.read((store) => store.resume(session).messages(options));
      messages.push(...this.#options.redactor.whole(read));
      seqFrom = read.length < MESSAGES_AT_ONCE ? undefined : read.at(-1)!.seq + 1;
    }
    const shown = messages.map((message) => viewMessage(message));
    for (const [index, { id, parts, metadata }] of shown.entries()) {
      if (metadata?.isCompactSummary === true) this.#summaries.push({ session, summary: id });
      for (const part of partsOf(parts)) {
        // A picture cannot be searched for secrets.
        if (part.type === "file") part.href = null;
        const whole = "isCut" in part && part.isCut ? partAt(messages[index]!, part.path) : undefined;
        if (whole === undefined || whole.type === "file") continue;
        this.#put(urlOf("/api/part", { message: id, path: part.path }), textOfPart(whole));
      }
    }
    this.messageCount += shown.length;
    this.#put(urlOf("/api/messages", { session }), { messages: shown });
  }

  async #session(session: string): Promise<void> {
    const { seqEnd } = await this.#keep("/api/session", { session }, ({ parent, children, ...answer }) => ({
      ...answer,
      parent: parent !== null && this.#sessions.has(parent.session) ? parent : null,
      children: children.filter((child) => this.#sessions.has(child.session)),
    }));
    for (let seqFrom = 0; seqFrom === 0 || seqFrom < seqEnd; seqFrom += PAGE_MAX) {
      await this.#keep("/api/outline", { session, seqFrom, limit: PAGE_MAX });
    }
    const { clusters } = await this.#keep("/api/forest", { session });
    for (const { subject } of clusters) if (subject !== null) this.#subjects.add(subject);
    for (let after: number | null = 0; after !== null; ) {
      const log: GetRoutes["/api/log"] = await this.#keep("/api/log", { session, after, limit: PAGE_MAX });
      for (const position of log.positions) await this.#keep("/api/why", { session, position });
      after = log.next;
    }
    await this.#keep("/api/context", { session }, (answer) => ({ ...answer, rendered: [] }));
  }

  async #ofStore(sessions: GetRoutes["/api/sessions"]["sessions"]): Promise<void> {
    const { project } = this.#options;
    const projects = new Set(sessions.map((session) => session.project));
    const sources = new Set(sessions.map(({ source }) => source));
    for (const among of [undefined, ...projects]) {
      if (among === null) continue;
      const asked = among === undefined ? {} : { project: among };
      // In the file of a project, everything is of it.
      const request = project === undefined ? asked : { project };
      const { subjects } = await this.#keep("/api/subjects", { ...request, limit: SUBJECTS_MAX }, undefined, asked);
      for (const { subject } of subjects) this.#subjects.add(subject);
      const { files, errors, commands } = await this.#keep("/api/work-overview", request, undefined, asked);
      for (const [of, rows] of Object.entries({ file: files, error: errors, command: commands })) {
        for (const row of this.#ofFile(rows)) {
          const within = request.project ?? row.project;
          await this.#keep("/api/work", { [of]: row.name.trim(), ...(within !== null && { project: within }) });
        }
      }
    }
    for (const handle of this.#subjects) await this.#keep("/api/subject", { handle, limit: 1_000 });
    const isOfFile = (row: UsageRow): boolean => project === undefined || row.project === project;
    const offsetMinutes = -new Date().getTimezoneOffset();
    await this.#keep("/api/usage", { offsetMinutes }, ({ rows }) => ({ rows: rows.filter(isOfFile) }));
    if (project === undefined) await this.#keep("/api/health", {});
    await this.#keep("/api/about", {}, (about) => ({
      ...about,
      projects: about.projects.filter((one) => projects.has(one.project)),
      sources: about.sources.filter((one) => sources.has(one)),
      project: project ?? null,
    }));
  }

  /** Asks, and writes the answer as `change` makes it. @param asked  What the page asks, if that is something else. */
  async #keep<R extends keyof GetRoutes>(
    route: R,
    request: Query<R>,
    change: (answer: GetRoutes[R]) => object = (answer) => answer,
    asked = request,
  ): Promise<GetRoutes[R]> {
    const { redactor } = this.#options;
    const answer: GetRoutes[R] = await this.#routes.get[route](request, new AbortController().signal);
    const shown = Object.entries(change(answer)).map(([name, value]) => [name, this.#ofFile(value)]);
    this.#put(
      urlOf(route, redactor.derived(asked)),
      redactor.derived({ ...Object.fromEntries(shown), sql: undefined }),
    );
    return answer;
  }

  /** Leaves out the rows of a list that are of other sessions. */
  #ofFile<T>(value: T): T {
    if (!Array.isArray(value)) return value;
    return value.filter((row) => typeof row?.sessionId !== "string" || this.#sessions.has(row.sessionId)) as T;
  }

  #put(url: string, answer: unknown): void {
    const key = fileKeyOf(url);
    if (this.#keys.has(key)) return;
    // No text of an answer can end the element that it stands in.
    const entry = `${JSON.stringify(key)}:${JSON.stringify(answer)}`.replaceAll("<", "\\u003c");
    this.write(`${this.#keys.size === 0 ? "" : ",\n"}${entry}`);
    this.#keys.add(key);
  }
}

function* partsOf(parts: readonly ViewPart[]): Generator<ViewPart> {
  for (const part of parts) {
    yield part;
    if (part.type === "tool_result") yield* partsOf(part.content);
  }
}
