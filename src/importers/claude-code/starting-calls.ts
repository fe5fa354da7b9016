import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StoreError } from "../../core/errors.ts";
import { chunksOf } from "../files.ts";
import { type JsonObject, readLines, valueIn } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";

interface StartingCall {
  toolCallId: string;
  description?: string;
  /** `Explore`, `general-purpose`, … */
  agentType?: string;
}

/**
 * The tool calls that started subagents. Their results or progress lines name the subagent's id. Otherwise the prompt of the call
 * equals the first message to the subagent.
 */
export class StartingCalls {
  readonly #byId = new Map<string, StartingCall>();
  readonly #idByAgent = new Map<string, string>();
  readonly #idByPrompt = new Map<string, string>();

  see(line: JsonObject): void {
    const { type, agentId: followed } = objectOf(line.data);
    if (type === "agent_progress") this.#link(stringOf(followed), stringOf(line.parentToolUseID));
    for (const block of objectsOf(objectOf(line.message).content)) {
      const id = stringOf(block.type === "tool_use" ? block.id : block.tool_use_id);
      if (id === undefined) continue;
      const agentId = stringOf(objectOf(line.toolUseResult).agentId);
      if (block.type === "tool_result") this.#link(agentId, id);
      const { prompt, description, subagent_type } = objectOf(block.input);
      if (block.type !== "tool_use" || typeof prompt !== "string") continue;
      const call: StartingCall = { toolCallId: id };
      if (typeof description === "string") call.description = description;
      if (typeof subagent_type === "string") call.agentType = subagent_type;
      this.#byId.set(id, call);
      if (!this.#idByPrompt.has(prompt)) this.#idByPrompt.set(prompt, id);
    }
  }

  isLinked(agentId: string): boolean {
    return this.#idByAgent.has(agentId);
  }

  /** Returns the call that started a subagent. @param prompt  The first message to the subagent, used if no line has linked it. */
  callOf(agentId: string, prompt: string | undefined): StartingCall | undefined {
    const id = this.#idByAgent.get(agentId) ?? this.#idByPrompt.get(prompt ?? "");
    return id === undefined ? undefined : (this.#byId.get(id) ?? { toolCallId: id });
  }

  /** The first call wins, because a later call with the same agent resumes the agent. */
  #link(agentId: string | undefined, toolCallId: string | undefined): void {
    if (agentId === undefined || toolCallId === undefined || this.#idByAgent.has(agentId)) return;
    this.#idByAgent.set(agentId, toolCallId);
  }
}

/** Returns true if a subagent of the session at `path` has a file of its own. Its progress lines are then copies. */
export function hasOwnFile(path: string, agentId: string): boolean {
  return existsSync(join(dirname(path), basename(path, ".jsonl"), "subagents", `agent-${agentId}.jsonl`));
}

/** Returns the call that started the subagent with the file `path`, if the session's file is in the usual folder. */
export async function startingCallBeside(
  path: string,
  sessionId: string,
  agentId: string,
  prompt: string | undefined,
): Promise<StartingCall | undefined> {
  const folder = dirname(path);
  const name = `${basename(sessionId)}.jsonl`;
  const candidates = [join(folder, name), join(folder, "..", "..", name)];
  const parent = candidates.find((candidate) => existsSync(candidate));
  if (parent === undefined) return undefined;
  const calls = new StartingCalls();
  try {
    // Most lines are not parsed, because the file is read once for each of its subagents.
    for await (const found of readLines({ path: parent, chunks: chunksOf(parent) })) {
      const text = "text" in found ? found.text : "";
      if (!text.includes(agentId) && !text.includes('"prompt"')) continue;
      calls.see(objectOf(valueIn(text)));
    }
  } catch (error) {
    // A file that cannot be read is reported when it is imported itself.
    if (!StoreError.is(error)) throw error;
  }
  return calls.callOf(agentId, prompt);
}
