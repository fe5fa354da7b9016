import type { MessageInput } from "../../src/index.ts";

let count = 0;

/** A call of a tool and its result. `said` is what the model says before it. */
export function acts(
  name: string,
  args: object,
  content = "done",
  { isError = false, said, at }: { isError?: boolean; said?: string; at?: number } = {},
): MessageInput[] {
  const toolCallId = `call-${count++}`;
  const time = at === undefined ? {} : { createdAt: at };
  const text = said === undefined ? [] : [{ type: "text" as const, text: said }];
  return [
    { role: "assistant", parts: [...text, { type: "tool_call", toolCallId, name, args }], ...time },
    { role: "tool", parts: [{ type: "tool_result", toolCallId, content, isError }], ...time },
  ];
}

export function runs(command: string, content = "done", options: Parameters<typeof acts>[3] = {}): MessageInput[] {
  return acts("Bash", { command }, content, options);
}

export function fails(command: string, content: string, options: Parameters<typeof acts>[3] = {}): MessageInput[] {
  return runs(command, `Exit code 1\n${content}`, { ...options, isError: true });
}

export function edits(path: string, said?: string, [from, to] = ["old", "new"]): MessageInput[] {
  const args = { file_path: path, old_string: from, new_string: to };
  return acts("Edit", args, "done", said === undefined ? {} : { said });
}
