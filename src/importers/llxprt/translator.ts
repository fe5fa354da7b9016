import { basename } from "node:path";
import { fromLlxprt, type LlxprtContent } from "../../adapters/llxprt.ts";
import type { Part } from "../../core/message.ts";
import { adapted } from "../adapted.ts";
import { messageEntry } from "../entry.ts";
import type { ImportedSession } from "../importer.ts";
import { isObject, type JsonLine, type JsonObject } from "../lines.ts";
import type { Transcript, Translator } from "../transcript.ts";
import { millisecondsOf, numberOf, objectOf, projectOf, saidOf, stringOf } from "../values.ts";

/** Lines about the program: notices on its screen, folders, checkpoints, and shortened or renumbered copies of contents. */
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
 * Translates the lines of llxprt-code: `{ v, seq, ts, type, payload }`.
 *
 * `rewind` takes back the newest contents, by their number. `compressed` replaces everything before it by a summary for the
 * agent. Here the summary is a marked message and removes nothing; only the next `rewind` counts from it.
 */
export class LlxprtTranslator implements Translator<JsonLine> {
  readonly #path: string;
  readonly #transcript: Transcript;
  #meta: JsonObject = {};
  #provider: JsonObject = {};
  #title: string | undefined;
  #parent: string | undefined;

  constructor(path: string, transcript: Transcript) {
    this.#path = path;
    this.#transcript = transcript;
  }

  read({ value, line }: JsonLine): void {
    const { type } = value;
    const payload = objectOf(value.payload);
    switch (type) {
      case "session_start":
        if (Object.keys(this.#meta).length === 0) this.#meta = payload;
        this.#provider = providerOf(payload);
        this.#title = stringOf(payload.title) ?? this.#title;
        return;
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
        this.#addContent(payload.content, value, line, {});
        return;
      case "compressed": {
        const { summary, ...about } = payload;
        this.#addContent(summary, value, line, { ...about, type, isCompactSummary: true });
        return;
      }
      case "rewind": {
        const count = numberOf(payload.itemsRemoved);
        if (count === undefined || count < 0) this.#transcript.warn(line, "itemsRemoved: expected a number");
        else this.#transcript.branches()?.rewindBy(count);
        return;
      }
      default:
        if (BOOKKEEPING_TYPES.has(type)) return;
        this.#transcript.warn(line, `unknown type of line: ${JSON.stringify(type ?? null)}`);
    }
  }

  end(): void {
    const root = this.#transcript.branches()?.root.session;
    if (root !== undefined && this.#title !== undefined) root.title ??= this.#title;
  }

  #addContent(content: unknown, envelope: JsonObject, line: number, about: JsonObject): void {
    if (!isObject(content)) {
      this.#transcript.warn(line, "content: expected an object");
      return;
    }
    const messages = adapted(() => fromLlxprt(content as unknown as LlxprtContent));
    if (typeof messages === "string") {
      this.#transcript.warn(line, messages);
      return;
    }
    const id = String(numberOf(envelope.seq) ?? line);
    const entries = messages
      .filter(({ parts }) => parts.length > 0)
      .map(({ role, parts, createdAt: recordedAt, metadata }, index) => {
        // The file gives a summary the model's role, but the model gets it as a message of the user.
        const isSummary = about.isCompactSummary === true && parts.every(isPlain);
        return messageEntry(line, isSummary ? "user" : role, index === 0 ? id : `${id}/${index}`, parts, {
          createdAt: millisecondsOf(envelope.ts) ?? recordedAt,
          metadata: { ...(role === "assistant" ? this.#provider : {}), ...(metadata as JsonObject), ...about },
        });
      });
    if (entries.length === 0) return;
    const branches = this.#transcript.open("", () => this.#session());
    branches.add(entries, id);
    if (about.isCompactSummary === true) branches.keep([id]);
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
