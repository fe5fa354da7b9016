import { fileNameOf } from "./conversations.ts";
import { messageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import type { TextLine } from "./lines.ts";
import { FENCE, readEndedLines } from "./markdown.ts";
import { notYet } from "./message-event.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { millisecondsOf } from "./values.ts";

const NAMES =
  "(?<user>User|Human|You)|(?<system>System)|(?<assistant>Assistant|AI|Agent|Bot|Claude|ChatGPT|Codex|Copilot|Cursor|Gemini|GPT-[\\w.]+)";

/** `## User`, `### 🤖 Assistant (2026-03-05 09:00)`. */
const HEADING = new RegExp(
  `^(?<form>#{1,4})\\s+(?:[^\\w\\s]+\\s+)?(?:${NAMES})(?::|\\s*\\((?<about>.*)\\))?\\s*$`,
  "i",
);
/** `**User**`, `**Assistant:** The words may begin here.` */
const BOLD = new RegExp(`^(?<form>\\*\\*)(?:${NAMES})(?::\\*\\*|\\*\\*(?::|(?=\\s*$)))(?<words>.*)$`, "i");

/** Matches lines that may come before the first speaker: a title, a rule, a note in italics or in a quotation, and facts about the file. */
const BEFORE = /^(?:\s*$|# |---\s*$|[_*][^*_].*[_*]\s*$|>|[\w-]+: |\*\*[^*]+:\*\* )/;

interface Speaker {
  role: "user" | "assistant" | "system";
  /** How it is written. What is written in another form is said, and tells no speaker. */
  form: string;
  about: string | undefined;
  words: string;
}

/**
 * Reads a conversation in Markdown that tells who speaks by headings or by words in bold type. Any page may have such a heading, so
 * the file must begin with the user or the system, and the next one who speaks must be another one.
 */
export const markdownRoles: Importer = {
  name: "markdown",

  detect(head) {
    const reader = new RoleReader();
    const roles: string[] = [];
    for (const line of head.split(/\r?\n/)) {
      const speaker = reader.read(line);
      if (speaker !== undefined) roles.push(speaker.role);
      else if (roles.length === 0 && !BEFORE.test(line)) return false;
      if (roles.at(-1) === "assistant") break;
    }
    return /^(?:system )?user assistant$/.test(roles.join(" "));
  },

  read: (file) => new RolesTranslator(file).translate(readEndedLines(file)),
};

/** Finds speakers outside blocks of code, all in the form of the first one. */
class RoleReader {
  #fence: string | undefined;
  #form: string | undefined;

  read(line: string): Speaker | undefined {
    const [, marks, info = ""] = FENCE.exec(line) ?? [];
    const wasInBlock = this.#fence !== undefined;
    if (this.#fence === undefined) this.#fence = marks;
    else if (marks?.startsWith(this.#fence) && info.trim() === "") this.#fence = undefined;
    if (wasInBlock || this.#fence !== undefined) return undefined;
    const { form, user, system, about, words = "" } = (HEADING.exec(line) ?? BOLD.exec(line))?.groups ?? {};
    if (form === undefined || form !== (this.#form ?? form)) return undefined;
    this.#form = form;
    const role = user !== undefined ? "user" : system !== undefined ? "system" : "assistant";
    return { role, form, about, words: words.trim() };
  }
}

class RolesTranslator extends Translator<TextLine> {
  readonly #reader = new RoleReader();
  #said: (Speaker & { line: number; lines: string[] }) | undefined;
  #title: string | undefined;
  #count = 0;

  protected override read({ line, text }: TextLine): undefined {
    const given = text.replace(/\r$/, "");
    const speaker = this.#reader.read(given);
    if (speaker !== undefined) {
      this.#endSaid();
      this.#said = { ...speaker, line, lines: [speaker.words] };
    } else if (this.#said === undefined) this.#title ??= /^# (.+)$/.exec(given)?.[1];
    else this.#said.lines.push(given);
  }

  #endSaid(): void {
    if (this.#said === undefined) return;
    const { line, role, about, lines } = this.#said;
    this.#said = undefined;
    const text = lines
      .join("\n")
      .replace(/\n\s*---\s*$/, "")
      .trim();
    if (text === "") return;
    const id = String(this.#count++);
    this.open().add([messageEntry(line, role, id, [{ type: "text", text }], millisecondsOf(about))]);
  }

  protected override end(isFinished: boolean): void {
    if (isFinished) this.#endSaid();
    else if (this.#said !== undefined) this.warn(this.#said.line, notYet("the message may go on"));
  }

  protected override session(): SessionFacts {
    return { externalId: fileNameOf(this.file.path), source: "markdown", title: this.#title };
  }
}
