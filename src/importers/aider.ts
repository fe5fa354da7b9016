import { basename, dirname, resolve } from "node:path";
import type { Part, Role } from "../core/message.ts";
import { messageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import type { TextLine } from "./lines.ts";
import { FENCE, readEndedLines } from "./markdown.ts";
import { notYet } from "./message-event.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf } from "./values.ts";

const START = /^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$/;

/** Commands with words for the model. All others only steer the program. */
const ASKING_COMMAND = /^\/(?:ask|code|architect|context|help)\s+\S/;

/**
 * Reads `.aider.chat.history.md`, to which Aider adds each chat in a folder. A chat becomes a session; its folder is the project.
 * Aider writes down when a chat starts, and no other time: every message has the time of the start.
 *
 * `.aider.llm.history` is not read. It repeats the same conversations with every request.
 */
export const aider: Importer = {
  name: "aider",

  detect(head) {
    const first = head.split("\n", 10).find((line) => line.trim() !== "");
    return first !== undefined && START.test(first.trimEnd());
  },

  read: (file) => new AiderTranslator(file).translate(readEndedLines(file)),
};

interface Block {
  kind: "prompt" | "output" | "answer";
  line: number;
  lines: string[];
}

/**
 * Translates the lines of a history. Prompts begin with `####` and what the program says with `>`. Answers may have headings and
 * quotes too; Aider ends its own lines with two spaces. Some editors remove these, so they count only once a line had them.
 *
 * Inside a block of code, such a line belongs to the answer if the block is closed. The user may have stopped an answer inside a
 * block. So these lines wait for the end of the block, or for what shows that it has none.
 */
class AiderTranslator extends Translator<TextLine> {
  #session: SessionFacts | undefined;
  readonly #starts = new Map<string, number>();
  #hasLineBreaks = false;
  #block: Block | undefined;
  #count = 0;
  #model: string | undefined;
  /** The marks that opened the block of code, and its lines since the first one that looks like Aider's own. */
  #fence: { marks: string; doubtful: TextLine[] } | undefined;

  protected override read(found: TextLine): undefined {
    const { line } = found;
    const text = found.text.replace(/\r$/, "");
    if (this.#fence !== undefined && this.#isInside(this.#fence, { line, text })) return;
    const [, started] = START.exec(text) ?? [];
    if (started !== undefined) {
      this.#endBlock();
      this.#begin(started);
      return;
    }
    const [, mark, words = ""] = /^(####|>) ?(.*)$/.exec(text) ?? [];
    this.#hasLineBreaks ||= mark !== undefined && text.endsWith("  ");
    const isOwn = mark !== undefined && (!this.#hasLineBreaks || text.endsWith("  "));
    const [, marks] = (isOwn ? undefined : FENCE.exec(text)) ?? [];
    if (marks !== undefined) this.#fence = { marks, doubtful: [] };
    if (text.trim() === "") {
      if (this.#block?.kind === "answer") this.#block.lines.push(text);
      else this.#endBlock();
    } else if (!isOwn) this.#add("answer", text, line);
    else this.#add(mark === ">" ? "output" : "prompt", words.replace(/ {2}$/, ""), line);
  }

  /** Reads a line after the opening of a block of code. Returns false if the block was never closed. */
  #isInside({ marks, doubtful }: { marks: string; doubtful: TextLine[] }, found: TextLine): boolean {
    const { text } = found;
    const [, fence, info = ""] = FENCE.exec(text) ?? [];
    const isAlike = fence?.startsWith(marks) === true;
    const isEnd = isAlike && info.trim() === "";
    const isOwn = this.#hasLineBreaks && /^(?:####|>) .* {2}$/.test(text);
    if (isOwn || (isAlike && !isEnd && doubtful.length > 0)) {
      this.#leaveFence();
      return false;
    }
    if (!isEnd && (doubtful.length > 0 || /^(?:####|>)/.test(text) || START.test(text))) doubtful.push(found);
    else {
      for (const one of [...doubtful, found]) this.#add("answer", one.text, one.line);
      doubtful.length = 0;
      if (isEnd) this.#fence = undefined;
    }
    return true;
  }

  /** Reads the lines that waited as if there were no block of code. */
  #leaveFence(): void {
    const waiting = this.#fence?.doubtful ?? [];
    this.#fence = undefined;
    for (const one of waiting) this.take(one);
  }

  protected override skip(): void {
    this.#leaveFence();
    this.#endBlock();
  }

  protected override end(isFinished: boolean, isPause: boolean): void {
    if (isPause || this.#block === undefined) return;
    if (isFinished) {
      // A line that waited may begin another block of code.
      while (this.#fence !== undefined) this.#leaveFence();
      this.#endBlock();
    } else this.warn(this.#block.line, notYet("Aider may be writing"));
  }

  #begin(started: string): void {
    const { path } = this.file;
    this.finish(true);
    const count = (this.#starts.get(started) ?? 0) + 1;
    this.#starts.set(started, count);
    const place = path === "-" ? path : resolve(path);
    const name = `${started.replace(" ", "T")}-${derivedId(place).slice(0, 8)}`;
    const folder = basename(place).startsWith(".aider") ? dirname(place) : undefined;
    this.#session = {
      externalId: count === 1 ? name : `${name}#${count}`,
      source: "aider",
      folder,
      // Aider writes the time of the place where it runs.
      createdAtMs: millisecondsOf(started),
      metadata: folder === undefined ? undefined : { cwd: folder },
    };
    this.#count = 0;
    this.#model = undefined;
  }

  #add(kind: Block["kind"], text: string, line: number): void {
    if (this.#block?.kind !== kind) {
      this.#endBlock();
      this.#block = { kind, line, lines: [] };
    }
    this.#block.lines.push(text);
    if (kind === "output") this.#model = /^(?:Main m|M)odel: (\S+)/.exec(text)?.[1] ?? this.#model;
  }

  #endBlock(): void {
    if (this.#block === undefined) return;
    const { kind, line, lines } = this.#block;
    this.#block = undefined;
    const text = lines.join("\n").trimEnd();
    if (text.trim() === "") return;
    if (this.#session === undefined) {
      this.warn(line, "expected a line that starts a chat");
      return;
    }
    const role: Role = kind === "answer" ? "assistant" : "user";
    const isCommand = kind === "prompt" && text.startsWith("/") && !ASKING_COMMAND.test(text);
    const parts: Part[] = [{ type: "text", text }];
    const said = kind === "output" || isCommand ? injected(parts) : parts;
    const about = kind === "answer" && this.#model !== undefined ? { model: this.#model } : {};
    const id = String(this.#count++);
    this.open().add([messageEntry(line, role, id, said, this.#session.createdAtMs, about)]);
  }

  protected override session(): SessionFacts {
    return this.#session!;
  }
}
