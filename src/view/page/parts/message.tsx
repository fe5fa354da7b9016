import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ViewMessage, ViewPart } from "../../api.ts";
import { urlOf } from "../../questions.ts";
import { bytesOf } from "../asking.ts";
import { bytes, count, dateTime, number, tokens, visible } from "../format.ts";
import { href } from "../router.ts";
import { Picture, Save, WholeLink } from "./answers.tsx";
import { Diff, Edit, isDiff } from "./diff.tsx";
import { Markdown, SafeLink } from "./markdown.tsx";

type Of<T extends ViewPart["type"]> = Extract<ViewPart, { type: T }>;
type TextPart = Of<"text" | "reasoning">;

/** Pictures that the browser cannot take for a document. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** How much of a long text is added to the page at once. */
const PIECE_CHARS = 100_000;
/** How many parts, edits and arguments of a message are drawn at once: a message may have 10,000 parts. */
const PARTS = 30;
const EDITS = 5;
const ARGUMENTS = 50;
const PREVIEW_CHARS = 120;
const SHORT_CHARS = 100;
const OPEN_EDIT_CHARS = 1_600;

/**
 * @param inSession  The session that is read: a fork shows messages of others.
 * @param isFollowing  True if the message before it is of the same speaker and turn, so that its head can be short.
 */
export function Message(props: {
  message: ViewMessage;
  inSession?: string;
  isFollowing?: boolean;
  isMarked?: boolean;
  isShared?: boolean;
  tools?: ComponentChildren;
}) {
  const {
    message,
    inSession = message.session,
    isFollowing = false,
    isMarked = false,
    isShared = false,
    tools,
  } = props;
  const { role, name, seq, pinned, verdict } = message;
  const parts = useFew(message.parts, PARTS, "part");
  return (
    <article
      class={`message message-${role}${isMarked ? " is-marked" : ""}${isShared ? " is-shared" : ""}`}
      data-row
      tabIndex={0}
      aria-label={`${role}, ${isShared ? "shared " : ""}message ${seq}`}
    >
      <header class={isFollowing ? "is-following" : ""}>
        <span class={`role role-${role}`}>{name === null ? role : `${role}, ${visible(name)}`}</span>
        {pinned && <span class="badge">pinned</span>}
        <span class="message-facts">
          {tools}
          <span>{tokens(message.tokenCount)}</span>
          <a href={href({ view: "session", session: inSession, seq })} title={dateTime(message.createdAtMs)}>
            {number(seq)}
          </a>
        </span>
      </header>
      {verdict !== null && (
        <p class="verdict small" dir="auto">
          {visible(verdict)}
        </p>
      )}
      {parts.shown.map((part) => (
        <Part key={part.path} part={part} messageId={message.id} speaker={role} />
      ))}
      {parts.more}
    </article>
  );
}

/** Returns the first of some things, and a button for more of them, so that no message takes long to draw. */
function useFew<T>(all: readonly T[], atOnce: number, noun: string): { shown: readonly T[]; more: ComponentChildren } {
  const [limit, setLimit] = useState(atOnce);
  const left = all.length - limit;
  const more = left > 0 && (
    <p class="small">
      <button type="button" class="plain" onClick={() => setLimit(limit + atOnce)}>
        Show more, {count(left, noun)} {left === 1 ? "is" : "are"} left
      </button>
    </p>
  );
  return { shown: all.slice(0, limit), more };
}

function Part({ part, messageId, speaker }: { part: ViewPart; messageId: number; speaker: string }) {
  if (part.isInjected && part.type === "text")
    return (
      <Fold name="Put in by a program" preview={part.text}>
        <Text part={part} messageId={messageId} />
      </Fold>
    );
  switch (part.type) {
    case "text":
      return <Text part={part} messageId={messageId} />;
    case "reasoning":
      return (
        <Fold name="Reasoning" preview={part.text}>
          <Text part={part} messageId={messageId} />
        </Fold>
      );
    case "tool_call":
      return <ToolCall part={part} messageId={messageId} />;
    case "tool_result":
      return <ToolResult part={part} messageId={messageId} />;
    case "file":
      return <File part={part} />;
    case "data":
      return (
        <Fold name={speaker === "tool" ? "Data" : "Other data"}>
          <Plain text={JSON.stringify(part.data, null, 2)} />
          <Rest part={part} messageId={messageId} />
        </Fold>
      );
  }
}

/** Something to unfold, with a line of what is in it. */
function Fold(props: {
  name: string;
  preview?: string;
  size?: string;
  class?: string;
  open?: boolean;
  children: ComponentChildren;
}) {
  return (
    <details class={`fold ${props.class ?? ""}`} open={props.open ?? false}>
      <summary>
        <span class="fold-name">{props.name}</span> {props.preview !== undefined && <Preview text={props.preview} />}
        {props.size !== undefined && <span class="fold-size">{props.size}</span>}
      </summary>
      {props.children}
    </details>
  );
}

function Text({ part, messageId }: { part: TextPart; messageId: number }) {
  return (
    <>
      <Markdown text={part.text} />
      <Rest part={part} messageId={messageId} />
    </>
  );
}

function ToolCall({ part, messageId }: { part: Of<"tool_call">; messageId: number }) {
  const args = isRecord(part.args) ? part.args : undefined;
  const edits = args === undefined ? [] : editsOf(args);
  const fewEdits = useFew(edits, EDITS, "edit");
  const editChars = edits.reduce((sum, { before, after }) => sum + before.length + after.length, 0);
  const others = Object.entries(args ?? {}).filter(([name]) => edits.length === 0 || !EDIT_ARGUMENTS.has(name));
  const fewOthers = useFew(others, ARGUMENTS, "argument");
  return (
    <Fold
      name={visible(part.name)}
      preview={gistOf(part.args)}
      class="call"
      open={edits.length > 0 && editChars <= OPEN_EDIT_CHARS}
    >
      {fewEdits.shown.map((edit, index) => (
        <Edit key={index} {...edit} />
      ))}
      {fewEdits.more}
      {args === undefined ? (
        <Plain text={JSON.stringify(part.args, null, 2)} />
      ) : (
        others.length > 0 && (
          <dl class="arguments">
            {fewOthers.shown.map(([name, value]) => (
              <Argument
                key={name}
                name={name}
                text={typeof value === "string" ? value : JSON.stringify(value, null, 2)}
              />
            ))}
          </dl>
        )
      )}
      {fewOthers.more}
      <Rest part={part} messageId={messageId} />
    </Fold>
  );
}

function Argument({ name, text }: { name: string; text: string }) {
  const isShort = text.length <= SHORT_CHARS && !text.includes("\n");
  return (
    <div class={isShort ? "is-short" : ""}>
      <dt>{visible(name)}</dt>
      <dd>{isShort ? <code>{visible(text)}</code> : <Plain text={text} />}</dd>
    </div>
  );
}

function ToolResult({ part, messageId }: { part: Of<"tool_result">; messageId: number }) {
  const first = part.content.find((inner): inner is TextPart => inner.type === "text");
  const text = first?.text ?? "";
  const contents = useFew(part.content, PARTS, "part");
  const pictures = contents.shown.filter((inner) => inner.type === "file");
  const lineCount = text === "" ? 0 : text.trimEnd().split("\n").length;
  return (
    <>
      <Fold
        name={part.isError ? "Error" : "Result"}
        preview={text}
        size={
          first?.isCut ? `${number(first.charCount)} characters` : lineCount > 1 ? `${number(lineCount)} lines` : ""
        }
        class={part.isError ? "result is-error" : "result"}
      >
        {contents.shown.map((inner) =>
          inner.type === "text" ? (
            <div key={inner.path}>
              {isDiff(inner.text) ? <Diff text={inner.text} /> : <Plain text={inner.text} />}
              <Rest part={inner} messageId={messageId} />
            </div>
          ) : (
            inner.type !== "file" && <Part key={inner.path} part={inner} messageId={messageId} speaker="tool" />
          ),
        )}
        {contents.more}
      </Fold>
      {pictures.map((picture) => (
        <File key={picture.path} part={picture} />
      ))}
    </>
  );
}

function File({ part }: { part: Of<"file"> }) {
  const name = visible(part.name ?? part.mediaType);
  const isPicture = part.href !== null && PICTURES.includes(part.mediaType);
  return (
    <figure class="file">
      {isPicture && <Picture url={part.href!} alt={name} />}
      <figcaption>
        {part.href !== null ? (
          <Save url={part.href} as={part.name ?? "file"}>
            {name}
          </Save>
        ) : part.url !== null ? (
          <SafeLink to={part.url}>{name}</SafeLink>
        ) : (
          name
        )}
        <span class="muted small">
          {" "}
          {visible(part.mediaType)}
          {part.byteLength > 0 && `, ${bytes(part.byteLength)}`}
        </span>
      </figcaption>
    </figure>
  );
}

/** The rest of a text that the server has cut, on demand and piece by piece. */
function Rest({ part, messageId }: { part: { path: string; isCut?: boolean; charCount?: number }; messageId: number }) {
  const [whole, setWhole] = useState<{ text: string; shown: number; failed?: boolean }>();
  if (!part.isCut) return null;
  const url = urlOf("/api/part", { message: messageId, path: part.path });
  const load = async () => {
    try {
      setWhole({ text: await (await bytesOf(url)).text(), shown: PIECE_CHARS });
    } catch {
      setWhole({ text: "", shown: 0, failed: true });
    }
  };
  const pieces = [];
  if (whole !== undefined) {
    for (let from = 0; from < Math.min(whole.shown, whole.text.length); from += PIECE_CHARS)
      pieces.push(<Plain key={from} text={whole.text.slice(from, from + PIECE_CHARS)} />);
  }
  const left = whole === undefined ? undefined : whole.text.length - whole.shown;
  return (
    <div class="rest">
      {pieces}
      {whole?.failed && <p role="alert">The whole text could not be loaded.</p>}
      <p class="small">
        {left === undefined ? (
          <button type="button" class="plain" onClick={load}>
            Show all {number(part.charCount!)} characters
          </button>
        ) : (
          left > 0 && (
            <button
              type="button"
              class="plain"
              onClick={() => setWhole({ ...whole!, shown: whole!.shown + PIECE_CHARS })}
            >
              Show more, {number(left)} characters are left
            </button>
          )
        )}{" "}
        <WholeLink url={url}>Open in a new tab</WholeLink>
      </p>
    </div>
  );
}

function Plain({ text }: { text: string | undefined }) {
  return (
    <pre class="code plain-text" tabIndex={0}>
      {visible(text ?? "")}
    </pre>
  );
}

function Preview({ text }: { text: string }) {
  const lines = text.slice(0, 2_000).split("\n");
  const line = (lines.find((one) => /\p{L}{2}/u.test(one)) ?? lines[0]!).trim();
  return (
    <span class="preview">{visible(line.length > PREVIEW_CHARS ? `${line.slice(0, PREVIEW_CHARS)}…` : line)}</span>
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The argument that says most about a call. */
const GIST = [
  "command",
  "file_path",
  "path",
  "absolute_path",
  "filePath",
  "pattern",
  "query",
  "url",
  "description",
  "prompt",
];

function gistOf(args: unknown): string {
  if (!isRecord(args)) return typeof args === "string" ? args : "";
  const name =
    GIST.find((one) => typeof args[one] === "string") ?? Object.keys(args).find((one) => typeof args[one] === "string");
  return name === undefined ? "" : (args[name] as string);
}

/** The agents' names for the text before an edit, and the text after it. */
const EDIT_PAIRS = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["old_str", "new_str"],
  ["oldText", "newText"],
] as const;
const EDIT_ARGUMENTS: ReadonlySet<string> = new Set([...EDIT_PAIRS.flat(), "edits"]);

function editsOf(args: Record<string, unknown>): { before: string; after: string }[] {
  const own = EDIT_PAIRS.flatMap(([old, young]) => {
    const [before, after] = [args[old], args[young]];
    return typeof before === "string" && typeof after === "string" ? [{ before, after }] : [];
  });
  const inner = Array.isArray(args.edits) ? args.edits.filter(isRecord).flatMap(editsOf) : [];
  return [...own, ...inner];
}
