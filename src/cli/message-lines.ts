import type { Message, Part, Role } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import type { Terminal } from "./terminal.ts";
import { formatTime } from "./text.ts";

const ROLE_FORMATS = { system: "magenta", user: "green", assistant: "cyan", tool: "yellow" } as const;

/** Yields a line that identifies the message, the whole message, and an empty line. */
export function* messageLines(message: Message, terminal: Terminal): Generator<string> {
  const details = [`#${message.seq}`, `message ${message.id}`, formatTime(message.createdAtMs)];
  if (message.pinned) details.push("pinned");
  yield `${speaker(message, terminal)}  ${terminal.style("dim", details.join(" · "))}`;
  yield* partsLines(message.parts, terminal);
  yield "";
}

export function speaker({ role, name }: { role: Role; name?: string }, terminal: Terminal): string {
  return terminal.style(["bold", ROLE_FORMATS[role]], name === undefined ? role : `${role} ${name}`);
}

export function* partsLines(parts: readonly Part[], terminal: Terminal): Generator<string> {
  const dim = (text: string): string => terminal.style("dim", text);
  for (const part of parts) {
    switch (part.type) {
      case "text":
        yield part.text;
        break;
      case "reasoning":
        yield dim(`(thinking) ${part.text}`);
        break;
      case "tool_call":
        yield `→ ${part.name} ${JSON.stringify(part.args) ?? ""} ${dim(`call ${part.toolCallId}`)}`;
        break;
      case "tool_result": {
        const outcome = part.isError === true ? terminal.style("red", "error") : "result";
        yield `← ${outcome} ${dim(`call ${part.toolCallId}`)}`;
        if (typeof part.content === "string") yield part.content;
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
