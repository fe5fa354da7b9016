import { StoreError } from "../../core/errors.ts";
import type { Message, Part } from "../../core/message.ts";
import { describeFile } from "../../core/text.ts";
import { Redactor } from "../../imports/redaction/redact.ts";
import { beganAtMs, everyMessage } from "../../session/aids/every-message.ts";
import { titleOfSession } from "../../session/aids/session-title.ts";
import type { Session } from "../../session/session.ts";
import { formatCount, formatTime } from "./text.ts";

type Context = ReturnType<Session["render"]>;
type How = "verbatim" | "shortened" | "cut";

/** How much of a message the current context has. */
const MEANINGS: Record<How, string> = {
  verbatim: "word for word in the current context",
  shortened: "in part",
  cut: "not shown: a summary or a pointer stands for it",
};

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #888; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } p.facts, header, footer { color: var(--dim); }
article { border-left: 4px solid var(--line); margin: 1rem 0; padding: 0 0 0 1rem; }
article.verbatim { border-color: #3a8f5c; } article.shortened { border-color: #c98f2b; }
article > header { font-size: .85rem; } article > header b { color: CanvasText; }
.said, pre { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { font: 13px/1.45 ui-monospace, monospace; background: #8881; padding: .6rem; border-radius: 4px; max-height: 40rem; overflow: auto; }
summary { cursor: pointer; font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
.error > summary { color: #c0392b; } i.key { border-left: 4px solid var(--line); padding-left: .4rem; margin-right: 1rem; font-style: normal; }
i.verbatim { border-color: #3a8f5c; } i.shortened { border-color: #c98f2b; }`;

/**
 * Yields one page of HTML that shows a session to somebody without Coppice: what was said, what was done, and what the current context
 * leaves out. Secrets of known kinds are replaced. The page loads nothing and runs nothing.
 */
export function* htmlLines(session: Session): Generator<string> {
  const redactor = new Redactor({ keepSecrets: false });
  const info = session.info();
  // The name that the store makes may be cut within a secret, and half of a secret is not recognized.
  const request = firstWords(session);
  const name = escaped(titleOfSession(redactor.redacted(info.title), redactor.redacted(request)) ?? info.id);
  const howOf = waysOf(session);
  const facts = [
    redactor.redacted(info.source),
    formatTime(beganAtMs(session)),
    formatCount(info.messageCount, "message"),
  ];
  yield "<!doctype html>";
  yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">';
  yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">";
  yield `<title>${name}</title><style>${STYLE}</style></head><body>`;
  yield `<h1>${name}</h1>`;
  yield `<p class="facts">${escaped(facts.filter(Boolean).join(" · "))}</p>`;
  const keys = Object.entries(MEANINGS).map(([how, meaning]) => `<i class="key ${how}">${meaning}</i>`);
  yield `<p class="facts">${keys.join("")}</p>`;
  for (const message of everyMessage(session)) {
    const how = howOf.get(message.id) ?? "cut";
    const { parts, name } = redactor.redacted({ parts: message.parts, name: message.name ?? message.role });
    yield* messageHtml({ ...message, parts, name }, how);
  }
  yield "<footer>Written by Coppice. Secrets of known kinds were replaced.</footer></body></html>";
}

function firstWords(session: Session): string | null {
  for (const { role, text } of everyMessage(session)) if (role === "user" && text !== "") return text;
  return null;
}

/** If the pinned messages do not fit into a context, there is none, and no message is marked as in it. */
function waysOf(session: Session): Map<number, How> {
  let sources: Context["sources"] = [];
  try {
    ({ sources } = session.render());
  } catch (error) {
    if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
  }
  return new Map(sources.flatMap((source) => (source.how === "summary" ? [] : [[source.messageId, source.how]])));
}

function* messageHtml({ seq, role, name, createdAtMs, parts }: Message, how: How): Generator<string> {
  yield `<article class="${how}" id="m${seq}">`;
  yield `<header><b>${escaped(name ?? role)}</b> · #${seq} · ${formatTime(createdAtMs)}</header>`;
  for (const part of parts) yield partHtml(part);
  yield "</article>";
}

function partHtml(part: Part): string {
  switch (part.type) {
    case "text":
      return part.injected === true
        ? folded("from a program", part.text)
        : `<div class="said">${escaped(part.text)}</div>`;
    case "reasoning":
      return folded("thinking", part.text);
    case "tool_call":
      return folded(`→ ${part.name} ${headOf(part.args)}`, JSON.stringify(part.args, null, 2) ?? "");
    case "tool_result": {
      const text = typeof part.content === "string" ? part.content : part.content.map(contentOf).join("\n");
      const [first = ""] = text.trimStart().split("\n", 1);
      return folded(`← ${first}`, text, part.isError === true ? "error" : "");
    }
    case "file":
      return `<p>${escaped(describeFile(part))}</p>`;
    case "data":
      return folded("data", JSON.stringify(part.data, null, 2) ?? "");
  }
}

function contentOf(part: Extract<Part, { type: "text" | "file" | "data" }>): string {
  if (part.type === "text") return part.text;
  return part.type === "file" ? describeFile(part) : JSON.stringify(part.data);
}

/** The command or path of a call, or else its first text. */
function headOf(args: unknown): string {
  const values = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const named = values.command ?? values.file_path ?? values.path ?? Object.values(values)[0];
  return typeof named === "string" ? named : "";
}

const HEAD_CHARS_MAX = 160;

function folded(head: string, text: string, className = ""): string {
  const line = head.replace(/\s+/g, " ").trim();
  const shown = line.length > HEAD_CHARS_MAX ? `${line.slice(0, HEAD_CHARS_MAX)}…` : line;
  return `<details class="${className}"><summary>${escaped(shown)}</summary><pre>${escaped(text)}</pre></details>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
