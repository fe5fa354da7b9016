import type { Message, Part, Role } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import type { Terminal } from "./terminal.ts";
import { formatTime } from "./text.ts";
import { wrapped } from "./wrap.ts";

const ROLE_FORMATS = { system: "magenta", user: "green", assistant: "cyan", tool: "yellow" } as const;

/** Yields a line that identifies the message, the whole message, and an empty line. */
export function* messageLines(message: Message, terminal: Terminal): Generator<string> {
  const details = [messageHandle(message.id), formatTime(message.createdAtMs)];
  if (message.pinned) details.push("pinned");
  yield `${speaker(message, terminal)}  ${terminal.style("dim", details.join(" · "))}`;
  yield* partsLines(message.parts, terminal);
  yield "";
}

/** Yields what was said in a message, without thoughts, calls, results and texts that a program put in. */
export function* saidLines(message: Message, terminal: Terminal): Generator<string> {
  yield* messageLines({ ...message, parts: saidParts(message) }, terminal);
}

export function saidParts({ role, parts }: Pick<Message, "role" | "parts">): Part[] {
  if (role !== "user" && role !== "assistant") return [];
  return parts.filter((part) => part.type === "text" && part.injected !== true && /\S/.test(part.text));
}

/** Names a message as `expand` accepts it. */
export function messageHandle(id: number): string {
  return `message:${id}`;
}

export function speaker({ role, name }: { role: Role; name?: string }, terminal: Terminal): string {
  return terminal.style(["bold", ROLE_FORMATS[role]], name === undefined ? role : `${role} ${name}`);
}

export function* partsLines(parts: readonly Part[], terminal: Terminal): Generator<string> {
  const dim = (text: string): string => terminal.style("dim", text);
  const wrap = (text: string): string => wrapped(text, terminal.width);
  for (const part of parts) {
    switch (part.type) {
      case "text":
        yield wrap(part.text);
        break;
      case "reasoning":
        yield dim(wrap(`(thinking) ${part.text}`));
        break;
      case "tool_call":
        yield `${wrap(`→ ${part.name} ${JSON.stringify(part.args) ?? ""}`)} ${dim(`call ${part.toolCallId}`)}`;
        break;
      case "tool_result": {
        const outcome = part.isError === true ? terminal.style("red", "error") : "result";
        yield `← ${outcome} ${dim(`call ${part.toolCallId}`)}`;
        if (typeof part.content === "string") yield wrap(part.content);
        else yield* partsLines(part.content, terminal);
        break;
      }
      case "file":
        yield `[${describeFile(part)}]`;
        break;
      case "data":
        yield JSON.stringify(part.data) ?? "";
        break;
    }
  }
}
