import { basename } from "node:path";
import { fromLlxprt, type LlxprtContent } from "../adapters/llxprt.ts";
import type { Part } from "../core/message.ts";
import { adapted, messageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { millisecondsOf, numberOf, objectOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads the sessions of llxprt-code, thinking included: `~/.llxprt/tmp/<project>/chats/session-*.jsonl`. Its
 * `packages/core/src/recording` defines the format.
 */
export const llxprt: Importer = {
  name: "llxprt",
  isFollowable: true,

  detect(head) {
    for (const { v, seq, type, payload } of headObjects(head)) {
      const isEvent = (v === 1 || v === 2) && typeof seq === "number" && isObject(payload);
      if (isEvent && (SAID_TYPES.has(type) || BOOKKEEPING_TYPES.has(type))) return true;
    }
    return false;
  },

  read: (file) => new LlxprtTranslator(file).translate(readJsonLines(file)),
};

const SAID_TYPES: ReadonlySet<unknown> = new Set([
  "compressed",
  "content",
  "provider_switch",
  "rewind",
  "session_forked",
  "session_metadata",
  "session_named",
  "session_start",
  "synthetic_insert",
]);

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
 * `rewind` takes back a number of the newest contents. After `compressed`, the agent gets a summary in place of everything
 * before. Here the summary is a marked message and removes nothing, but a later `rewind` cannot go back before it.
 */
class LlxprtTranslator extends Translator<JsonLine> {
  #meta: JsonObject = {};
  #provider: JsonObject = {};
  #parent: string | undefined;

  protected override read({ value, line }: JsonLine): string | undefined {
    const { type } = value;
    const payload = objectOf(value.payload);
    switch (type) {
      case "session_start":
        if (Object.keys(this.#meta).length === 0) this.#meta = payload;
        this.#provider = providerOf(payload);
        this.title = stringOf(payload.title) ?? this.title;
        return;
      case "provider_switch":
        this.#provider = providerOf(payload);
        return;
      case "session_metadata":
      case "session_named":
        this.title = stringOf(payload.title) ?? stringOf(payload.name) ?? this.title;
        return;
      case "session_forked":
        this.#parent = stringOf(payload.parentSessionId) ?? this.#parent;
        return;
      case "content":
      case "synthetic_insert":
        return this.#addContent(payload.content, value, line);
      case "compressed": {
        const { summary, ...about } = payload;
        return this.#addContent(summary, value, line, { ...about, type, isCompactSummary: true });
      }
      case "rewind": {
        const count = numberOf(payload.itemsRemoved);
        if (count === undefined || count < 0) return "itemsRemoved: expected a number";
        this.branches()?.rewindBy(count);
        return;
      }
      default:
        if (!BOOKKEEPING_TYPES.has(type)) return `unknown type of line: ${JSON.stringify(type ?? null)}`;
    }
  }

  #addContent(content: unknown, { seq, ts }: JsonObject, line: number, summaryFacts?: JsonObject): string | undefined {
    if (!isObject(content)) return "content: expected an object";
    const messages = adapted(() => fromLlxprt(content as unknown as LlxprtContent));
    if (typeof messages === "string") return messages;
    const id = String(numberOf(seq) ?? line);
    const entries = messages
      .filter(({ parts }) => parts.length > 0)
      .map(({ role, parts, createdAt, metadata }, index) => {
        // The file gives a summary the model's role, but the model gets it as a message of the user.
        const roleSeen = summaryFacts !== undefined && parts.every(isPlain) ? "user" : role;
        const provider = role === "assistant" ? this.#provider : {};
        const entryId = index === 0 ? id : `${id}/${index}`;
        return messageEntry(line, roleSeen, entryId, parts, millisecondsOf(ts) ?? createdAt, {
          ...provider,
          ...metadata,
          ...summaryFacts,
        });
      });
    if (entries.length === 0) return;
    const branches = this.open();
    branches.add(entries, id);
    if (summaryFacts !== undefined) branches.keep([id]);
  }

  protected override session(): SessionFacts {
    const { sessionId, cwd, workspaceDirs, projectHash } = this.#meta;
    const [first] = Array.isArray(workspaceDirs) ? workspaceDirs : [];
    return {
      externalId: stringOf(sessionId) ?? basename(this.file.path, ".jsonl"),
      source: "llxprt",
      parentExternalId: this.#parent,
      folder: stringOf(cwd) ?? stringOf(first),
      metadata: saidOf({ cwd, workspaceDirs, projectHash }),
    };
  }
}

function providerOf({ provider, model }: JsonObject): JsonObject {
  return saidOf({ provider, model });
}

function isPlain(part: Part): boolean {
  return part.type === "text" || part.type === "file" || part.type === "data";
}
