import type { Message, Part } from "../core/message.ts";
import { describeFile } from "../core/text.ts";
import type { Session } from "../session/session.ts";
import { sessionName } from "../session/session-name.ts";
import { formatTime } from "./text.ts";

const PAGE_MESSAGES = 50;

/** Yields a session as Markdown: a heading, then each message with its speaker and time. Calls and results are blocks of code. */
export function* markdownLines(session: Session): Generator<string> {
  const overview = session.info();
  yield `# ${onOneLine(sessionName(overview) ?? session.id)}`;
  yield "";
  const facts = [`Session \`${session.id}\``, overview.project && `project ${overview.project}`, overview.source];
  yield facts.filter(Boolean).map(String).map(onOneLine).join(" · ");
  for (let seqFrom = 0; ; ) {
    const messages = session.messages({ seqFrom, limit: PAGE_MESSAGES });
    for (const message of messages) yield* messageMarkdown(message);
    const last = messages.at(-1);
    if (last === undefined) return;
    seqFrom = last.seq + 1;
  }
}

function* messageMarkdown({ role, name, createdAtMs, parts }: Message): Generator<string> {
  yield "";
  yield `## ${onOneLine(name ?? role)} · ${formatTime(createdAtMs)}`;
  for (const part of parts) {
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
