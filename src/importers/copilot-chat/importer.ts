import { basename, dirname, join } from "node:path";
import { jsonAt } from "../beside.ts";
import { fileNameOf } from "../conversations.ts";
import { headElements } from "../documents.ts";
import type { Importer } from "../importer.ts";
import { headObjects, isObject, type JsonObject } from "../lines.ts";
import { notYet } from "../message-event.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { derivedId, millisecondsOf, objectOf, pathOfAddress, saidOf, stringOf } from "../values.ts";
import { isLog, readSession, type SessionItem } from "./log.ts";
import { promptOf } from "./prompt.ts";
import { beforeCalls, replyOf } from "./response.ts";

/**
 * Reads the chats of Visual Studio Code: `…/User/workspaceStorage/<workspace>/chatSessions/<session>.json`, the `.jsonl` of newer
 * versions, which logs the changes of such a document, and what `Chat: Export Chat…` writes.
 */
export const copilotChat: Importer = {
  name: "copilot-chat",

  detect(head) {
    if (isLog(head)) {
      const entries = headObjects(head);
      return entries.length === 0 || entries.some(isOfSession);
    }
    const fields: JsonObject = {};
    for (const { key, value } of headElements(head)) if (key !== undefined) fields[key] = value;
    return isNamed(fields) || isRequest(fields.requests);
  },

  read: (file) => new ChatTranslator(file).translate(readSession(file)),
};

function isNamed({ responderUsername, initialLocation }: JsonObject): boolean {
  return typeof responderUsername === "string" && typeof initialLocation === "string";
}

/** Returns true for an entry of a log that tells about a session or its requests. */
function isOfSession({ kind, k, v }: JsonObject): boolean {
  if (kind !== 0) return Array.isArray(k) && k[0] === "requests";
  const session = objectOf(v);
  return isNamed(session) || (typeof session.creationDate === "number" && stringOf(session.sessionId) !== undefined);
}

function isRequest(value: JsonObject[string] | undefined): boolean {
  const { requestId, message, response } = objectOf(value);
  return stringOf(requestId) !== undefined && isObject(message) && Array.isArray(response);
}

/** The values of `modelState` of a response that ended: it is complete, was cancelled, or has failed. */
const ENDED: ReadonlySet<unknown> = new Set([1, 2, 3]);

class ChatTranslator extends Translator<SessionItem> {
  readonly #about: JsonObject = {};
  /** The texts that the editor has added to prompts so far. It adds the same instructions to each of them. */
  readonly #added = new Set<string>();
  #isWaiting = false;

  protected override isTelling({ key }: SessionItem): boolean {
    return key === "requests" || key === "responderUsername" || key === "sessionId";
  }

  protected override read({
    line,
    key,
    value,
    lines = [line],
    after,
    isOpen = false,
    isLast = false,
    kept,
  }: SessionItem): string | undefined {
    if (key !== "requests") {
      this.#about[key] = value;
      // Tools that export several threads call the name of one otherwise.
      const { customTitle, title, name, threadName } = this.#about;
      this.title = stringOf(customTitle) ?? stringOf(title) ?? stringOf(name) ?? stringOf(threadName);
      return;
    }
    if (kept !== undefined) {
      const branches = this.branches();
      branches?.rewindAfter(branches.keys.findLast((id) => kept.has(id)));
      return;
    }
    if (!isObject(value)) return "expected a request, as an object";
    const id = stringOf(value.requestId) ?? derivedId(value.message, value.timestamp);
    const prompt = this.#isWaiting ? [] : promptOf(value, id, line, this.#added);
    const isEnded = ENDED.has(objectOf(value.modelState).value) || isObject(value.result) || value.isCanceled === true;
    const told = isLast && !isEnded ? beforeCalls(value) : value;
    const reply = replyOf(told, id, line);
    const mayChange = this.file.isFinished !== true && (isOpen || !isEnded);
    this.#isWaiting ||= mayChange;
    if (this.#isWaiting) for (const one of lines) this.warn(one, notYet("the response may go on"));
    else if (told !== value) this.warn(line, notYet("the response has not ended, and tells of its calls at its end"));
    const entries = this.#isWaiting ? prompt : [...prompt, ...reply];
    if (entries.length === 0) return undefined;
    const branches = this.open();
    if (after !== undefined) branches.rewindAfter(after ?? undefined);
    branches.add(entries, id, true);
  }

  protected override session(): SessionFacts {
    const { path } = this.file;
    const [, name] = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.jsonl?$/.exec(basename(path)) ?? [];
    const folder = pathOfAddress(workspaceAt(path));
    return {
      externalId: name ?? stringOf(this.#about.sessionId) ?? fileNameOf(path),
      source: "copilot-chat",
      folder,
      createdAtMs: millisecondsOf(this.#about.creationDate),
      metadata: saidOf({ cwd: folder }),
    };
  }
}

/** Returns the address of the folder of the workspace to which the chats in a folder belong. */
function workspaceAt(path: string): string | undefined {
  if (basename(dirname(path)) !== "chatSessions") return undefined;
  return stringOf(objectOf(jsonAt(join(dirname(dirname(path)), "workspace.json"))).folder);
}
