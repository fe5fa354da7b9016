import type { Message, Part, Role, ToolCallPart } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import { verdictText } from "../../core/verdicts.ts";
import type { Terminal } from "./terminal.ts";
import { formatTime, oneLine } from "./text.ts";
import { wrapped } from "./wrap.ts";

const ROLE_FORMATS = { system: "magenta", user: "green", assistant: "cyan", tool: "yellow" } as const;

/** Yields a line that identifies the message, the whole message, and an empty line. */
export function* messageLines(message: Message, terminal: Terminal): Generator<string> {
  const details = [messageHandle(message.id), formatTime(message.createdAtMs)];
  if (message.pinned) details.push("pinned");
  yield `${speaker(message, terminal)}  ${terminal.style("dim", details.join(" · "))}`;
  if (message.verdict !== undefined) yield terminal.style("yellow", oneLine(verdictText(message.verdict)));
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
  const wrap = (text: string): string => wrapped(text, terminal.columns);
  for (const part of parts) {
    switch (part.type) {
      case "text":
        yield wrap(part.text);
        break;
      case "reasoning":
        yield dim(wrap(`(thinking) ${part.text}`));
        break;
      case "tool_call":
        yield* callLines(part, terminal);
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

/** Longer arguments of a call have lines of their own. */
const SHORT_CHARS_MAX = 100;
const COMMANDS: ReadonlySet<string> = new Set(["command", "cmd"]);

/** Yields a heading with the short arguments of a call, and then the long ones as they are, without the escapes of JSON. */
function* callLines({ name, args, toolCallId }: ToolCallPart, terminal: Terminal): Generator<string> {
  const id = terminal.style("dim", `call ${toolCallId}`);
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    yield `${wrapped(`→ ${name} ${JSON.stringify(args) ?? ""}`, terminal.columns)} ${id}`;
    return;
  }
  const { description, ...others } = args as Record<string, unknown>;
  const isTitled = typeof description === "string" && description !== "" && !description.includes("\n");
  const short: string[] = [];
  const long: [key: string, text: string][] = [];
  for (const [key, value] of Object.entries(isTitled ? others : args)) {
    const isWords = Array.isArray(value) && value.every((word) => typeof word === "string");
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    if (COMMANDS.has(key) && (isWords || typeof value === "string")) long.push(["", isWords ? value.join(" ") : text]);
    else if (text.includes("\n") || text.length > SHORT_CHARS_MAX) long.push([key, text]);
    else short.push(`${key}: ${text}`);
  }
  const heading = [
    `→ ${name}${isTitled ? `: ${description}` : ""}`,
    ...(short.length > 0 ? [`(${short.join(", ")})`] : []),
  ];
  yield `${wrapped(heading.join(" "), terminal.columns)} ${id}`;
  for (const [key, text] of long) {
    if (key !== "") yield `  ${key}:`;
    yield wrapped(text, terminal.columns - 2).replace(/^(?=.)/gm, "  ");
  }
}
