import type { Part } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import type { ExportedMessage, ExportLine } from "../../session/moving/export.ts";
import { formatTime } from "./text.ts";

/** Yields sessions as Markdown: a heading, then each message with its speaker and time. Calls and results are blocks of code. */
export function* markdownLines(
  exported: Iterable<ExportLine>,
  nameOf: (sessionId: string) => string | undefined,
): Generator<string> {
  let sessionId: string | undefined;
  for (const line of exported) {
    if ("entry" in line || "namespace" in line) continue;
    if (line.session !== sessionId) {
      if (sessionId !== undefined) yield "";
      sessionId = line.session;
      yield `# ${onOneLine(nameOf(sessionId) ?? sessionId)}`;
      yield "";
      // A damaged session has no line of its own.
      const { project, source } = "role" in line ? {} : line;
      const facts = [`Session \`${sessionId}\``, project && `project ${project}`, source];
      yield facts.filter(Boolean).map(String).map(onOneLine).join(" · ");
    }
    if ("role" in line) yield* messageMarkdown(line);
  }
}

function* messageMarkdown({ role, name, createdAt, content, parts }: ExportedMessage): Generator<string> {
  yield "";
  yield `## ${onOneLine(name ?? role)} · ${formatTime(createdAt)}`;
  const all: readonly Part[] = parts ?? [{ type: "text", text: content ?? "" }];
  for (const part of all) {
    yield "";
    yield partMarkdown(part);
  }
}

function partMarkdown(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return part.text.replace(/^/gm, "> ");
    case "tool_call":
      return `Call of \`${part.name}\`:\n\n${fenced(JSON.stringify(part.args, null, 2) ?? "", "json")}`;
    case "tool_result": {
      const { content } = part;
      const text = typeof content === "string" ? fenced(content) : content.map(partMarkdown).join("\n\n");
      return `${part.isError === true ? "Error" : "Result"}:\n\n${text}`;
    }
    case "file":
      return `*${describeFile(part)}*`;
    case "data":
      return fenced(JSON.stringify(part.data, null, 2) ?? "", "json");
  }
}

/** Puts a text into a block of code, whose fence is longer than any in the text. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
