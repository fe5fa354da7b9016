import { type CallKind, callKind, isTelling } from "../../context/digest/blocks.ts";
import { mayBeNote } from "../../core/artifacts.ts";
import { withoutElements } from "../../core/harness.ts";
import type { Role, ToolCallPart } from "../../core/message.ts";
import { isInjected } from "../../core/text.ts";
import { actionsIn, actionsOfCall, commandLineIn, isOfFile, resultOf } from "../../models/actions.ts";
import { excerpt, plainText } from "../../models/lines.ts";
import type { NotableMessage } from "../../store/index.ts";

/** A line of the work, or a command, and how likely later work is to use it again, for what it costs. */
export interface SeenLine {
  text: string;
  message: NotableMessage;
  by: Role;
  /** Where it stands among the lines of its message. */
  position: number;
  worth: number;
  /** Tells if a command failed. Few commands are asked, because reading a result takes long. */
  isFailure?: () => boolean;
}

/**
 * How much more often later work uses a line again by what was done with it last: written to a file, read from one, part of another
 * call, said, or printed. Rounded from cuts of sessions at which nothing was compacted.
 */
const KIND_WORTH = { changed: 3, read: 2, call: 1.5, said: 0.7, printed: 0.3 };
type LineKind = keyof typeof KIND_WORTH;

/** The worth of a line falls with the messages since its file was last read or changed, and less steeply than with its own age. */
const FILE_POWER = 0.25;
/** Lines of no file count as those of a file that was used this many messages ago. */
const NO_FILE_AGE = 60;

/** The worth of a line is divided by its length to this power. A long line is used again a little more often than a short one. */
const LENGTH_POWER = 0.7;
/** What a line costs beside its characters. */
const LINE_CHARS = 4;

/** `12→text` and `12<tab>text`, as tools number the lines of a file. */
const LINE_NUMBER = /^[ \t]*\d+[→\t]/gm;
const NUMBERED_LINE = /^[ \t]*\d+[→\t].*$/gm;

const COMMAND_CHARS_MIN = 8;
/** A longer command is a script, whose lines count. */
const COMMAND_CHARS_MAX = 240;

/**
 * Returns the lines of the work and the commands, each once, at its newest message. The best come first. Of a very long text, only the
 * beginning and the end are read.
 */
export function seenIn(messages: readonly NotableMessage[]): Record<"lines" | "commands", SeenLine[]> {
  const lines = new Sightings();
  const commands = new Sightings();
  /** A key is the call's step and id. */
  const calls = new Map<string, Call>();
  for (const [index, message] of messages.entries()) {
    const age = messages.length - index;
    const seen = new Set<string>();
    const see = (text: string, by: Role, kind: LineKind, file?: string): void => {
      for (const line of linesIn(text)) {
        if (seen.has(line)) continue;
        lines.add({ text: line, message, by, position: seen.size }, KIND_WORTH[kind], age, file);
        seen.add(line);
      }
    };
    for (const part of message.parts) {
      if (isInjected(part)) continue;
      // What users say is listed as such, unless they took it back.
      if (part.type === "text" && message.role === "assistant") see(part.text, "assistant", "said");
      else if (part.type === "tool_call") {
        const call = callOf(part);
        const { kind, file } = call;
        calls.set(`${message.stepId} ${part.toolCallId}`, call);
        if (kind === "plan") continue;
        if (file !== undefined) lines.use(file, age);
        for (const text of stringsIn(part.args, message.text))
          see(text, "assistant", kind === "change" ? "changed" : "call", file);
      } else if (part.type === "tool_result") {
        const call = calls.get(`${message.stepId} ${part.toolCallId}`);
        if (call === undefined || call.kind === "plan") continue; // a result of Coppice, or of a call that is too old
        const { kind, file, command = "" } = call;
        const result = resultOf(part, message.text);
        // After a change, an agent shows what became of the file, with numbers before its lines.
        const shown = kind === "change" ? (result.text.match(NUMBERED_LINE) ?? []).join("\n") : result.text;
        see(shown.replace(LINE_NUMBER, ""), "tool", kind === "other" ? "printed" : "read", file);
        if (command.length < COMMAND_CHARS_MIN || command.length > COMMAND_CHARS_MAX) continue;
        const isFailure = (): boolean => actionsIn(call.part, result).some(({ outcome }) => outcome === "failed");
        commands.add({ text: command, message, by: "assistant", position: 0, isFailure }, KIND_WORTH.call, age);
      }
    }
  }
  return { lines: lines.ranked(), commands: commands.ranked() };
}

/** Returns the lines of a text that say something, trimmed, without bare paths. */
function linesIn(text: string): string[] {
  const lines = withoutElements(plainText(excerpt(text))).split("\n");
  return lines.map((line) => line.trim()).filter((line) => line.includes(" ") && isTelling(line));
}

/** Texts, each at its newest sighting. */
class Sightings {
  readonly #byText = new Map<string, SeenLine & { file: string | undefined }>();
  /** How many messages ago each file was used last. */
  readonly #fileAges = new Map<string, number>();

  use(file: string, age: number): void {
    this.#fileAges.set(file, age);
  }

  /** A line is used again less often the older it is, with the square root. How often it was seen says nothing: braces are seen most. */
  add(line: Omit<SeenLine, "worth">, kindWorth: number, age: number, file?: string): void {
    const worth = kindWorth / Math.sqrt(age) / (line.text.length + LINE_CHARS) ** LENGTH_POWER;
    this.#byText.set(line.text, { ...line, worth, file });
  }

  ranked(): SeenLine[] {
    const found = Array.from(this.#byText.values(), ({ file, ...line }) => {
      const fileAge = this.#fileAges.get(file ?? "") ?? NO_FILE_AGE;
      return { ...line, worth: line.worth / fileAge ** FILE_POWER };
    });
    return found.sort((left, right) => right.worth - left.worth);
  }
}

interface Call {
  part: ToolCallPart;
  kind: CallKind;
  command: string | undefined;
  /** The file that it reads or changes. */
  file: string | undefined;
}

function callOf(part: ToolCallPart): Call {
  const actions = actionsOfCall(part);
  const file = actions.find(({ kind }) => isOfFile(kind))?.target;
  return { part, kind: callKind(actions), command: commandLineIn(part), file };
}

/** Returns the strings of arguments. @param elsewhere  Returned for a string that is stored elsewhere. */
function stringsIn(value: unknown, elsewhere: string): string[] {
  if (typeof value === "string") return [mayBeNote(value) ? elsewhere : value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => stringsIn(item, elsewhere));
}
