import { fromOpenai, type OpenaiMessage } from "../adapters/openai.ts";
import type { JsonValue } from "../core/message.ts";
import { fileNameOf } from "./conversations.ts";
import type { Element } from "./document-scanner.ts";
import { headElements, readObjects } from "./documents.ts";
import { adapted, entriesOf, type MessageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { langchainEntry, plainMessage } from "./langchain.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/**
 * Reads runs as LangSmith exports them: a list, an object with `runs`, or a run on each line. A trace becomes a session. Each run has
 * all messages so far, so a message is known by itself and those before it, and told once.
 */
export const langsmith: Importer = {
  name: "langsmith",

  detect: (head) =>
    headElements(head).some(({ key, value }) => (key === undefined || key === "runs") && isRun(objectOf(value))),

  read: (file) => new LangsmithTranslator(file).translate(readObjects(file, ["runs"])),
};

function isRun({ run_type, id, inputs, trace_id, dotted_order, start_time }: JsonObject): boolean {
  const isOfTrace = stringOf(trace_id) ?? stringOf(dotted_order) ?? stringOf(start_time);
  return stringOf(run_type) !== undefined && stringOf(id) !== undefined && isObject(inputs) && isOfTrace !== undefined;
}

class LangsmithTranslator extends Translator<Element> {
  readonly #runs: { line: number; run: JsonObject }[] = [];
  readonly #facts = new Map<string, SessionFacts>();
  readonly #told = new Set<string>();

  protected override read({ line, value }: Element): string | undefined {
    const { runs } = objectOf(value);
    const listed = Array.isArray(runs) ? objectsOf(runs) : [objectOf(value)];
    if (!listed.every(isRun)) return "expected a run";
    for (const run of listed) this.#runs.push({ line, run });
  }

  /** An export has the newest run first. */
  protected override end(_isQuiet: boolean, isPause: boolean): void {
    if (isPause) return;
    const startOf = (run: JsonObject): number => millisecondsOf(run.start_time) ?? 0;
    for (const { line, run } of this.#runs.sort((one, other) => startOf(one.run) - startOf(other.run))) {
      this.#addRun(run, line);
    }
  }

  #addRun(run: JsonObject, line: number): void {
    const { trace_id, id, session_name, extra, start_time, end_time, outputs } = run;
    const trace = stringOf(trace_id) ?? stringOf(id) ?? fileNameOf(this.file.path);
    const { thread_id, ls_model_name } = objectOf(objectOf(extra).metadata);
    if (!this.#facts.has(trace)) {
      this.#facts.set(trace, {
        externalId: trace,
        source: "langsmith",
        project: stringOf(session_name),
        createdAtMs: millisecondsOf(start_time),
        metadata: saidOf({ thread: thread_id, model: ls_model_name }),
      });
    }
    let past = "";
    const add = (message: JsonValue, time: number | undefined): void => {
      past = derivedId(past, knownBy(objectOf(message)));
      const key = `${trace} ${past}`;
      if (this.#told.has(key)) return;
      this.#told.add(key);
      const said = saidIn(objectOf(message), line, past, time);
      if (typeof said === "string") this.warn(line, said);
      else this.open(trace).add(said);
    };
    for (const message of objectsOf([objectOf(run.inputs).messages ?? []].flat(2)))
      add(message, millisecondsOf(start_time));
    const isHistory = Array.isArray(objectOf(outputs).messages);
    // A graph gives all its messages, and a model only what it said.
    if (isHistory) past = "";
    for (const message of answersIn(objectOf(outputs))) add(message, millisecondsOf(end_time));
  }

  protected override session(name: string): SessionFacts {
    return this.#facts.get(name)!;
  }
}

/** Returns the messages that a run gave: of a graph, of a model, or of an API. */
function answersIn({ messages, generations, choices, output, message }: JsonObject): JsonObject[] {
  if (Array.isArray(messages)) return objectsOf(messages.flat());
  if (Array.isArray(generations)) return objectsOf(generations.flat()).map((one) => objectOf(one.message));
  if (Array.isArray(choices)) return objectsOf(choices).map((one) => objectOf(one.message));
  return objectsOf([output ?? message ?? []].flat());
}

/** Returns what is the same of a message wherever it stands. */
function knownBy(message: JsonObject): JsonValue {
  const { type, role, content, tool_calls, tool_call_id } = plainMessage(message) ?? message;
  return [
    type ?? role ?? null,
    content ?? null,
    objectsOf(tool_calls).map(({ id }) => id ?? null),
    tool_call_id ?? null,
  ];
}

function saidIn(message: JsonObject, line: number, id: string, time: number | undefined): MessageEntry[] | string {
  const plain = plainMessage(message);
  if (plain !== undefined) return [langchainEntry(line, id, plain, time)];
  const said = adapted(() => fromOpenai(message as unknown as OpenaiMessage));
  return typeof said === "string" ? said : entriesOf(said, line, id, time);
}
