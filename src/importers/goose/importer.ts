import { databaseImporter } from "../database-reader.ts";
import type { Element } from "../document-scanner.ts";
import { headElements, readElements } from "../documents.ts";
import type { ImportEvent, Importer, ImportFile } from "../importer.ts";
import type { DamagedLine, JsonObject } from "../lines.ts";
import { objectOf, objectsOf, stringOf } from "../values.ts";
import { type GooseMessage, GooseTranslator } from "./session.ts";

const CALL_TYPES: ReadonlySet<unknown> = new Set(["toolRequest", "toolResponse"]);

/**
 * Reads the database of Goose, `~/.local/share/goose/sessions/sessions.db`, with all of its sessions; or one session as
 * `goose session export --format json` writes it, or as older versions kept it beside the database, as `.jsonl`. In warnings about a
 * database, the line is the row id.
 */
export const goose: Importer = {
  ...databaseImporter("goose", readText),

  detect(head) {
    let isDescribed = false;
    for (const element of headElements(head)) {
      const { key, value } = element;
      isDescribed ||= key === "working_dir" || stringOf(objectOf(value).working_dir) !== undefined;
      if (isMessage(element) && isOfGoose(objectOf(value), isDescribed || key !== undefined)) return true;
    }
    return false;
  },
};

function readText(file: ImportFile): AsyncIterable<ImportEvent> {
  const header: JsonObject = {};
  return new GooseTranslator(file, header).translate(messagesIn(file, header));
}

function isMessage({ key, value }: Element): boolean {
  return key === "conversation" || (key === undefined && objectOf(value).role !== undefined);
}

/** Tells a message of Goose from one of OpenAI that has a time: by what describes its session, or by a call in it. */
function isOfGoose({ role, created, content }: JsonObject, isDescribed: boolean): boolean {
  if ((role !== "user" && role !== "assistant") || typeof created !== "number") return false;
  return objectsOf(content).some(({ type }) => (isDescribed ? typeof type === "string" : CALL_TYPES.has(type)));
}

/** Adds what the file tells about its session to `header`, which comes first. */
async function* messagesIn(file: ImportFile, header: JsonObject): AsyncGenerator<GooseMessage | DamagedLine> {
  for await (const element of readElements(file)) {
    if ("problem" in element) yield element;
    else if (isMessage(element)) yield { line: element.line, value: objectOf(element.value) };
    else Object.assign(header, element.key === undefined ? element.value : { [element.key]: element.value });
  }
}
