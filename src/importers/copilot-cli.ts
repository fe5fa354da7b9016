import { basename, dirname, join } from "node:path";
import type { JsonValue, Part } from "../core/message.ts";
import { textAt } from "./beside.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { callPart, dataPartOf, type PlainPart, resultPart, resultTextOf, textParts } from "./file-parts.ts";
import type { ImportedSession, Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines, valueIn } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/** Events about the program. The CLI adds new ones with each version. */
const BOOKKEEPING =
  /^(session|model|hook|permission|subagent|external_tool|tool_search|mcp|mcp_app|factory|command|commands|capabilities|elicitation|sampling|user_input|ui|auto_mode_switch|session_limits_exhausted|exit_plan_mode|pending_messages)\./;
const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set([
  "abort",
  "assistant.intent",
  "assistant.turn_end",
  "assistant.turn_start",
  "assistant.usage",
  "system.message",
  "tool.execution_start",
]);

/**
 * Reads the sessions of GitHub's Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`, one event a line.
 *
 * The program's prompt is not imported, and neither is what the CLI adds to each prompt of the user, such as the time.
 */
export const copilotCli: Importer = {
  name: "copilot-cli",
  isFollowable: true,

  detect(head) {
    for (const { type, data, id, timestamp, parentId } of headObjects(head)) {
      if (!isObject(data) || typeof type !== "string") continue;
      if (type === "session.start" && stringOf(data.sessionId)) return true;
      const isEvent = stringOf(id) !== undefined && stringOf(timestamp) !== undefined && parentId !== undefined;
      if (isEvent && (/^(user|assistant|tool|system)\./.test(type) || BOOKKEEPING.test(type))) return true;
    }
    return false;
  },

  read: (file) => new CopilotTranslator(file).translate(readJsonLines(file)),
};

interface EventInfo {
  line: number;
  id: string;
  time: number | undefined;
  agent: string | undefined;
}

/** Translates the events of one file. The events of a subagent become a session, `<session>/agent-<id>`. */
class CopilotTranslator extends Translator<JsonLine> {
  #start: JsonObject = {};
  /** The content of images, by id. An event with the content comes before the event that uses it. */
  readonly #assets = new Map<string, JsonObject>();
  readonly #toolNames = new Map<string, string>();
  readonly #userCommands = new Map<string, string>();
  /**
   * The newest thought of each agent since its last prompt or result. Some versions write it twice, alone and with its reply.
   * Agents work at the same time.
   */
  readonly #thoughts = new Map<string | undefined, string>();

  /** For each event, the newest event before it that became messages of the session. */
  readonly #seen = new Map<string, string | undefined>();
  #newestSaid: string | undefined;

  protected override read({ value: event, line }: JsonLine): string | undefined {
    const { type, timestamp, ephemeral } = event;
    if (!isObject(event.data) || typeof type !== "string") return "expected an event with a type and data";
    const { data } = event;
    this.#seen.set(stringOf(event.id) ?? "", this.#newestSaid);
    const info: EventInfo = {
      line,
      id: stringOf(event.id) ?? derivedId(event),
      time: millisecondsOf(timestamp),
      agent: stringOf(event.agentId) ?? stringOf(data.parentToolCallId),
    };
    switch (type) {
      case "session.start":
      case "session.resume":
        if (Object.keys(this.#start).length === 0) this.#start = data;
        return;
      case "session.title_changed":
        this.title = stringOf(data.title) ?? this.title;
        return;
      case "session.snapshot_rewind":
        return this.#rewind(data);
      case "session.binary_asset":
        if (stringOf(data.assetId)) this.#assets.set(data.assetId as string, data);
        return;
      case "user.message":
        return this.#addPrompt(data, info);
      case "assistant.message":
        return this.#addReply(data, info);
      case "assistant.reasoning":
        return this.#addThought(data, info);
      case "tool.user_requested":
        this.#userCommands.set(
          String(data.toolCallId),
          resultTextOf(objectOf(data.arguments).command ?? data.arguments),
        );
        return;
      case "tool.execution_complete":
        return this.#addResult(data, info);
      case "system.notification":
      case "skill.invoked":
        return this.#say(
          injected(contentParts(data.content)),
          info,
          saidOf({ type, name: data.name, kind: data.kind }),
        );
      case "session.handoff":
        return this.#say(injected([...contentParts(data.summary), ...contentParts(data.context)]), info, { type });
      case "session.compaction_complete":
        return this.#say(contentParts(data.summaryContent), info, { type, isCompactSummary: true });
      default:
        if (ephemeral === true || BOOKKEEPING_TYPES.has(type) || BOOKKEEPING.test(type)) return undefined;
        return `unknown type of event: ${JSON.stringify(type)}`;
    }
  }

  protected override async complete(session: ImportedSession): Promise<void> {
    const title = titleBeside(this.file.path);
    if (title !== undefined && session.parentExternalId === undefined) session.title ??= title;
  }

  /** The user took back an event and everything after it. */
  #rewind({ upToEventId }: JsonObject): string | undefined {
    const id = stringOf(upToEventId) ?? "";
    if (!this.#seen.has(id)) return "upToEventId: no event before this line has that id";
    this.#newestSaid = this.#seen.get(id);
    this.branches()?.rewindAfter(this.#newestSaid);
  }

  #addPrompt(data: JsonObject, info: EventInfo): undefined {
    this.#thoughts.delete(info.agent);
    const { content, attachments, source, isAutopilotContinuation, agentMode } = data;
    const parts = [...contentParts(content), ...objectsOf(attachments).flatMap((one) => this.#fileOf(one))];
    const isOfProgram = isAutopilotContinuation === true || (stringOf(source) !== undefined && source !== "user");
    this.#say(isOfProgram ? injected(parts) : parts, info, saidOf({ source, agentMode }));
  }

  #addReply(data: JsonObject, info: EventInfo): undefined {
    const { content, reasoningText, reasoningOpaque, toolRequests, model, messageId, phase, outputTokens, citations } =
      data;
    const parts: Part[] = [];
    const thought = stringOf(reasoningText);
    if (thought !== undefined && thought !== this.#thoughts.get(info.agent)) {
      this.#thoughts.set(info.agent, thought);
      parts.push({ type: "reasoning", text: thought, ...saidOf({ reasoningOpaque }) });
    }
    parts.push(...contentParts(content));
    for (const request of objectsOf(toolRequests)) {
      const call = callPart(request.toolCallId, request.name, request.arguments, request);
      if (call.type === "tool_call") this.#toolNames.set(call.toolCallId, call.name);
      parts.push(call);
    }
    const about = saidOf({ model, messageId, phase, outputTokens, citations });
    if (parts.length > 0) this.#add(messageEntry(info.line, "assistant", info.id, parts, info.time, about), info);
  }

  #addThought({ content }: JsonObject, info: EventInfo): undefined {
    const text = stringOf(content);
    if (text === undefined || text === this.#thoughts.get(info.agent)) return;
    this.#thoughts.set(info.agent, text);
    this.#add(messageEntry(info.line, "assistant", info.id, [{ type: "reasoning", text }], info.time), info);
  }

  #addResult(data: JsonObject, info: EventInfo): string | undefined {
    const { toolCallId, success, error, result, model } = data;
    if (!stringOf(toolCallId)) return "toolCallId: expected a string";
    this.#thoughts.delete(info.agent);
    const { content, binaryResultsForLlm } = objectOf(result);
    const words =
      success === false ? resultTextOf(objectOf(error).message ?? content) : resultTextOf(content ?? result);
    const files = objectsOf(binaryResultsForLlm).flatMap((one) => this.#fileOf(one));
    const command = this.#userCommands.get(toolCallId as string);
    if (command !== undefined) {
      const parts = [...contentParts(`! ${command}`), ...injected([...contentParts(words), ...files])];
      return this.#say(parts, info, { type: "tool.user_requested" });
    }
    const part = resultPart(
      toolCallId as string,
      files.length === 0 ? words : [{ type: "text", text: words }, ...files],
      {
        isError: typeof success === "boolean" ? !success : undefined,
        name: this.#toolNames.get(toolCallId as string),
      },
    );
    this.#add(messageEntry(info.line, "tool", info.id, [part], info.time, saidOf({ model })), info);
  }

  #fileOf(attachment: JsonObject): PlainPart[] {
    const { type, assetId, mimeType, data, displayName, text, path, byteLength: _, ...rest } = attachment;
    const asset = stringOf(assetId) === undefined ? {} : (this.#assets.get(assetId as string) ?? {});
    const content = stringOf(data) ?? stringOf(asset.data);
    const mediaType = stringOf(mimeType) ?? stringOf(asset.mimeType);
    const name = stringOf(displayName);
    if (content !== undefined && mediaType !== undefined) {
      return [{ type: "file", mediaType, data: content, ...saidOf({ name, path }) }];
    }
    if (type === "selection" && typeof text === "string") return injected([{ type: "text", text }]) as PlainPart[];
    if (type === "file" || type === "directory") {
      return [{ type: "file", mediaType: mediaType ?? "application/octet-stream", ...saidOf({ name, path }) }];
    }
    return [dataPartOf(saidOf({ type, mimeType, displayName, text, path, ...rest }))];
  }

  #say(parts: Part[], info: EventInfo, about: JsonObject): undefined {
    if (parts.length > 0) this.#add(messageEntry(info.line, "user", info.id, parts, info.time, about), info);
  }

  #add(entry: MessageEntry, { agent = "", id }: EventInfo): void {
    this.open(agent).add([entry], id);
    if (agent === "") this.#newestSaid = id;
  }

  protected override session(agent: string): SessionFacts {
    const { sessionId, context } = this.#start;
    const cwd = objectOf(context).cwd ?? this.#start.cwd;
    const name = stringOf(sessionId) ?? sessionIdIn(this.file.path);
    return {
      externalId: agent === "" ? name : `${name}/agent-${agent}`,
      source: "copilot-cli",
      parentExternalId: agent === "" ? undefined : name,
      isSubagent: agent !== "",
      folder: stringOf(cwd),
      metadata: saidOf({ cwd, repository: objectOf(context).repository, branch: objectOf(context).branch }),
    };
  }
}

function contentParts(text: JsonValue | undefined): PlainPart[] {
  return typeof text === "string" ? textParts(text) : text === undefined || text === null ? [] : [dataPartOf(text)];
}

/** Returns the name of the folder of `events.jsonl`, or the name of the file. */
function sessionIdIn(path: string): string {
  const name = basename(path, ".jsonl");
  return name === "events" ? basename(dirname(path)) : name;
}

/** Returns the session's name in `workspace.yaml` beside the events; older versions called it a summary. */
function titleBeside(path: string): string | undefined {
  if (basename(path) !== "events.jsonl") return undefined;
  const about = textAt(join(dirname(path), "workspace.yaml")) ?? "";
  const [, name = ""] = /^name: (.+)$/m.exec(about) ?? /^summary: ([^|>].*)$/m.exec(about) ?? [];
  if (name.startsWith('"')) return stringOf(valueIn(name));
  return stringOf(name.replace(/^'(.*)'$/, "$1").replaceAll("''", "'"));
}
