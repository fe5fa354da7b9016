import type { AdaptedMessage } from "../../adapters/anthropic.ts";
import type { JsonValue, Part } from "../../core/message.ts";
import { derivedId } from "../derived-id.ts";
import type { JsonObject } from "../lines.ts";
import { type Draft, draftOf } from "../thread.ts";
import { objectOf, stringOf } from "../values.ts";
import { attachmentPartsOf, messageOfRole, messagesOf } from "./content.ts";
import { timeOf } from "./line.ts";
import { metadataOf } from "./metadata.ts";

/** The newest assistant message, to which lines with the same ids still add. */
interface OpenMessage {
  messageId: string;
  requestId: string | undefined;
  draft: Draft;
  uuids: string[];
  callIds: Set<string>;
}

/**
 * One conversation of a transcript, put together line by line.
 *
 * Claude Code writes a line for each content block of an assistant message, and may write the results of its first
 * calls before the line of its last: lines of one `message.id` and `requestId` are one message, as long as no other
 * assistant message has come between, and where there is no `requestId`, no prompt. (Proxies in front of other models
 * write no request ids and repeat their message ids.)
 *
 * A message's id is its line's uuid, the first line's where several were put together. Where one line holds both tool
 * results and words of the user, the results get `<uuid>:result`. A line that repeats an earlier one is passed over.
 *
 * What no later line can change is taken out meanwhile, so that memory holds a few words for each message, and the whole of
 * the newest only.
 */
export class Conversation {
  #drafts: Draft[] = [];
  readonly #ids = new Set<string>();
  /** Digests of what the lines said. */
  readonly #contentByUuid = new Map<string, string>();
  /** The messages taken out, in order. */
  readonly #taken: { line: number; id: string }[] = [];
  #open: OpenMessage | undefined;

  /**
   * Add a line that somebody said: `user`, `assistant` or `attachment`.
   *
   * @returns The draft, where the line is a prompt: words of the user that call for an answer.
   */
  add(line: JsonObject, number: number): Draft | undefined {
    const { content = null, id: messageId } = objectOf(line.message);
    if (this.#isRepeat(line, line.attachment ?? content)) return undefined;
    const id = stringOf(line.uuid) ?? derivedId(line.timestamp, line.message, line.attachment);
    if (line.type === "assistant") {
      this.#addAssistant(line, id, number, stringOf(messageId) ?? id, content);
      return undefined;
    }
    if (line.type === "attachment") return this.#addAttachment(line, id, number);
    return this.#addUser(line, id, number, content);
  }

  /**
   * Add a remark, the `content` of a `system` or `queue-operation` line. It comes as the user's: that is how the model
   * is told of such things, and a system message would head every context from now on.
   */
  note(line: JsonObject, number: number): Draft | undefined {
    const { content = null } = line;
    if (this.#isRepeat(line, content)) return undefined;
    const id = stringOf(line.uuid) ?? derivedId(line.type, line.timestamp, content);
    return this.#push(line, id, number, wordsOf(content));
  }

  /** Take back a draft that turned out to stand elsewhere too. */
  remove(draft: Draft): void {
    this.#drafts = this.#drafts.filter((other) => other !== draft);
  }

  /** Put a draft behind everything that has come so far. */
  moveToEnd(draft: Draft): void {
    this.remove(draft);
    this.#drafts.push(draft);
  }

  /** How many messages were not yet taken out. */
  get heldCount(): number {
    return this.#drafts.length;
  }

  /**
   * Take out the messages that no later line can change, in conversation order: those before the newest assistant message,
   * up to one that `isHeld`.
   */
  takeSettled(isHeld: (draft: Draft) => boolean): Draft[] {
    let count = 0;
    for (const [index, draft] of this.#drafts.entries()) {
      if (isHeld(draft)) break;
      if (draft.message.role === "assistant") count = index;
    }
    return this.#take(count);
  }

  /** Take out all that is left. */
  takeAll(): Draft[] {
    return this.#take(this.#drafts.length);
  }

  /** Id of the last message that begins no later than on this line; undefined while such messages are held, or without any. */
  lastTakenUpTo(line: number): string | undefined {
    if (this.#drafts.some((draft) => draft.line <= line)) return undefined;
    return this.#taken.findLast((taken) => taken.line <= line)?.id;
  }

  /**
   * The order is that of the file, except that results follow their calls at once. What arrives while a tool runs (a prompt
   * typed meanwhile, a notice) is written at once but reaches the model after the results.
   */
  #take(count: number): Draft[] {
    const ordered: Draft[] = [];
    const waiting: Draft[] = [];
    let callIds = new Set<string>();
    for (const draft of this.#drafts.splice(0, count)) {
      const { role, parts } = draft.message;
      if (role === "assistant") {
        for (const late of waiting.splice(0)) ordered.push(late);
        ordered.push(draft);
        callIds = new Set(callIdsOf(parts));
      } else if (parts.some((part) => part.type === "tool_result" && callIds.has(part.toolCallId))) {
        ordered.push(draft);
      } else {
        waiting.push(draft);
      }
    }
    ordered.push(...waiting);
    for (const { line, message } of ordered) this.#taken.push({ line, id: message.id });
    return ordered;
  }

  #addAssistant(line: JsonObject, id: string, number: number, messageId: string, content: JsonValue): void {
    const requestId = stringOf(line.requestId);
    const [said] = messagesOf("assistant", content);
    const { parts, metadata } = said!;
    if (this.#open?.messageId !== messageId || this.#open.requestId !== requestId) {
      const draft = this.#push(line, id, number, said!);
      this.#open = { messageId, requestId, draft, uuids: [id], callIds: new Set(callIdsOf(parts)) };
      return;
    }
    const { draft, uuids, callIds } = this.#open;
    const { message } = draft;
    message.parts.push(...parts.filter((part) => part.type !== "tool_call" || !callIds.has(part.toolCallId)));
    for (const callId of callIdsOf(parts)) callIds.add(callId);
    uuids.push(id);
    message.metadata.uuids = uuids;
    Object.assign(message.metadata, metadata);
    // Later lines know the final usage and the stop reason.
    message.metadata.message = { ...objectOf(message.metadata.message), ...objectOf(metadataOf(line).message) };
  }

  #addUser(line: JsonObject, id: string, number: number, content: JsonValue): Draft | undefined {
    const said = messagesOf("user", content);
    const results = messageOfRole("tool", said);
    const words = messageOfRole("user", said);
    if (results !== undefined) this.#push(line, words === undefined ? id : `${id}:result`, number, results);
    if (words === undefined) return undefined;
    const draft = this.#push(line, id, number, words);
    if (line.isMeta === true) return undefined;
    if (!this.#open?.requestId) this.#open = undefined;
    return draft;
  }

  #addAttachment(line: JsonObject, id: string, number: number): Draft | undefined {
    const { prompt, ...about } = objectOf(line.attachment);
    if (about.type !== "queued_command" || prompt === undefined) {
      this.#push(line, id, number, { role: "user", parts: attachmentPartsOf(objectOf(line.attachment)) });
      return undefined;
    }
    const draft = this.#push(line, id, number, wordsOf(prompt));
    draft.message.metadata.attachment = about;
    return draft;
  }

  #push(line: JsonObject, id: string, number: number, { role, parts, metadata }: AdaptedMessage): Draft {
    const draft = draftOf(number, role, this.#unused(id), parts, {
      createdAt: timeOf(line),
      metadata: { ...metadataOf(line), ...(metadata as JsonObject) },
    });
    this.#drafts.push(draft);
    return draft;
  }

  #isRepeat(line: JsonObject, content: JsonValue): boolean {
    const uuid = stringOf(line.uuid);
    if (uuid === undefined) return false;
    const digest = derivedId(content);
    const earlier = this.#contentByUuid.get(uuid);
    if (earlier === undefined) this.#contentByUuid.set(uuid, digest);
    return earlier === digest;
  }

  /** Lines that share a uuid and differ are all kept: the second is called `<uuid>#2`. */
  #unused(id: string): string {
    let unused = id;
    for (let count = 2; this.#ids.has(unused); count++) unused = `${id}#${count}`;
    this.#ids.add(unused);
    return unused;
  }
}

/** What is said by the way, as the user's. */
function wordsOf(content: JsonValue): AdaptedMessage {
  const said = messagesOf("user", content);
  return { ...said[0], role: "user", parts: said.flatMap(({ parts }) => parts) };
}

function callIdsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
}
