import { basename, dirname, join } from "node:path";
import type { Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import { fileNameOf } from "./conversations.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { callPart, functionCallOf } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { partsOf, resultOf, usageOf } from "./kimi.ts";
import { headObjects, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/** Records about the program. The prompt of a turn is in the context, too. */
const BOOKKEEPING =
  /^(?:config|cron|file_history|full_compaction|goal|interaction|interruptionReminder|llm|mcp|micro_compaction|permission|plan|plan_mode|plugin|profile|runtime|skill|skills|swarm|swarm_mode|task|todo|tools|turn|usage|workspace)\.|^(?:forked|metadata|context\.(?:clear|update_token_count))$/;

/**
 * Reads the sessions of Kimi Code, `~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/wire.jsonl`: the records from which it
 * restores the context of the model. `kimi.ts` reads those of the older Kimi CLI.
 */
export const kimiCode: Importer = {
  name: "kimi-code",
  isFollowable: true,

  detect(head) {
    return headObjects(head).some(({ type, protocol_version, created_at, event, message }) => {
      if (type === "metadata") return stringOf(protocol_version) !== undefined && typeof created_at === "number";
      if (type === "context.append_message") return stringOf(objectOf(message).role) !== undefined;
      return type === "context.append_loop_event" && stringOf(objectOf(event).type) !== undefined;
    });
  },

  read: (file) => new KimiCodeTranslator(file).translate(readJsonLines(file)),
};

class KimiCodeTranslator extends Translator<JsonLine> {
  #reply: object | undefined;
  #model: string | undefined;

  protected override read({ value: record, line }: JsonLine): string | undefined {
    const { type, time } = record;
    const createdAt = millisecondsOf(time);
    switch (type) {
      case "context.append_message":
        return this.#readMessage(objectOf(record.message), derivedId(record), line, createdAt);
      case "context.append_loop_event":
        return this.#readEvent(objectOf(record.event), derivedId(record), line, createdAt);
      case "context.apply_compaction": {
        const parts = partsOf(record.summary);
        this.#add(messageEntry(line, "user", derivedId(record), parts, createdAt, { isCompactSummary: true }));
        return;
      }
      case "context.undo":
        this.branches()?.rewindPrompts(typeof record.count === "number" ? record.count : 0);
        return;
      default:
        this.#model = stringOf(record.modelAlias) ?? this.#model;
        return BOOKKEEPING.test(String(type)) ? undefined : `unknown type of record: ${JSON.stringify(type ?? null)}`;
    }
  }

  #readMessage(message: JsonObject, id: string, line: number, createdAt: number | undefined): string | undefined {
    const { role, content, toolCalls, toolCallId, isError } = message;
    const parts = partsOf(content);
    this.#reply = undefined;
    if (role === "tool") {
      this.#add(messageEntry(line, role, id, [resultOf(stringOf(toolCallId) ?? id, parts, isError)], createdAt));
    } else if (role === "assistant") {
      this.#add(messageEntry(line, role, id, [...parts, ...objectsOf(toolCalls).map(functionCallOf)], createdAt));
    } else if (role === "user" || role === "system") {
      const origin = objectOf(message.origin);
      const kind = stringOf(origin.kind) ?? role;
      const isSummary = kind === "compaction_summary";
      // The program puts what the user typed after the name of a skill or command into the text that it sends instead.
      const said = kind === "user" || isSummary ? parts : injected(parts);
      const about = isSummary ? { isCompactSummary: true } : saidOf(kind === "user" ? {} : { origin });
      this.#add(messageEntry(line, "user", id, said, createdAt, about), kind === "user");
    } else return `unknown role: ${JSON.stringify(role ?? null)}`;
  }

  #readEvent(event: JsonObject, id: string, line: number, createdAt: number | undefined): string | undefined {
    const { type, uuid, toolCallId, name, args } = event;
    const say = (part: Part[]): void => {
      this.#reply ??= {};
      const entry = messageEntry(
        line,
        "assistant",
        stringOf(uuid) ?? id,
        part,
        createdAt,
        saidOf({ model: this.#model }),
      );
      this.#add({ ...entry, reply: this.#reply });
    };
    switch (type) {
      case "step.begin":
        this.#reply = undefined;
        break;
      case "content.part":
        say(partsOf([event.part ?? null]));
        break;
      case "tool.call":
        say([callPart(stringOf(toolCallId) ?? id, stringOf(name) ?? "tool", args, event)]);
        break;
      case "tool.result": {
        const { output, isError } = objectOf(event.result);
        const callId = stringOf(toolCallId) ?? id;
        this.#add(
          messageEntry(line, "tool", `${callId}:result`, [resultOf(callId, partsOf(output), isError)], createdAt),
        );
        break;
      }
      case "step.end": {
        const usage = usageOf(objectOf(event.usage));
        if (this.#reply !== undefined && Object.keys(usage).length > 0) {
          this.branches()?.current.amend({ usage }, this.#reply);
        }
        break;
      }
      default:
        return `unknown type of event: ${JSON.stringify(type ?? null)}`;
    }
  }

  #add(entry: MessageEntry, isPrompt = false): void {
    if (entry.message.parts.length > 0) this.open().add([entry], "", isPrompt);
  }

  protected override session(): SessionFacts {
    const agentFolder = dirname(this.file.path);
    const agent = basename(agentFolder);
    const folder = dirname(dirname(agentFolder));
    if (basename(this.file.path) !== "wire.jsonl" || basename(dirname(agentFolder)) !== "agents") {
      return { externalId: fileNameOf(this.file.path), source: "kimi-code" };
    }
    const { agents, workDir, cwd = workDir, title, createdAt } = objectOf(jsonAt(join(folder, "state.json")));
    const id = basename(folder);
    const idOf = (name: string): string => (name === "main" ? id : `${id}/agent-${name}`);
    const parent = stringOf(objectOf(objectOf(agents)[agent]).parentAgentId) ?? "main";
    return {
      externalId: idOf(agent),
      source: "kimi-code",
      parentExternalId: agent === "main" ? undefined : idOf(parent),
      isSubagent: agent !== "main",
      folder: stringOf(cwd),
      title: agent === "main" ? stringOf(title) : undefined,
      createdAtMs: agent === "main" ? millisecondsOf(createdAt) : undefined,
      metadata: saidOf({ cwd }),
    };
  }
}
