import { basename } from "node:path";
import { fromLlxprt, type LlxprtContent } from "../../adapters/llxprt.ts";
import type { Part } from "../../core/message.ts";
import { adapted } from "../adapted.ts";
import { Branches } from "../branches.ts";
import { draftOf } from "../draft.ts";
import type { ImportEvent, ImportedSession } from "../importer.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { millisecondsOf, numberOf, objectOf, projectOf, saidOf, stringOf } from "../values.ts";

/**
 * Lines about the program: notices on its screen, folders, names of points to go back to, and what it shortens or numbers
 * anew of contents that stand on lines of their own.
 */
const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set([
  "checkpoint_created",
  "checkpoint_deleted",
  "checkpoint_renamed",
  "chronology_bind",
  "compression_detail",
  "density_mutation",
  "directories_changed",
  "semantic_media_purge",
  "session_event",
]);

/**
 * One session of llxprt-code, taken in line by line: `{ v, seq, ts, type, payload }`.
 *
 * `rewind` takes back the newest contents, by their number. `compressed` puts a summary in the place of all before it: it
 * becomes a marked message here and takes nothing away; only the next `rewind` counts from it.
 */
export class Journal {
  readonly #path: string;
  #meta: JsonObject = {};
  #provider: JsonObject = {};
  #title: string | undefined;
  #parent: string | undefined;
  #branches: Branches | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  *add(value: JsonObject, line: number): Generator<ImportEvent> {
    const { type } = value;
    const payload = objectOf(value.payload);
    switch (type) {
      case "session_start": {
        if (Object.keys(this.#meta).length === 0) this.#meta = payload;
        this.#provider = providerOf(payload);
        this.#title = stringOf(payload.title) ?? this.#title;
        return;
      }
      case "provider_switch":
        this.#provider = providerOf(payload);
        return;
      case "session_metadata":
      case "session_named":
        this.#title = stringOf(payload.title) ?? stringOf(payload.name) ?? this.#title;
        return;
      case "session_forked":
        this.#parent = stringOf(payload.parentSessionId) ?? this.#parent;
        return;
      case "content":
      case "synthetic_insert":
        yield* this.#content(payload.content as JsonObject, value, line, {});
        return;
      case "compressed": {
        const { summary, ...about } = payload;
        yield* this.#content(summary as JsonObject, value, line, { ...about, type, isCompactSummary: true });
        return;
      }
      case "rewind": {
        const count = numberOf(payload.itemsRemoved);
        if (count === undefined || count < 0)
          yield { kind: "warning", line, reason: "itemsRemoved: expected a number" };
        else this.#branches?.backBy(count);
        return;
      }
      default:
        if (BOOKKEEPING_TYPES.has(type)) return;
        yield { kind: "warning", line, reason: `unknown type of line: ${JSON.stringify(type ?? null)}` };
    }
  }

  /** What would come if the file ended here. @param isFinished  Nothing was written for long. */
  *pause(isFinished: boolean): Generator<ImportEvent> {
    if (this.#branches === undefined) return;
    if (this.#title !== undefined) this.#branches.root.title ??= this.#title;
    yield* this.#branches.pause(isFinished);
  }

  *finish(isFinished: boolean): Generator<ImportEvent> {
    if (this.#branches === undefined) return;
    if (this.#title !== undefined) this.#branches.root.title ??= this.#title;
    yield* this.#branches.finish(isFinished);
  }

  *#content(content: unknown, envelope: JsonObject, line: number, about: JsonObject): Generator<ImportEvent> {
    if (!isObject(content)) {
      yield { kind: "warning", line, reason: "content: expected an object" };
      return;
    }
    const messages = adapted(() => fromLlxprt(content as unknown as LlxprtContent));
    if (typeof messages === "string") {
      yield { kind: "warning", line, reason: messages };
      return;
    }
    const id = String(numberOf(envelope.seq) ?? line);
    const drafts = messages
      .filter(({ parts }) => parts.length > 0)
      .map(({ role, parts, createdAt: told, metadata }, index) => {
        // A summary is a message to the model, though it is filed as one of its own.
        const isSummary = about.isCompactSummary === true && parts.every(isPlain);
        return draftOf(line, isSummary ? "user" : role, index === 0 ? id : `${id}/${index}`, parts, {
          createdAt: millisecondsOf(envelope.ts) ?? told,
          metadata: { ...(role === "assistant" ? this.#provider : {}), ...(metadata as JsonObject), ...about },
        });
      });
    if (drafts.length === 0) return;
    this.#branches ??= new Branches(this.#session());
    yield* this.#branches.push(id, drafts);
    if (about.isCompactSummary === true) this.#branches.keep([id]);
  }

  #session(): ImportedSession {
    const { sessionId, cwd, workspaceDirs, projectHash } = this.#meta;
    const session: ImportedSession = {
      externalId: stringOf(sessionId) ?? basename(this.#path).replace(/\.jsonl$/, ""),
      source: "llxprt",
    };
    const [first] = Array.isArray(workspaceDirs) ? workspaceDirs : [];
    const folder = stringOf(cwd) ?? stringOf(first);
    if (folder !== undefined) session.project = projectOf(folder);
    if (this.#title !== undefined) session.title = this.#title;
    if (this.#parent !== undefined) session.parentExternalId = this.#parent;
    const about = { cwd: cwd ?? null, workspaceDirs: workspaceDirs ?? null, projectHash: projectHash ?? null };
    session.metadata = saidOf(about);
    return session;
  }
}

function providerOf({ provider, model }: JsonObject): JsonObject {
  return saidOf({ provider: provider ?? null, model: model ?? null });
}

function isPlain(part: Part): boolean {
  return part.type === "text" || part.type === "file" || part.type === "data";
}
