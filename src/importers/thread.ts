import type { MessageInput, Part, Role } from "../core/message.ts";
import { derivedId } from "./derived-id.ts";
import type { ImportEvent, ImportedSession } from "./importer.ts";
import type { JsonObject } from "./lines.ts";
import { messageEvent } from "./message-event.ts";

/** A message in the making, and the number of the line where it begins. */
export interface Draft {
  readonly line: number;
  readonly message: DraftMessage;
}

interface DraftMessage extends MessageInput {
  id: string;
  parts: Part[];
  metadata: JsonObject;
}

/**
 * The messages of one session, on their way from a file to the store.
 *
 * The newest step is held until the next begins, because its usage, its results and more of its parts come late. What the
 * user says while a tool runs stands before the result in most files, but reached the model after it: it is held, too. So
 * memory is that of a step, however long the file is.
 */
export class Thread {
  readonly session: ImportedSession;
  readonly #ids = new Set<string>();
  #step: Draft[] = [];
  #waiting: Draft[] = [];
  #openCalls = new Set<string>();
  #isAnnounced = false;
  #isTitleTold = false;

  constructor(session: ImportedSession) {
    this.session = session;
  }

  /** The assistant message to which results and usage still belong, if the newest step has one. */
  get assistant(): Draft | undefined {
    const [first] = this.#step;
    return first?.message.role === "assistant" ? first : undefined;
  }

  /** Add a message. Yields those that are now complete. */
  *push(draft: Draft): Generator<ImportEvent> {
    const { message } = draft;
    message.id = this.#unused(message.id);
    const answers = message.parts.some((part) => part.type === "tool_result" && this.#openCalls.has(part.toolCallId));
    if (message.role === "tool" && answers) {
      this.#step.push(draft);
      for (const part of message.parts) if (part.type === "tool_result") this.#openCalls.delete(part.toolCallId);
      return;
    }
    if (message.role === "user" && this.#openCalls.size > 0) {
      this.#waiting.push(draft);
      return;
    }
    yield* this.flush();
    this.#step = [draft];
    this.extend([]);
  }

  /** More parts of the assistant message of the newest step. */
  extend(parts: readonly Part[]): void {
    const { assistant } = this;
    assistant?.message.parts.push(...parts);
    const answered = new Set(this.#step.flatMap(({ message }) => message.parts.flatMap(answeredBy)));
    for (const part of assistant?.message.parts ?? []) {
      if (part.type === "tool_call" && !answered.has(part.toolCallId)) this.#openCalls.add(part.toolCallId);
    }
  }

  /** Give out what is held: nothing more belongs to it. */
  *flush(): Generator<ImportEvent> {
    const drafts = [...this.#step, ...this.#waiting];
    this.#step = [];
    this.#waiting = [];
    this.#openCalls.clear();
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

  /** At the end of the file: what is held, and a title that came after the first message. */
  *finish(): Generator<ImportEvent> {
    yield* this.flush();
    const { externalId, title } = this.session;
    if (this.#isAnnounced && !this.#isTitleTold && title !== undefined) {
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

function answeredBy(part: Part): string[] {
  return part.type === "tool_result" ? [part.toolCallId] : [];
}

/** A draft; `id` may be anything that says the same each time the file is read. */
export function draftOf(
  line: number,
  role: Role,
  id: string | readonly unknown[],
  parts: Part[],
  about: { createdAt?: number | undefined; metadata?: JsonObject } = {},
): Draft {
  const { createdAt, metadata = {} } = about;
  const message: DraftMessage = { id: typeof id === "string" ? id : derivedId(...id), role, parts, metadata };
  if (createdAt !== undefined) message.createdAt = createdAt;
  return { line, message };
}
