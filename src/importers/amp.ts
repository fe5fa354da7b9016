import { basename } from "node:path";
import { fromAnthropic } from "../adapters/anthropic.ts";
import type { JsonValue, Part } from "../core/message.ts";
import { fileNameOf } from "./conversations.ts";
import type { Element } from "./document-scanner.ts";
import { fieldsFirst, headElements, readDocument } from "./documents.ts";
import { adapted, entriesOf, type MessageEntry, partKeyOf } from "./entry.ts";
import { resultTextOf } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { notYet } from "./message-event.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, numberOf, objectOf, objectsOf, pathOfAddress, saidOf, stringOf } from "./values.ts";

const ID = /^T-[\w-]+$/;

/** Reads the threads of Amp: `~/.local/share/amp/threads/T-<thread>.json`. Their messages are like Anthropic's. */
export const amp: Importer = {
  name: "amp",

  detect(head) {
    let isNamed = false;
    let hasVersion = false;
    for (const { key, value } of headElements(head)) {
      isNamed ||= key === "id" && ID.test(String(value));
      hasVersion ||= key === "v" && typeof value === "number";
      const { messageId, content } = objectOf(key === "messages" ? value : null);
      const isOfAmp = hasVersion || typeof messageId === "number";
      if (isNamed && isOfAmp && objectsOf(content).length > 0) return true;
    }
    return false;
  },

  read: (file) => new AmpTranslator(file).translate(fieldsFirst(readDocument(file), "messages")),
};

const RUNNING: ReadonlySet<unknown> = new Set(["blocked-on-user", "in-progress", "queued"]);
const FAILED: ReadonlySet<unknown> = new Set(["cancelled", "error", "rejected-by-user"]);

/** Translates messages, which are written anew each time. The user may change one, so each is known by its words and calls. */
class AmpTranslator extends Translator<Element> {
  readonly #about: JsonObject = {};
  #isWaiting = false;

  protected override isTelling({ key }: Element): boolean {
    return key === "messages";
  }

  protected override read({ line, key, value }: Element): MessageEntry[] | string | undefined {
    if (key !== "messages") {
      if (key === undefined) return "expected a field of a thread";
      this.#about[key] = value;
      return;
    }
    if (!isObject(value)) return "expected a message, as an object";
    const { role, content, state, meta, usage, fileMentions } = value;
    const blocks = Array.isArray(content) ? content : [];
    const isRunning = blocks.some((block) => RUNNING.has(objectOf(objectOf(block).run).status));
    this.#isWaiting ||= this.file.isFinished !== true && (isRunning || objectOf(state).type === "streaming");
    if (this.#isWaiting) return notYet("the message is still being written");
    const said = adapted(() =>
      fromAnthropic({ role, content: Array.isArray(content) ? blocks.map(blockOf) : content } as never),
    );
    if (typeof said === "string") return said;
    const mentioned = objectsOf(objectOf(fileMentions).files).map(mentionOf);
    const { model, timestamp } = objectOf(usage);
    const messages = said.map((one) =>
      one.role === "user" ? { ...one, parts: [...injected(mentioned), ...one.parts] } : one,
    );
    const id = derivedId(
      role,
      messages.flatMap(({ parts }) => parts.map(partKeyOf)),
    );
    const time = millisecondsOf(objectOf(meta).sentAt) ?? millisecondsOf(timestamp);
    return entriesOf(messages, line, id, time, saidOf({ model, usage: usageOf(objectOf(usage)) }));
  }

  protected override session(): SessionFacts {
    const { id, title, created, env, agentMode, parentThreadID } = this.#about;
    const name = basename(this.file.path, ".json");
    const [tree] = objectsOf(objectOf(objectOf(env).initial).trees);
    return {
      externalId: stringOf(id) ?? (ID.test(name) ? name : fileNameOf(this.file.path)),
      source: "amp",
      parentExternalId: stringOf(parentThreadID),
      folder: pathOfAddress(stringOf(tree?.uri)),
      title: stringOf(title),
      createdAtMs: millisecondsOf(created),
      metadata: saidOf({ mode: agentMode }),
    };
  }
}

/** Returns a block in the form that Anthropic's has. */
function blockOf(block: JsonValue): JsonValue {
  const { type, toolUseID, run } = objectOf(block);
  if (type !== "tool_result" || run === undefined) return block;
  const { status, result, error, reason } = objectOf(run);
  const { output, exitCode } = objectOf(result);
  const failure = resultTextOf(objectOf(error).message ?? error ?? reason ?? (FAILED.has(status) ? status : null));
  const content = result === undefined ? failure : (stringOf(output) ?? resultTextOf(result));
  const isFailed = FAILED.has(status) || (numberOf(exitCode) ?? 0) !== 0;
  const isTold = isFailed || status === "done" || exitCode === 0;
  return { type, tool_use_id: toolUseID ?? "", content, ...(isTold && { is_error: isFailed }) };
}

function mentionOf({ uri, content }: JsonObject): Part {
  const words = objectOf(content).content ?? content;
  return { type: "text", text: resultTextOf(words), ...saidOf({ path: pathOfAddress(stringOf(uri)) }) };
}

/** Returns the usage under the names that it has in Anthropic's replies. */
function usageOf(usage: JsonObject): JsonObject {
  return saidOf({
    input_tokens: numberOf(usage.inputTokens),
    output_tokens: numberOf(usage.outputTokens),
    cache_read_input_tokens: numberOf(usage.cacheReadInputTokens),
    cache_creation_input_tokens: numberOf(usage.cacheCreationInputTokens),
  });
}
