import { statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileNameOf } from "./conversations.ts";
import type { Element } from "./document-scanner.ts";
import { headElements, readDocument } from "./documents.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { filePartOf, textParts, thoughtParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { isObject, type JsonObject, valueIn } from "./lines.ts";
import { notYet } from "./message-event.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { listOf, millisecondsOf, objectOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads `ui_messages.json`: what Cline and Roo Code showed of a task. It is all that is left of many tasks. If the messages of the
 * model are beside it, it repeats them and gives nothing.
 */
export const clineUi: Importer = {
  name: "cline-ui",

  detect: (head) =>
    headElements(head).some(({ key, value }) => {
      const { ts, type, say, ask } = objectOf(value);
      if (key !== undefined || typeof ts !== "number") return false;
      return (type === "say" && stringOf(say) !== undefined) || (type === "ask" && stringOf(ask) !== undefined);
    }),

  async *read(file) {
    const beside = join(dirname(file.path), "api_conversation_history.json");
    if (basename(file.path) === "ui_messages.json" && hasMessages(beside)) return;
    yield* new ClineUiTranslator(file).translate(readDocument(file));
  },
};

function hasMessages(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.size > "[]\n".length;
}

const WORDS_OF_USER: ReadonlySet<unknown> = new Set(["task", "user_feedback", "user_feedback_diff", "subtask_result"]);

const WORDS: ReadonlySet<unknown> = new Set([
  "completion_result",
  "followup",
  "plan_mode_respond",
  "text",
  "new_task",
  "condense",
]);

const CALLS: ReadonlySet<unknown> = new Set([
  "browser_action",
  "browser_action_launch",
  "command",
  "tool",
  "use_mcp_server",
]);

const RESULTS: ReadonlySet<unknown> = new Set(["browser_action_result", "command_output", "mcp_server_response"]);

/** Words of the program that no other kind ends with: its requests, errors, offers to go on and states. */
const BOOKKEEPING =
  /^(?:api_req_\w+|auto_approval_\w+|checkpoint\w*|clineignore_error|rooignore_error|codebase_search_result|condense_context\w*|context_condense|conditional_rules_applied|deleted_api_reqs|diff_error|error\w*|generate_explanation|hook_\w+|info|load_mcp_documentation|mcp_notification|mcp_server_request_started|mistake_limit_reached|report_bug|resume_(?:completed_)?task|shell_integration_warning\w*|subagent\w*|summarize_task|sliding_window_truncation|task_progress|user_edit_todos|interactive_app|idle)$/;

class ClineUiTranslator extends Translator<Element> {
  #callId: string | undefined;
  /** The newest words of the agent. It asks about a result with the words that it said before. */
  #words = "";
  #folder: string | undefined;

  protected override read({ line, value }: Element): MessageEntry[] | string | undefined {
    if (!isObject(value)) return "expected a message, as an object";
    const { ts, type, say, ask, text, reasoning, images, partial } = value;
    const kind = type === "ask" ? ask : say;
    const words = typeof text === "string" ? text : "";
    const time = millisecondsOf(ts);
    const id = `${ts ?? line}`;
    if (partial === true && !this.file.isFinished) return notYet("the message is still being written");
    if (kind === "api_req_started") this.#folder ??= /# Current W\w+ Directory \((.+?)\) Files/.exec(words)?.[1];
    if (typeof kind === "string" && BOOKKEEPING.test(kind)) return [];
    const said = this.#entryOf(kind, line, id, words, time);
    if (typeof said === "string") return said;
    for (const image of listOf(images))
      if (typeof image === "string") said?.message.parts.push(filePartOf(image, "image/*"));
    const thought = stringOf(reasoning);
    if (said !== undefined && thought !== undefined) said.message.parts.unshift({ type: "reasoning", text: thought });
    return said === undefined || said.message.parts.length === 0 ? [] : [said];
  }

  #entryOf(
    kind: unknown,
    line: number,
    id: string,
    words: string,
    time: number | undefined,
  ): MessageEntry | string | undefined {
    const text = textParts(words);
    // A command that still runs gives several results. Empty ones ask if the program shall wait.
    if (RESULTS.has(kind)) return words === "" ? undefined : this.#resultOf(line, id, words, time);
    if (WORDS_OF_USER.has(kind)) return messageEntry(line, "user", id, text, time);
    if (kind === "reasoning") {
      return messageEntry(line, "assistant", id, thoughtParts(words), time);
    }
    if (WORDS.has(kind)) {
      const { question, response } = objectIn(words);
      const spoken = stringOf(question) ?? stringOf(response) ?? words;
      if (spoken === "" || spoken === this.#words) return undefined;
      this.#words = spoken;
      return messageEntry(line, "assistant", id, [{ type: "text", text: spoken }], time);
    }
    if (!CALLS.has(kind)) return `unknown kind of message: ${JSON.stringify(kind ?? null)}`;
    const called = objectIn(words);
    const { tool, toolName, ...args } = called;
    const name = stringOf(tool) ?? stringOf(toolName) ?? (kind === "command" ? "execute_command" : String(kind));
    // Arguments that are no JSON are kept as they stand.
    const isRead = words === "" || Object.keys(called).length > 0;
    const given = kind === "command" ? { command: words } : isRead ? args : { text: words };
    this.#callId = id;
    return messageEntry(line, "assistant", id, [{ type: "tool_call", toolCallId: id, name, args: given }], time);
  }

  #resultOf(line: number, id: string, content: string, time: number | undefined): MessageEntry {
    const toolCallId = this.#callId;
    return toolCallId === undefined
      ? messageEntry(line, "user", id, injected([{ type: "text", text: content }]), time)
      : messageEntry(line, "tool", id, [{ type: "tool_result", toolCallId, content }], time);
  }

  protected override session(): SessionFacts {
    const { path } = this.file;
    const isTask = basename(path) === "ui_messages.json";
    const externalId = isTask ? basename(dirname(path)) : fileNameOf(path);
    const [, extension] = /[\\/]globalStorage[\\/]([^\\/]+)[\\/]tasks[\\/]/.exec(path) ?? [];
    return {
      externalId,
      source: "cline-ui",
      unlessFrom: "cline",
      folder: this.#folder,
      createdAtMs: isTask && /^\d{13}$/.test(externalId) ? Number(externalId) : undefined,
      metadata: saidOf({ extension }),
    };
  }
}

function objectIn(words: string): JsonObject {
  return words.startsWith("{") ? objectOf(valueIn(words)) : {};
}
