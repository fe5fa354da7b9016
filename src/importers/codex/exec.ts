import type { Part } from "../../core/message.ts";
import { fileNameOf } from "../conversations.ts";
import { messageEntry, resultEntry } from "../entry.ts";
import { dataPartOf, resultPart, resultTextOf } from "../file-parts.ts";
import type { Importer } from "../importer.ts";
import { headObjects, type JsonLine, type JsonObject, readJsonLines } from "../lines.ts";
import { notYet } from "../message-event.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { derivedId, objectOf, saidOf, stringOf } from "../values.ts";

const CALLS: ReadonlySet<unknown> = new Set([
  "collab_tool_call",
  "command_execution",
  "file_change",
  "mcp_tool_call",
  "web_search",
]);

/** Lines about the run. Errors of the provider and retries are not part of the conversation. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set(["error", "item.updated", "turn.failed", "turn.started"]);

/**
 * Reads what `codex exec --json` prints. It has neither the prompt nor times, so a rollout of the same thread is another session.
 * Each thread is a session; several runs may be in one file, or a run that goes on with a thread in another.
 */
export const codexExec: Importer = {
  name: "codex-exec",

  detect(head) {
    return headObjects(head).some(({ type, thread_id, item }) => {
      if (type === "thread.started") return stringOf(thread_id) !== undefined;
      const { id, type: kind } = objectOf(item);
      return type === "item.completed" && stringOf(id) !== undefined && (CALLS.has(kind) || kind === "agent_message");
    });
  },

  read: (file) => new ExecTranslator(file).translate(readJsonLines(file)),
};

/**
 * An item is known by its content and by all items before it in its run, because each run numbers its items from 0. A call that
 * began is told when it has ended, or at the end of the file.
 */
class ExecTranslator extends Translator<JsonLine> {
  readonly #begun = new Map<string, { line: number; item: JsonObject }>();
  #thread = fileNameOf(this.file.path);
  /** A digest of the items so far. */
  #run = "";
  #reply: object = {};

  protected override read({ value, line }: JsonLine): string | undefined {
    const { type, thread_id, usage } = value;
    const item = objectOf(value.item);
    const id = stringOf(item.id);
    if (type === "thread.started") {
      this.#tellBegun();
      this.#thread = stringOf(thread_id) ?? this.#thread;
      this.#run = "";
      this.#reply = {};
    } else if (type === "turn.completed") {
      // The counts are those of the whole thread.
      this.branches(this.#thread)?.current.amend(saidOf({ threadUsage: usage }));
      this.#reply = {};
    } else if (type === "item.started") {
      if (id !== undefined && CALLS.has(item.type)) this.#begun.set(id, { line, item });
    } else if (type === "item.completed") {
      const begun = id === undefined ? undefined : this.#begun.get(id);
      if (id !== undefined) this.#begun.delete(id);
      // An import that found the end of the file before the end of the call told the call as it began.
      this.#add(item, line, true, begun && [this.#idOf(begun.item)]);
    } else if (!BOOKKEEPING.has(type)) return `unknown type of line: ${JSON.stringify(type ?? null)}`;
  }

  protected override end(): void {
    if (this.file.isFinished) this.#tellBegun();
    for (const { line } of this.#begun.values()) this.warn(line, notYet("the call has not ended"));
  }

  #tellBegun(): void {
    for (const { line, item } of this.#begun.values()) this.#add(item, line, false);
    this.#begun.clear();
  }

  #idOf(item: JsonObject): string {
    return derivedId(this.#run, item);
  }

  #add(item: JsonObject, line: number, isEnded: boolean, earlierIds: string[] = []): void {
    if (item.type === "error") return;
    const parts = partsOf(item);
    if (parts === undefined) {
      this.warn(line, `unknown type of item: ${JSON.stringify(item.type ?? null)}`);
      return;
    }
    this.#run = this.#idOf(item);
    const entry = messageEntry(line, "assistant", this.#run, parts, undefined);
    if (earlierIds.length > 0) entry.earlierIds = earlierIds;
    entry.reply = this.#reply;
    const entries = [entry];
    if (isEnded && CALLS.has(item.type)) {
      entries.push(resultEntry(line, this.#run, resultOf(item), undefined));
      this.#reply = {};
    }
    this.open(this.#thread).add(entries);
  }

  protected override session(externalId: string): SessionFacts {
    return { externalId, source: "codex-exec" };
  }
}

function partsOf(item: JsonObject): Part[] | undefined {
  const { type, id, text, status: _, aggregated_output: _o, exit_code: _e, result: _r, error: _x, ...args } = item;
  if (type === "agent_message") return [{ type: "text", text: stringOf(text) ?? "" }];
  if (type === "reasoning") return [{ type: "reasoning", text: stringOf(text) ?? "" }];
  if (type === "todo_list") return [dataPartOf(item)];
  if (!CALLS.has(type)) return undefined;
  const name = stringOf(item.tool) ?? (type as string);
  return [{ type: "tool_call", toolCallId: callIdOf(item), name, args: item.arguments ?? args }];
}

function resultOf(item: JsonObject): Part {
  const { status, aggregated_output: output, exit_code: code, result, error, results, agents_states: states } = item;
  const { content, structured_content } = objectOf(result);
  const said = output ?? objectOf(error).message ?? content ?? structured_content ?? result ?? results ?? states;
  const isFailed = status === "failed" || status === "declined" || (typeof code === "number" && code !== 0);
  return resultPart(callIdOf(item), resultTextOf(said ?? status ?? ""), { isError: isFailed || undefined });
}

function callIdOf({ id, type }: JsonObject): string {
  return stringOf(id) ?? String(type);
}
