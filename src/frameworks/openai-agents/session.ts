import { createHash, randomUUID } from "node:crypto";
import {
  type AgentInputItem,
  applySessionHistoryMutations,
  getLogger,
  type Model,
  type Runner,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionArgs,
  type SessionHistoryTransactionAwareSession,
  type SessionInputCallback,
  UserError,
} from "@openai/agents-core";
import { StoreError } from "../../core/errors.ts";
import type { MessageInput, Part } from "../../core/message.ts";
import type { SessionOptions } from "../../core/options.ts";
import { wellFormed } from "../../core/well-formed.ts";
import type { RenderOptions } from "../../session/context-options.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { itemsOf, messagesOf, startOfHistory, startsHistory } from "./items.ts";
import { recorded } from "./recorded-model.ts";
import { type HistoryTransaction, snapshotArguments, snapshotItems } from "./transaction.ts";
import { canonicalText } from "./values.ts";

type Logger = ReturnType<typeof getLogger>;

export interface CoppiceSessionOptions extends SessionOptions {
  /** The id of the session in the store, by default a new one. */
  sessionId?: string;
  /** Gets what is read and written at the level of debug, unless it must not log data. By default the framework's own. */
  logger?: Logger;
}

/** An item of the history, with its message and its place among the items of the message. */
interface PlacedItem {
  item: AgentInputItem;
  seq: number;
  index: number;
}

/** Messages that are read at once when only the newest items are wanted. */
const PAGE_MESSAGES = 50;
const ALL_MESSAGES = 10_000;

/**
 * A session of the OpenAI Agents SDK in a store. Its items are messages of the session: `recall` finds them, contexts show them, and
 * they come back as they were. Items that are replaced or removed stay in the store, in a branch: see `Session.rewind`.
 */
export class CoppiceSession implements SessionHistoryTransactionAwareSession, SessionHistoryRewriteAwareSession {
  /** The session in the store. */
  readonly session: Session;
  readonly #store: Store;
  readonly #logger: Logger;
  /** The items of a run that are stored, and that the framework has not handed over to be stored. */
  #ahead: AgentInputItem[] = [];
  /** The results that are stored after these. The framework may make other items of them. */
  #results: AgentInputItem[] = [];

  constructor(store: Store, options: CoppiceSessionOptions = {}) {
    const { sessionId = randomUUID(), logger = getLogger("coppice:openai-agents"), ...settings } = options;
    this.#store = store;
    this.#logger = logger;
    this.session = store.session(sessionId, settings);
  }

  async getSessionId(): Promise<string> {
    return this.session.id;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && !(limit > 0)) return [];
    const items = this.#history(limit).map(({ item }) => wellFormed(item));
    this.#log("Getting items", items);
    return items;
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    const added = copyOf(items);
    this.#log("Adding items", added);
    this.#add(added);
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const popped = this.#store.atomically(() => {
      const [last] = this.#history(1);
      if (last !== undefined) this.#replaceFrom(last, []);
      return last?.item;
    });
    if (popped !== undefined) this.#log("Popping an item", [popped]);
    return popped;
  }

  /** The items leave the session's history, and its operations are forgotten. */
  async clearSession(): Promise<void> {
    this.#log("Clearing the session", []);
    this.#store.atomically(() => {
      this.session.rewind({ toSeq: -1 });
      this.#store.items.deleteAll(this.#operations);
    });
  }

  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    if (mutations.length === 0) return;
    this.#store.atomically(() => {
      const before = this.#history();
      const items = before.map(({ item }) => item);
      const after = applySessionHistoryMutations(items, mutations);
      const first = items.findIndex((item, index) => canonicalText(item) !== canonicalText(after[index]));
      if (first >= 0) this.#replaceFrom(before[first]!, after.slice(first));
    });
  }

  /** @throws {UserError} if the operation was applied with other items, or if the history does not end with the expected ones. */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const { operationId, transaction } = snapshotArguments(args);
    const key = createHash("sha256").update(JSON.stringify(operationId)).digest("hex");
    const digest = createHash("sha256").update(canonicalText(transaction)).digest("hex");
    this.#store.atomically(() => {
      const applied = this.#store.items.get(this.#operations, key);
      if (applied === undefined) {
        this.#apply(transaction);
        this.#store.items.put(this.#operations, key, digest, { session: this.session.id });
      } else if (applied.value !== digest) {
        throw new UserError("Session history operation was already applied with a different transaction.");
      }
    });
  }

  /** The history continues with these items. The originals stay in the session: contexts and `recall` have them. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    this.#append([startOfHistory(copyOf(items))]);
  }

  /**
   * Returns the `sessionInputCallback` of a run: the model gets the session's context instead of its whole history, and then the new
   * input, which is stored at once. The history in the store stays whole.
   *
   * @param options  Those of `Session.render`, or a function that returns them for the new input, for example with a `query`.
   */
  inputCallback(options: RenderOptions | ((newItems: AgentInputItem[]) => RenderOptions) = {}): SessionInputCallback {
    return (history, newItems) => {
      this.#withdrawFailed(newItems);
      const { messages } = this.session.render(typeof options === "function" ? options(newItems) : options);
      this.#addAhead(newItems);
      const shown = messages.filter((message) => !startsHistory(message));
      const nameOfCall = namesOfCalls(shown.flatMap(({ parts }) => parts));
      const context = shown.flatMap((message) => itemsOf(message, nameOfCall));
      // A run stores the items that are not of its history, so the context is put into objects of the history.
      if (context.length > history.length) return [...history, ...newItems];
      return [...context.map((item, index) => overwritten(history[index]!, item)), ...newItems];
    };
  }

  /**
   * Returns a runner that stores in this session what its runs ask, what the model answers before the answer's tools run, and the
   * result of each tool when it has ended. The framework itself hands most of it over at the end of the run. Requests that do not
   * continue the session, such as those of an agent that is a tool, are not stored.
   *
   * @param given  A runner, whose settings the new one has; or a model, which sees results only with the next request.
   */
  recording<Recorded extends Model | Runner>(given: Recorded): Recorded {
    return recorded(given, {
      asked: (input) => {
        const known = this.#ahead.at(-1) ?? this.#history(1)[0]?.item;
        const items: AgentInputItem[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
        const last = known === undefined ? -1 : items.findLastIndex((item) => isSame(item, known));
        if (known !== undefined && last === -1) return false;
        this.#addAhead(items.slice(last + 1));
        return true;
      },
      answered: (output) => this.#addAhead(output),
      ended: (toolCall, result) => this.#addResult(toolCall as AgentInputItem, result),
    });
  }

  get #operations(): string[] {
    return ["openai-agents", "operations", this.session.id];
  }

  #apply(transaction: HistoryTransaction): void {
    if (transaction.type === "append_items") {
      this.#add(transaction.items);
      return;
    }
    const { expectedSuffix, replacement } = transaction;
    const suffix = expectedSuffix.length === 0 ? [] : this.#history(expectedSuffix.length);
    const isExpected =
      suffix.length === expectedSuffix.length &&
      suffix.every(({ item }, index) => canonicalText(item) === canonicalText(expectedSuffix[index]));
    if (!isExpected) throw new UserError("Session history suffix no longer matches the transaction precondition.");
    if (suffix.length === 0) this.#append(messagesOf(replacement));
    else this.#replaceFrom(suffix[0]!, replacement);
  }

  #addAhead(items: readonly AgentInputItem[]): void {
    const added = copyOf(items).map(withoutCallId);
    const results = this.#results.splice(0);
    const settled = added.slice(0, results.length);
    // Tools may end in another order than that of their calls.
    const isSettled = results.every((result) => settled.some((item) => isSame(item, result)));
    if (isSettled || !this.#replaceNewest(results, added))
      this.#append(messagesOf(added.slice(isSettled ? results.length : 0)));
    this.#ahead.push(...added);
  }

  /** Adds the result of a call of the session's, as the framework will hand it over if it is a text. */
  #addResult(call: AgentInputItem, result: string): void {
    if (call.type !== "function_call") return;
    const { name, callId, namespace, caller } = call;
    const isOwn = this.#ahead.some((item) => item.type === "function_call" && item.callId === callId);
    if (!isOwn) return;
    const item: AgentInputItem = {
      ...{ type: "function_call_result", name, callId, status: "completed", output: { type: "text", text: result } },
      ...(namespace !== undefined && { namespace }),
      ...(caller !== undefined && { caller }),
    };
    this.#append(messagesOf([item]));
    this.#results.push(item);
  }

  /** Adds the items that are not stored yet. If others were stored in their place, these are superseded. */
  #add(items: readonly AgentInputItem[]): void {
    this.#ahead.push(...this.#results.splice(0));
    const ahead = this.#ahead;
    const differs = items.findIndex((item, index) => index >= ahead.length || !isSame(item, ahead[index]!));
    const same = differs === -1 ? items.length : differs;
    this.#ahead = ahead.slice(same);
    const rest = items.slice(same);
    if (rest.length === 0 || !this.#replaceAhead(rest)) this.#append(messagesOf(rest));
  }

  /** Supersedes what a failed run has stored, if this run has the same input. */
  #withdrawFailed(newItems: readonly AgentInputItem[]): void {
    this.#ahead.push(...this.#results.splice(0));
    const isRetry = newItems.every(
      (item, index) => this.#ahead[index] !== undefined && isSame(item, this.#ahead[index]),
    );
    if (isRetry) this.#replaceAhead([]);
    this.#ahead = [];
  }

  /** Replaces the items that were stored ahead, unless others follow them. @returns whether it did. */
  #replaceAhead(replacement: readonly AgentInputItem[]): boolean {
    return this.#replaceNewest(this.#ahead.splice(0), replacement);
  }

  #replaceNewest(items: readonly AgentInputItem[], replacement: readonly AgentInputItem[]): boolean {
    if (items.length === 0) return false;
    const newest = this.#history(items.length);
    const areNewest =
      newest.length === items.length && newest.every(({ item }) => items.some((one) => isSame(one, item)));
    if (areNewest) this.#replaceFrom(newest[0]!, replacement);
    return areNewest;
  }

  /** Replaces an item and all after it. Items before it that are in the same message are appended again. */
  #replaceFrom({ seq, index }: PlacedItem, replacement: readonly AgentInputItem[]): void {
    const [message] = this.session.messages({ seqFrom: seq, limit: 1 });
    const kept = itemsOf(message!, () => undefined).slice(0, index);
    this.session.rewind({ toSeq: seq - 1 });
    if (startsHistory(message!)) this.#append([startOfHistory(kept), ...messagesOf(replacement)]);
    else this.#append(messagesOf([...kept, ...replacement]));
  }

  /** Returns the items of the history in order; with a limit, the newest. */
  #history(limit = Number.POSITIVE_INFINITY): PlacedItem[] {
    const pageLength = limit <= PAGE_MESSAGES ? PAGE_MESSAGES : ALL_MESSAGES;
    const newestFirst: PlacedItem[] = [];
    let seqTo = Number.MAX_SAFE_INTEGER;
    while (seqTo >= 0 && newestFirst.length < limit) {
      const page = this.session.messages({ seqTo, last: pageLength });
      const seqBefore = (page[0]?.seq ?? 0) - 1;
      const nameOfCall = namesOfCalls(page.flatMap(({ parts }) => parts));
      for (const message of page.reverse()) {
        const items = itemsOf(message, nameOfCall).map((item, index) => ({ item, seq: message.seq, index }));
        newestFirst.push(...items.reverse());
        if (newestFirst.length >= limit) break;
        if (startsHistory(message)) return newestFirst.reverse();
      }
      seqTo = seqBefore;
    }
    return newestFirst.slice(0, limit).reverse();
  }

  #append(messages: readonly MessageInput[]): void {
    try {
      this.session.append(messages);
    } catch (error) {
      // The path in the error may name what the items hold.
      if (StoreError.is(error, "MESSAGE_INVALID")) throw new UserError("Session history items cannot be stored.");
      throw error;
    }
  }

  #log(what: string, items: readonly AgentInputItem[]): void {
    const { dontLogModelData, dontLogToolData } = this.#logger;
    if (dontLogModelData || dontLogToolData) return;
    this.#logger.debug(`${what} (${this.session.id}): ${JSON.stringify(items)}`);
  }
}

/** @throws {UserError} for items that are not plain data. */
function copyOf(items: readonly AgentInputItem[]): AgentInputItem[] {
  try {
    return snapshotItems(structuredClone(items));
  } catch {
    throw new UserError("Session history items contain invalid or unsupported data.");
  }
}

function isSame(left: AgentInputItem, right: AgentInputItem): boolean {
  return canonicalText(withoutCallId(left)) === canonicalText(withoutCallId(right));
}

/** The framework hands over the items of function calls without the ids that the model gave them. The `callId` stays. */
function withoutCallId(item: AgentInputItem): AgentInputItem {
  if (item.type !== "function_call" && item.type !== "function_call_result") return item;
  const { id: _, ...rest } = item;
  return rest;
}

function namesOfCalls(parts: readonly Part[]): (callId: string) => string | undefined {
  const names = new Map(parts.flatMap((part) => (part.type === "tool_call" ? [[part.toolCallId, part.name]] : [])));
  return (callId) => names.get(callId);
}

function overwritten(target: AgentInputItem, item: AgentInputItem): AgentInputItem {
  for (const key of Object.keys(target)) delete (target as Record<string, unknown>)[key];
  return Object.assign(target, item);
}
