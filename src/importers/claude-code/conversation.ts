import type { AdaptedMessage } from "../../adapters/anthropic.ts";
import type { JsonValue } from "../../core/message.ts";
import { derivedId } from "../derived-id.ts";
import { type Draft, draftOf } from "../draft.ts";
import type { JsonObject } from "../lines.ts";
import { callIdsOf, inOrder, RESULT_DUE, THOUGHT_OPEN, type WaitingDraft, waitingFor } from "../order.ts";
import { objectOf, stringOf } from "../values.ts";
import { attachmentPartsOf, messageOfRole, messagesOf } from "./content.ts";
import { timeOf } from "./line.ts";
import { metadataOf } from "./metadata.ts";

/** One answer of the model, which Claude Code writes line by line: a line for each block of its content. */
interface Reply {
  messageId: string;
  requestId: string | undefined;
  callIds: Set<string>;
  /** Thoughts whose words or call have not come yet. */
  thought: Draft | undefined;
}

/**
 * One conversation of a transcript, line by line.
 *
 * Claude Code writes a line for each content block of an assistant message, as soon as it is there, and may write the
 * results of its first calls before the line of its last. Each line is a message here, so that a file which was read
 * while it grew gives the messages that the whole of it gives; only a thought goes with the words or the call that it leads
 * to. Where a reply calls again before its earlier call was answered, the later call comes behind that answer: a call and
 * its result stand together. Lines of one `message.id` and `requestId` are of one reply, as long as no other assistant
 * message has come between, and where there is no `requestId`, no prompt. (Proxies in front of other models write no
 * request ids and repeat their message ids.)
 *
 * A message's id is its line's uuid, that of its thought where it has one. Where one line holds both tool
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
  #reply: Reply | undefined;

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
   * Take out the messages that no later line can change, in conversation order: those before the newest reply, up to one
   * that `isHeld`.
   */
  takeSettled(isHeld: (draft: Draft) => boolean): Draft[] {
    let count = 0;
    let newest: object | undefined;
    for (const [index, draft] of this.#drafts.entries()) {
      if (isHeld(draft)) break;
      if (draft.reply === undefined || draft.reply === newest) continue;
      newest = draft.reply;
      count = index;
    }
    const { drafts, waiting } = inOrder(this.#drafts.splice(0, count));
    return this.#take([...drafts, ...waiting]);
  }

  /** Take out all that is left: nothing will be written any more. */
  takeAll(): Draft[] {
    this.#endThought();
    const { drafts, waiting } = inOrder(this.#drafts.splice(0));
    return this.#take([...drafts, ...waiting]);
  }

  /** All that is left, and it stays. */
  all(): Draft[] {
    const thought = this.#reply?.thought;
    const { drafts, waiting } = inOrder(thought === undefined ? this.#drafts : [...this.#drafts, thought]);
    return [...drafts, ...waiting];
  }

  /**
   * All that is left but what the next lines may put elsewhere, and it stays. What the user said does not wait, unless it
   * `isHeld`.
   */
  whole(isHeld: (draft: Draft) => boolean): { drafts: Draft[]; waiting: WaitingDraft[] } {
    const { drafts, waiting } = inOrder(this.#drafts.filter((draft) => !isHeld(draft)));
    return {
      drafts: [...drafts, ...waiting.filter(({ isPrompt }) => isPrompt)],
      waiting: [
        ...waitingFor("the prompt is in the queue, and comes where it is handed over", this.#drafts.filter(isHeld)),
        ...waitingFor(
          RESULT_DUE,
          waiting.filter(({ isPrompt }) => !isPrompt),
        ),
        ...waitingFor(THOUGHT_OPEN, this.#reply?.thought === undefined ? [] : [this.#reply.thought]),
      ],
    };
  }

  /** Whether messages begin no later than on this line, and none of those is held. */
  hasTakenUpTo(line: number): boolean {
    return this.#taken.some((taken) => taken.line <= line) && !this.#drafts.some((draft) => draft.line <= line);
  }

  /** Id of the last message that begins no later than on this line. */
  lastUpTo(line: number): string | undefined {
    const held = inOrder(this.#drafts).drafts.findLast((draft) => draft.line <= line);
    return held?.message.id ?? this.#taken.findLast((taken) => taken.line <= line)?.id;
  }

  #take(drafts: Draft[]): Draft[] {
    for (const { line, message } of drafts) this.#taken.push({ line, id: message.id });
    return drafts;
  }

  #addAssistant(line: JsonObject, id: string, number: number, messageId: string, content: JsonValue): void {
    const requestId = stringOf(line.requestId);
    const said = messagesOf("assistant", content)[0]!;
    if (this.#reply?.messageId !== messageId || this.#reply.requestId !== requestId) {
      this.#endThought();
      this.#reply = { messageId, requestId, callIds: new Set(), thought: undefined };
    }
    const reply = this.#reply!;
    const fresh = said.parts.filter((part) => part.type !== "tool_call" || !reply.callIds.has(part.toolCallId));
    if (fresh.length === 0 && said.parts.length > 0) return;
    for (const callId of callIdsOf(fresh)) reply.callIds.add(callId);
    const draft = reply.thought ?? this.#draftOf(line, id, number, { ...said, parts: [] });
    if (reply.thought !== undefined) {
      const { metadata } = draft.message;
      metadata.uuids = [...(Array.isArray(metadata.uuids) ? metadata.uuids : [draft.message.id]), id];
      Object.assign(metadata, said.metadata);
      // Later lines know the usage so far and the stop reason.
      metadata.message = { ...objectOf(metadata.message), ...objectOf(metadataOf(line).message) };
    }
    draft.message.parts.push(...fresh);
    const isThought = fresh.length > 0 && fresh.every(({ type }) => type === "reasoning");
    reply.thought = isThought ? draft : undefined;
    draft.reply = reply;
    if (!isThought) this.#drafts.push(draft);
  }

  /** Nothing follows a thought: it is a message of its own. */
  #endThought(): void {
    const reply = this.#reply;
    if (reply?.thought === undefined) return;
    this.#drafts.push(reply.thought);
    reply.thought = undefined;
  }

  #addUser(line: JsonObject, id: string, number: number, content: JsonValue): Draft | undefined {
    this.#endThought();
    const said = messagesOf("user", content);
    const results = messageOfRole("tool", said);
    const words = messageOfRole("user", said);
    if (results !== undefined) this.#push(line, words === undefined ? id : `${id}:result`, number, results);
    if (words === undefined) return undefined;
    const isPrompt = line.isMeta !== true;
    const draft = this.#push(line, id, number, words, isPrompt);
    if (!isPrompt) return undefined;
    if (!this.#reply?.requestId) this.#reply = undefined;
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

  #push(line: JsonObject, id: string, number: number, said: AdaptedMessage, isPrompt = false): Draft {
    const draft = this.#draftOf(line, id, number, said);
    draft.isPrompt = isPrompt;
    this.#drafts.push(draft);
    return draft;
  }

  #draftOf(line: JsonObject, id: string, number: number, { role, parts, metadata }: AdaptedMessage): Draft {
    return draftOf(number, role, this.#unused(id), parts, {
      createdAt: timeOf(line),
      metadata: { ...metadataOf(line), ...(metadata as JsonObject) },
    });
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
