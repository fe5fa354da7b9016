import type { MessageInput } from "../../src/index.ts";

/** Returns a message as a line of Claude Code, with the other fields of such lines. The line before it is its parent. */
export function transcriptLine({ role, content, parts }: MessageInput, sessionId: string, line: number): object {
  const blocks = (parts ?? [{ type: "text", text: String(content) }]).map((part) => {
    if (part.type === "tool_call") return { type: "tool_use", id: part.toolCallId, name: part.name, input: part.args };
    if (part.type === "tool_result")
      return { type: "tool_result", tool_use_id: part.toolCallId, content: part.content };
    return part;
  });
  return {
    parentUuid: line === 0 ? null : `${sessionId}-${line - 1}`,
    isSidechain: false,
    userType: "external",
    cwd: "/home/mira/work/tidewatch",
    sessionId,
    version: "2.1.12",
    gitBranch: "main",
    type: role === "assistant" ? "assistant" : "user",
    message: {
      role: role === "tool" ? "user" : role,
      content: blocks,
      ...(role === "assistant" && { id: `msg-${line}` }),
    },
    uuid: `${sessionId}-${line}`,
    timestamp: new Date(Date.UTC(2026, 0, 1) + line * 1_000).toISOString(),
    // Claude Code repeats a result for its own display.
    ...(role === "tool" && { toolUseResult: { stdout: (blocks[0] as { content: unknown }).content, stderr: "" } }),
  };
}
