import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Part } from "../../core/message.ts";
import { messageEntry } from "../entry.ts";
import { dataPartOf } from "../file-parts.ts";
import type { Importer } from "../importer.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "../lines.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { derivedId, millisecondsOf, objectOf, saidOf, stringOf } from "../values.ts";

/**
 * Reads `~/.claude/history.jsonl`, where Claude Code keeps the prompts after it has deleted the transcripts. A session whose
 * transcript is still beside it, or was imported before, is left out. Older lines do not name their session; those of one project
 * make one session.
 */
export const claudeHistory: Importer = {
  name: "claude-history",
  isFollowable: true,

  detect: (head) => headObjects(head).some(isPrompt),

  read: (file) => new HistoryTranslator(file).translate(readJsonLines(file)),
};

function isPrompt({ display, pastedContents, timestamp, project }: JsonObject): boolean {
  const isPlaced = stringOf(project) !== undefined && millisecondsOf(timestamp) !== undefined;
  return stringOf(display) !== undefined && isObject(pastedContents) && isPlaced;
}

class HistoryTranslator extends Translator<JsonLine> {
  readonly #withTranscript = new Set<string>();
  #folder = "";

  protected override read({ value, line }: JsonLine): string | undefined {
    const { display, pastedContents, timestamp, project, sessionId, ...about } = value;
    const folder = stringOf(project);
    if (typeof display !== "string" || folder === undefined) {
      return "expected a prompt: display and project, as strings";
    }
    const id = stringOf(sessionId) ?? `prompts in ${folder}`;
    if (this.#isElsewhere(folder, id)) return;
    const parts: Part[] = [{ type: "text", text: display }];
    for (const pasted of Object.values(objectOf(pastedContents))) parts.push(partOf(objectOf(pasted)));
    const key = derivedId(timestamp, display, pastedContents);
    this.#folder = folder;
    this.open(id).add([messageEntry(line, "user", key, parts, millisecondsOf(timestamp), saidOf(about))]);
  }

  protected override session(externalId: string): SessionFacts {
    return { externalId, source: "claude-history", unlessFrom: "claude-code", folder: this.#folder };
  }

  /** While the file is followed, the transcript of a new session may come later than its first prompt. */
  #isElsewhere(folder: string, id: string): boolean {
    if (this.#withTranscript.has(id)) return true;
    const name = folder.replace(/[^a-zA-Z0-9]/g, "-");
    if (!existsSync(join(dirname(this.file.path), "projects", name, `${id}.jsonl`))) return false;
    this.#withTranscript.add(id);
    return true;
  }
}

/** What was pasted is in the line, or its digest, or it is an image. */
function partOf({ type, content, mediaType, ...about }: JsonObject): Part {
  if (type === "image" && typeof content === "string" && stringOf(mediaType)) {
    return { type: "file", mediaType: mediaType as string, data: content };
  }
  if (typeof content === "string") return { type: "text", text: content };
  return dataPartOf(saidOf({ type, content, mediaType, ...about }));
}
