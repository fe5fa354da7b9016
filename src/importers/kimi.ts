import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { JsonValue, Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import { fileNameOf } from "./conversations.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { dataPartOf, filePartOf, functionCallOf, resultContentOf, resultPart, textParts } from "./file-parts.ts";
import { peek } from "./head.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { booleanOf, derivedId, millisecondsOf, numberOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/** Events about the program, and what asks the user, whose answer is a result. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "ApprovalRequest",
  "ApprovalRequestResolved",
  "ApprovalResponse",
  "CompactionBegin",
  "CompactionEnd",
  "HookRequest",
  "HookResolved",
  "HookTriggered",
  "MCPLoadingBegin",
  "MCPLoadingEnd",
  "MCPStatusSnapshot",
  "PlanDisplay",
  "QuestionRequest",
  "QuestionResponse",
  "StepInterrupted",
  "StepRetry",
  "ToolCallRequest",
  "TurnEnd",
]);

const ROLES: ReadonlySet<unknown> = new Set(["user", "assistant", "tool", "system"]);

/** Records of the context that say nothing. */
const MARKS: ReadonlySet<unknown> = new Set(["_checkpoint", "_system_prompt", "_usage"]);

/** The beginning of what the program tells the model. */
const OF_PROGRAM = /^\s*<(system(?:-reminder)?|notification)\b[^>]*>/;

const COMPACTED = /^<system>Previous context has been compacted/;

/** Rotated files of a context have a number: `context_1.jsonl`. */
const CONTEXT_NAME = /^context(?:_\d+)?\.jsonl$/;

/**
 * Reads the sessions of Kimi CLI, `~/.kimi/sessions/<folder>/<session>/wire.jsonl`, which logs what was said and done, and those of
 * older versions, which have only the context of the model, `context.jsonl`. A context beside a log repeats it, and gives nothing.
 */
export const kimi: Importer = {
  name: "kimi",
  isFollowable: true,

  detect(head) {
    return headObjects(head).some(
      ({ role, id, token_count, content, type, protocol_version, created_at, timestamp, message }) => {
        if (role === "_checkpoint") return typeof id === "number";
        if (role === "_usage") return typeof token_count === "number";
        if (role === "_system_prompt") return typeof content === "string";
        if (type === "metadata") {
          return stringOf(protocol_version) !== undefined && timestamp === undefined && created_at === undefined;
        }
        const event = objectOf(message);
        return typeof timestamp === "number" && event.type === "TurnBegin" && isObject(event.payload);
      },
    );
  },

  async *read(file) {
    const { chunks, close } = await peek(file.chunks, 1);
    if (CONTEXT_NAME.test(basename(file.path)) && existsSync(join(dirname(file.path), "wire.jsonl"))) await close();
    else yield* new KimiTranslator(file).translate(readJsonLines({ ...file, chunks }));
  },
};

/** Translates events, each of which has a piece of a message, or the messages of a context. */
class KimiTranslator extends Translator<JsonLine> {
  /** The reply of each session: the events of one step. */
  readonly #replies = new Map<string, object>();

  protected override read({ value: record, line }: JsonLine): string | undefined {
    const { role, timestamp, message, type } = record;
    if (role !== undefined) return this.#readContext(record, line);
    if (isObject(message)) return this.#readEvent(message, derivedId(record), line, timeOf(timestamp), "");
    return type === "metadata" ? undefined : "expected a message or an event";
  }

  #readContext(record: JsonObject, line: number): string | undefined {
    const { role, content, tool_calls, tool_call_id, name } = record;
    if (MARKS.has(role)) return;
    if (!ROLES.has(role)) return `unknown role: ${JSON.stringify(role ?? null)}`;
    const id = derivedId(record);
    const parts = partsOf(content);
    if (role === "tool") {
      const result = resultOf(stringOf(tool_call_id) ?? id, parts);
      this.#add("", messageEntry(line, "tool", id, [{ ...result, ...saidOf({ name }) } as Part], undefined));
    } else if (role === "assistant") {
      const calls = objectsOf(tool_calls).map(functionCallOf);
      this.#add("", messageEntry(line, "assistant", id, [...parts, ...calls], undefined));
    } else {
      const isSummary = parts.some((part) => part.type === "text" && COMPACTED.test(part.text));
      // A system message would stay in every context from now on.
      const said = role === "system" ? injected(parts) : parts;
      this.#add("", messageEntry(line, "user", id, said, undefined, isSummary ? { isCompactSummary: true } : {}));
    }
  }

  #readEvent(event: JsonObject, id: string, line: number, time: number | undefined, agent: string): string | undefined {
    const payload = objectOf(event.payload);
    const say = (role: "user" | "assistant", parts: Part[], about: JsonObject = {}): void => {
      const reply = role === "assistant" ? { reply: this.#replies.get(agent) ?? {} } : {};
      if (reply.reply !== undefined) this.#replies.set(agent, reply.reply);
      this.#add(agent, { ...messageEntry(line, role, id, parts, time, about), ...reply });
    };
    switch (event.type) {
      case "TurnBegin":
      case "SteerInput":
        say("user", partsOf(payload.user_input));
        break;
      case "StepBegin":
        this.#replies.delete(agent);
        break;
      case "ContentPart":
        say("assistant", partsOf([payload]));
        break;
      case "ToolCall":
        say("assistant", [functionCallOf(payload)]);
        break;
      case "ToolResult": {
        const { is_error, output, message } = objectOf(payload.return_value ?? payload.result);
        const parts = [...partsOf(message), ...partsOf(output)];
        const result = resultOf(stringOf(payload.tool_call_id) ?? id, parts, is_error);
        this.#add(agent, messageEntry(line, "tool", id, [result], time));
        break;
      }
      case "StatusUpdate": {
        const reply = this.#replies.get(agent);
        const usage = usageOf(objectOf(payload.token_usage));
        if (reply !== undefined && Object.keys(usage).length > 0) {
          this.branches(agent)?.current.amend({ usage }, reply);
        }
        break;
      }
      case "Notification":
        say("user", injected(partsOf(`${payload.title ?? ""}\n${payload.body ?? ""}`)));
        break;
      case "BtwBegin":
        say("user", partsOf(payload.question), { isAside: true });
        break;
      case "BtwEnd":
        this.#add(agent, messageEntry(line, "assistant", id, partsOf(payload.response), time, { isAside: true }));
        break;
      case "SubagentEvent": {
        // A subagent with an id has a log of its own.
        const caller = stringOf(payload.parent_tool_call_id) ?? stringOf(payload.task_tool_call_id);
        if (stringOf(payload.agent_id)) break;
        return this.#readEvent(objectOf(payload.event), id, line, time, caller ?? id);
      }
      default:
        if (!BOOKKEEPING.has(event.type)) return `unknown event: ${JSON.stringify(event.type ?? null)}`;
    }
  }

  #add(agent: string, entry: MessageEntry): void {
    if (entry.message.parts.length > 0) this.open(agent).add([entry]);
  }

  protected override session(agent: string): SessionFacts {
    const [name, ...folders] = [...this.file.path.split(/[\\/]/)].reverse();
    const isInFolder = name === "wire.jsonl" || CONTEXT_NAME.test(name!);
    const isSubagent = isInFolder && folders[1] === "subagents" && folders[2] !== undefined;
    const own = isInFolder
      ? isSubagent
        ? folders[2]
        : folders[0]
      : /^([\da-f]{8}-[\da-f-]{27})\.jsonl$/.exec(name!)?.[1];
    const id = own ?? fileNameOf(this.file.path);
    const home = folders.indexOf("sessions", 1);
    const folder = home === -1 ? undefined : folderOf(this.file.path, home + 2, folders[home - 1]!);
    const child = isSubagent ? folders[0] : agent;
    const about = { source: "kimi", folder, metadata: saidOf({ cwd: folder }) };
    if (child !== "") return { externalId: `${id}/agent-${child}`, parentExternalId: id, isSubagent: true, ...about };
    const state = isInFolder ? objectOf(jsonAt(join(dirname(this.file.path), "state.json"))) : {};
    return { externalId: id, title: stringOf(state.custom_title), ...about };
  }
}

/** Returns the folder in which Kimi worked. Its sessions are in a folder that is named by its hash. */
function folderOf(path: string, levels: number, name: string): string | undefined {
  let share = path;
  for (let level = 0; level < levels; level++) share = dirname(share);
  const listed = objectsOf(objectOf(jsonAt(join(share, "kimi.json"))).work_dirs);
  return listed.flatMap((one) => stringOf(one.path) ?? []).find((one) => name.endsWith(hash("md5", one)));
}

function timeOf(timestamp: JsonValue | undefined): number | undefined {
  return typeof timestamp === "number" ? millisecondsOf(timestamp * 1_000) : undefined;
}

export function partsOf(content: JsonValue | undefined): Part[] {
  if (typeof content === "string") return marked(textParts(content));
  return (Array.isArray(content) ? content : []).flatMap((block): Part[] => {
    const { type, text, think, encrypted, ...rest } = objectOf(block);
    if (type === "text" && typeof text === "string") return marked(textParts(text));
    if (type === "think" && typeof think === "string") {
      return think === "" && !encrypted
        ? []
        : [{ type: "reasoning", text: think, ...saidOf({ signature: encrypted }) }];
    }
    const [, kind] = /^(image|audio|video)_url$/.exec(String(type)) ?? [];
    const url = stringOf(objectOf(rest[`${kind}_url`] ?? rest[`${kind}Url`]).url);
    return [url === undefined ? dataPartOf(block) : filePartOf(url, `${kind}/*`)];
  });
}

function marked(parts: Part[]): Part[] {
  return parts.every((part) => isOfProgram(String(part.text))) ? injected(parts) : parts;
}

/** Returns true for a text that has nothing but what the program tells the model. */
function isOfProgram(text: string): boolean {
  let rest = text;
  for (let found = OF_PROGRAM.exec(rest); found !== null; found = OF_PROGRAM.exec(rest)) {
    const [start, name] = found;
    const closing = `</${name}>`;
    const end = rest.indexOf(closing, start.length);
    if (end === -1) return false;
    rest = rest.slice(end + closing.length);
    if (rest.trim() === "") return true;
  }
  return false;
}

export function resultOf(toolCallId: string, parts: Part[], isError?: JsonValue): Part {
  const content = resultContentOf(parts.map(({ injected: _, ...part }) => part as Part));
  return resultPart(toolCallId, content, { isError: booleanOf(isError) });
}

/** Returns the usage under the names that it has in Anthropic's replies. Kimi Code writes the names in another case. */
export function usageOf(usage: JsonObject): JsonObject {
  return saidOf({
    input_tokens: numberOf(usage.input_other ?? usage.inputOther),
    output_tokens: numberOf(usage.output),
    cache_read_input_tokens: numberOf(usage.input_cache_read ?? usage.inputCacheRead),
    cache_creation_input_tokens: numberOf(usage.input_cache_creation ?? usage.inputCacheCreation),
  });
}
