import type { JsonValue, Part } from "../../core/message.ts";
import { derivedId } from "../derived-id.ts";
import { type Draft, draftOf } from "../draft.ts";
import { dataPartOf, filePartOf, resultTextOf } from "../file-parts.ts";
import type { JsonObject } from "../lines.ts";
import { millisecondsOf, objectOf, objectsOf, stringOf } from "../values.ts";
import { eventsOfCompleted } from "./completed.ts";

/** Events that tell how a call ended. */
const CALL_ENDS: ReadonlySet<unknown> = new Set([
  "exec_command_end",
  "mcp_tool_call_end",
  "patch_apply_end",
  "tool_call_end",
]);

/** Something an event told that should stand in an item, too. */
interface Untold {
  line: number;
  timestamp: string | undefined;
  event: JsonObject;
  words: string | undefined;
  callId: string | undefined;
}

/**
 * Events that repeat what stands in items: what was said, and how a call ended. They are held until their turn is over;
 * those whose words or whose call no item had by then are all there is of them, and become messages.
 */
export class ToldEvents {
  readonly #words = new Set<string>();
  readonly #callIds = new Set<string>();
  #pending: Untold[] = [];

  /** Take note of what an item says. */
  seeWords(words: readonly string[]): void {
    // Events give the texts of a message as one.
    const whole = words.length > 1 ? [words.join("")] : [];
    for (const text of [...words, ...whole])
      for (const paragraph of [text, ...text.split("\n\n")]) this.#words.add(digestOf(paragraph));
  }

  hasWords(text: string): boolean {
    return this.#words.has(digestOf(text));
  }

  seeCall(callId: string): void {
    this.#callIds.add(callId);
  }

  /** @returns Whether the event is one that repeats an item. */
  see(event: JsonObject, timestamp: string | undefined, line: number): boolean {
    if (event.type === "item_completed") {
      const told = eventsOfCompleted(objectOf(event.item));
      for (const one of told ?? []) this.see(one, timestamp, line);
      return told !== undefined;
    }
    const words = wordsIn(event);
    const callId = CALL_ENDS.has(event.type) ? stringOf(event.call_id) : undefined;
    if (words === undefined && callId === undefined) return false;
    this.#pending.push({ line, timestamp, event, words, callId });
    return true;
  }

  /** The turn is over: what stands in no item. */
  settle(): Draft[] {
    const untold = this.#takeUntold();
    this.seeWords(untold.flatMap(({ words }) => words ?? []));
    return untold.flatMap(draftsOf);
  }

  /** The file is at its end, and the turn may not be: lines of events whose items may be about to come. */
  unsettled(): { line: number; type: string }[] {
    return this.#takeUntold().map(({ line, event }) => ({ line, type: String(event.type) }));
  }

  #takeUntold(): Untold[] {
    const untold = this.#pending.filter(({ words, callId }) =>
      callId === undefined ? !this.hasWords(words!) : !this.#callIds.has(callId),
    );
    this.#pending = [];
    return untold;
  }
}

function digestOf(words: string): string {
  return derivedId(words.trim());
}

function wordsIn(event: JsonObject): string | undefined {
  switch (event.type) {
    case "user_message":
    case "agent_message":
      return stringOf(event.message);
    case "agent_reasoning":
    case "agent_reasoning_raw_content":
      return stringOf(event.text);
    case "exited_review_mode": {
      const { overall_explanation } = objectOf(event.review_output);
      return stringOf(overall_explanation);
    }
    default:
      return undefined;
  }
}

function draftsOf({ line, timestamp, event, words, callId }: Untold): Draft[] {
  const about = { createdAt: millisecondsOf(timestamp), metadata: { type: event.type as JsonValue } };
  const id = ["event", timestamp ?? null, event];
  if (callId !== undefined) {
    const { type, call_id: _, stdout, stderr, aggregated_output, result, ...rest } = event;
    const name = stringOf(rest.tool) ?? String(type).replace(/_end$/, "");
    const outputs = [aggregated_output ?? null, stdout ?? null, stderr ?? null, result ?? null];
    const content = resultTextOf(outputs.find((output) => output !== null && output !== "") ?? "");
    const answer: Part = { type: "tool_result", toolCallId: callId, content };
    const isFailed = rest.success === false || (typeof rest.exit_code === "number" && rest.exit_code !== 0);
    if (isFailed) answer.isError = true;
    const call: Part = { type: "tool_call", toolCallId: callId, name, args: rest };
    return [
      draftOf(line, "assistant", `event:${callId}`, [call], about),
      draftOf(line, "tool", `event:${callId}:result`, [answer], about),
    ];
  }
  if (event.type === "user_message") {
    return [draftOf(line, "user", id, [{ type: "text", text: words! }, ...attachedTo(event)], about)];
  }
  const isThought = event.type === "agent_reasoning" || event.type === "agent_reasoning_raw_content";
  return [draftOf(line, "assistant", id, [{ type: isThought ? "reasoning" : "text", text: words! }], about)];
}

/** What a prompt had with it: images, whole or as a path, and whatever else the user named. */
function attachedTo({ images, local_images: paths, others }: JsonObject): Part[] {
  const files = (Array.isArray(images) ? images : []).map((image) =>
    typeof image === "string" ? filePartOf(image, "image/*") : dataPartOf(image),
  );
  const local = (Array.isArray(paths) ? paths : []).map((path) => dataPartOf({ type: "local_image", path }));
  return [...files, ...local, ...objectsOf(others).map(dataPartOf)];
}
