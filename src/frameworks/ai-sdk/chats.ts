import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { UIMessage } from "ai";
import { unless } from "../../core/errors.ts";
import type { SessionOptions } from "../../core/options.ts";
import { everyMessage } from "../../session/aids/every-message.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { firstDifference, heldFormOf, jsonOf, type StoredUiMessage, uiMessagesIn } from "./ui-messages.ts";

/** The namespace of an item for each chat: the state in which the last save left it. */
const SAVED = ["ai-sdk", "chats"];

interface SavedChat {
  messageCount: number;
  digest: string;
  /** The id of the newest message of the session; null if there is none. */
  newestId: number | null;
}

/**
 * Chats of the AI SDK in a store. A chat is the session of its id: `recall` finds its messages, and contexts show them. The methods
 * are synchronous, so that `store.atomically` can make one transaction of a load and a save.
 */
export class CoppiceChats {
  readonly #store: Store;
  readonly #settings: SessionOptions;

  constructor(store: Store, settings: SessionOptions = {}) {
    this.#store = store;
    this.#settings = settings;
  }

  /** Returns the messages as they were saved, as JSON gives them back; an empty list for a chat that was never saved. */
  loadMessages<Message extends UIMessage = UIMessage>(chatId: string): Message[] {
    const session = unless(["SESSION_NOT_FOUND"], () => this.#store.resume(chatId));
    return session === undefined ? [] : storedIn(session).map(({ message }) => message as Message);
  }

  /**
   * Saves the whole list of a chat, in one transaction. Messages that are stored already are not stored again. From the first message
   * that differs, for example an edited or a regenerated one, the stored messages are superseded: see `Session.rewind`.
   *
   * A list that only ends earlier than the stored one goes back if its last message is of the user, as when an answer is
   * regenerated. Any other is an earlier state of the chat that comes late, and changes nothing.
   *
   * @throws {StoreError} `MESSAGE_INVALID` for a message without an id, an unknown role, or values that JSON cannot hold; the errors
   *   of `Store.session` and `Session.append`. Then nothing was written.
   */
  saveMessages(chatId: string, messages: readonly UIMessage[]): void {
    const texts = jsonOf(messages);
    this.#store.atomically(() => {
      const session = this.#store.session(chatId, this.#settings);
      const known = this.#savedCount(session, texts);
      if (known !== undefined) session.append(parsed(texts.slice(known)).flatMap(heldFormOf));
      else if (!saveAll(session, parsed(texts))) return;
      const newestId = newestIdOf(session);
      const saved: SavedChat = { messageCount: texts.length, digest: digestOf(texts), newestId };
      if (known !== texts.length) this.#store.items.put(SAVED, chatId, saved, { session: chatId });
    });
  }

  /**
   * Returns how many messages the last save left, if the list only adds to them and nobody has changed the chat since. Then nothing
   * of the chat has to be read.
   */
  #savedCount(session: Session, texts: readonly string[]): number | undefined {
    const saved = this.#store.items.get(SAVED, session.id)?.value as SavedChat | undefined;
    if (saved === undefined || saved.newestId !== newestIdOf(session)) return undefined;
    return digestOf(texts.slice(0, saved.messageCount)) === saved.digest ? saved.messageCount : undefined;
  }
}

function newestIdOf(session: Session): number | null {
  return session.messages({ last: 1 })[0]?.id ?? null;
}

function digestOf(texts: readonly string[]): string {
  const digest = createHash("sha256");
  for (const text of texts) digest.update(text).update("\n");
  return digest.digest("hex");
}

function parsed(texts: readonly string[]): UIMessage[] {
  return texts.map((text) => JSON.parse(text) as UIMessage);
}

/** @returns false if the list is an earlier state of the chat. */
function saveAll(session: Session, given: readonly UIMessage[]): boolean {
  const stored = storedIn(session);
  let same = 0;
  while (same < given.length && isDeepStrictEqual(stored[same]?.message, given[same])) same += 1;
  const held = given.slice(same).map(heldFormOf);
  const stale = stored.slice(same).flatMap(({ heldBy }) => heldBy);
  const added = held.flat();
  const kept = firstDifference(stale, added);
  const isEarlierState = kept === added.length && kept < stale.length && given.at(-1)?.role !== "user";
  if (isEarlierState) return false;
  if (kept < stale.length) session.rewind({ toSeq: stale[kept]!.seq - 1 });
  session.append(added.slice(kept));
  return true;
}

function storedIn(session: Session): StoredUiMessage[] {
  return uiMessagesIn([...everyMessage(session)]);
}
