import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { type BaseMessage, mapStoredMessagesToChatMessages, type StoredMessage } from "@langchain/core/messages";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { everyEntry } from "../every.ts";
import { recallableMessage } from "./messages.ts";
import { appendRecallable } from "./thread.ts";

type HistoryEntry = { type: "langchain message"; message: StoredMessage } | { type: "langchain clear" };

/**
 * LangChain's history of a chat, in a session of a store. Messages come back word for word, and can be recalled. After `clear`,
 * the history is empty, and its old messages can still be recalled: only `forget` of the store deletes them.
 */
export class CoppiceChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ["coppice", "langgraph"];
  readonly #store: Store;
  readonly #session: Session;

  constructor(store: Store, sessionId: string) {
    super();
    this.#store = store;
    this.#session = store.session(sessionId);
  }

  async getMessages(): Promise<BaseMessage[]> {
    let messages: StoredMessage[] = [];
    for (const { value } of everyEntry(this.#session.entries)) {
      const entry = value as unknown as HistoryEntry;
      if (entry.type === "langchain clear") messages = [];
      else if (entry.type === "langchain message") messages.push(entry.message);
    }
    return mapStoredMessagesToChatMessages(messages);
  }

  async addMessage(message: BaseMessage): Promise<void> {
    await this.addMessages([message]);
  }

  override async addMessages(messages: BaseMessage[]): Promise<void> {
    this.#store.atomically(() => {
      for (const message of messages) {
        this.#append({ type: "langchain message", message: JSON.parse(JSON.stringify(message.toDict())) });
        appendRecallable(this.#session, [recallableMessage(message)]);
      }
    });
  }

  override async clear(): Promise<void> {
    this.#append({ type: "langchain clear" });
  }

  #append(entry: HistoryEntry): void {
    this.#session.entries.append([{ value: entry }]);
  }
}
