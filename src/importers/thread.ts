import type { Draft } from "./draft.ts";
import type { ImportEvent, ImportedSession } from "./importer.ts";
import { messageEvent, notYet } from "./message-event.ts";
import { callIdsOf, inOrder, RESULT_DUE, THOUGHT_OPEN } from "./order.ts";

/**
 * The messages of one session, on their way from a file to the store.
 *
 * A reply is held until the next begins, because its usage and its results come late, and results go to their calls whatever
 * was written between them (see `inOrder`). So memory is that of a reply, however long the file is. A message of nothing but
 * thoughts is held until what it leads to, and comes with that as one.
 */
export class Thread {
  readonly session: ImportedSession;
  readonly #ids = new Set<string>();
  #drafts: Draft[] = [];
  #thought: Draft | undefined;
  readonly #openIds = new Set<string>();
  #isAnnounced = false;
  #isTitleTold = false;

  constructor(session: ImportedSession) {
    this.session = session;
  }

  /** The newest message of the reply to which results and usage still belong, if there is one. */
  get assistant(): Draft | undefined {
    return this.#thought ?? this.#drafts.findLast(({ message }) => message.role === "assistant");
  }

  /** Add a message. What the assistant says without a `reply` is one for itself. Yields those that are now complete. */
  *push(draft: Draft): Generator<ImportEvent> {
    const { message } = draft;
    message.id = this.#unused(message.id);
    if (message.role === "assistant") {
      yield* this.#say(draft);
      return;
    }
    this.#endThought();
    draft.isPrompt ??= message.role === "user";
    if (message.role !== "tool" && this.#openIds.size === 0) yield* this.flush();
    for (const part of message.parts) if (part.type === "tool_result") this.#openIds.delete(part.toolCallId);
    this.#drafts.push(draft);
  }

  /** Give out what is held: nothing more belongs to it. */
  *flush(): Generator<ImportEvent> {
    this.#endThought();
    this.#openIds.clear();
    const { drafts, waiting } = inOrder(this.#drafts.splice(0));
    yield* this.#tell([...drafts, ...waiting]);
  }

  /**
   * Tell what is sure if the file goes on, and go on holding it: results and usage may belong to it.
   *
   * @param isFinished  Nothing was written for long: whatever is held is told.
   */
  *pause(isFinished: boolean): Generator<ImportEvent> {
    const held = isFinished && this.#thought !== undefined ? [...this.#drafts, this.#thought] : this.#drafts;
    const { drafts, waiting } = inOrder(held);
    yield* this.#tell([...drafts, ...waiting.filter(({ isPrompt }) => isFinished || isPrompt)]);
    yield* this.#tellTitle();
  }

  /**
   * At the end of the file: what is held, and a title that came after the first message.
   *
   * @param isFinished  Nothing will be written any more: nothing waits.
   */
  *finish(isFinished: boolean): Generator<ImportEvent> {
    if (isFinished) {
      yield* this.flush();
      yield* this.#tellTitle();
      return;
    }
    yield* this.pause(false);
    for (const { line, isPrompt } of inOrder(this.#drafts).waiting) if (!isPrompt) yield notYet(line, RESULT_DUE);
    if (this.#thought !== undefined) yield notYet(this.#thought.line, THOUGHT_OPEN);
  }

  *#say(draft: Draft): Generator<ImportEvent> {
    draft.reply ??= {};
    if (this.assistant?.reply !== draft.reply) yield* this.flush();
    const { parts, metadata } = draft.message;
    const whole = this.#thought ?? draft;
    if (whole !== draft) {
      whole.message.parts.push(...parts);
      Object.assign(whole.message.metadata, metadata);
    }
    this.#thought = undefined;
    if (parts.length > 0 && parts.every(({ type }) => type === "reasoning")) {
      this.#thought = whole;
      return;
    }
    for (const id of callIdsOf(parts)) this.#openIds.add(id);
    this.#drafts.push(whole);
  }

  /** Nothing follows a thought: it is a message of its own. */
  #endThought(): void {
    if (this.#thought !== undefined) this.#drafts.push(this.#thought);
    this.#thought = undefined;
  }

  *#tell(drafts: readonly Draft[]): Generator<ImportEvent> {
    for (const { message, line } of drafts) {
      const event = messageEvent(this.session.externalId, message, line);
      if (event.kind === "message" && !this.#isAnnounced) {
        this.#isAnnounced = true;
        this.#isTitleTold = this.session.title !== undefined;
        if (typeof message.createdAt === "number") this.session.createdAtMs ??= message.createdAt;
        yield { kind: "session", session: { ...this.session } };
      }
      yield event;
    }
  }

  *#tellTitle(): Generator<ImportEvent> {
    const { externalId, title } = this.session;
    if (this.#isAnnounced && !this.#isTitleTold && title !== undefined) {
      this.#isTitleTold = true;
      yield { kind: "title", session: externalId, title };
    }
  }

  /** Two messages of one name are both kept: the second is called `<id>#2`. */
  #unused(id: string): string {
    let unused = id;
    for (let count = 2; this.#ids.has(unused); count++) unused = `${id}#${count}`;
    this.#ids.add(unused);
    return unused;
  }
}
