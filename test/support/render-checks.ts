import type { ContextMessage, RenderResult } from "../../src/context/result.ts";
import type { Part } from "../../src/core/message.ts";
import { messageTokens } from "../../src/core/tokens.ts";
import { quarterCounter, type SessionModel } from "./render-model.ts";

/** What a context costs, counted from its messages alone: stored parts by the stored count, everything else by its text. */
export function tokensOfContext(messages: readonly ContextMessage[], model: SessionModel): number {
  const stored = new Map<Part[], number>(model.messages.map((message) => [message.parts, message.tokenCount]));
  return messages.reduce(
    (sum, message) => sum + (stored.get(message.parts) ?? messageTokens(message, quarterCounter)),
    0,
  );
}

/**
 * Lets every entry claim, in order, what its id, handle or range names and nobody has claimed, with sets.
 *
 * @returns one line for each entry whose count is not that of its claim, and one for messages that nobody claims.
 */
export function partitionFaults({ sources, omitted }: RenderResult, model: SessionModel): string[] {
  const unclaimed = new Set(model.messages.map((message) => message.id));
  const faults: string[] = [];
  for (const entry of [...sources, ...omitted]) {
    const named =
      "messageId" in entry
        ? [entry.messageId]
        : "handle" in entry
          ? model.members.get(entry.handle)!
          : model.messages.slice(entry.seqFirst, entry.seqLast + 1).map((message) => message.id);
    let count = 0;
    for (const id of named) if (unclaimed.delete(id)) count++;
    if (count !== entry.messageCount) faults.push(`${JSON.stringify(entry)} claims ${count}`);
  }
  if (unclaimed.size > 0) faults.push(`unclaimed: ${[...unclaimed].join(", ")}`);
  return faults;
}

/**
 * What a provider would refuse: a call that is not answered right after it, a result without its call.
 *
 * @param openAtEnd  Whether the last calls may still be waiting for results.
 */
export function pairFaults(messages: readonly ContextMessage[], openAtEnd: boolean): string[] {
  const faults: string[] = [];
  let waiting: string[] = [];
  messages.forEach((message, index) => {
    if (message.role !== "tool") {
      if (waiting.length > 0) faults.push(`message ${index} comes before ${waiting.join(", ")} are answered`);
      waiting = message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
      return;
    }
    if (message.parts.length === 0) faults.push(`message ${index} is a tool message without a result`);
    for (const part of message.parts) {
      const place = part.type === "tool_result" ? waiting.indexOf(part.toolCallId) : -1;
      if (place === -1) faults.push(`message ${index} answers nothing`);
      else waiting.splice(place, 1);
    }
  });
  if (waiting.length > 0 && !openAtEnd) faults.push(`${waiting.join(", ")} are never answered`);
  return faults;
}

/** An element of the memory block as a reader finds it; text between elements is kept decoded. */
export interface ParsedElement {
  name: string;
  attributes: Record<string, string>;
  text: string;
  children: ParsedElement[];
}

/** A parser for the block's little language. Throws at the first thing that is not well-formed. */
export function parseBlock(text: string): ParsedElement[] {
  const root: ParsedElement = { name: "", attributes: {}, text: "", children: [] };
  const stack = [root];
  const pattern = /<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")*)(\/?)>|[^<>]+|[<>]/gu;
  for (const [token, closes, name, attributes, empty] of text.matchAll(pattern)) {
    const open = stack.at(-1)!;
    if (name === undefined) {
      if (token === "<" || token === ">") throw new Error(`A bare ${token} in ${open.name}`);
      open.text += decode(token);
    } else if (closes === "/") {
      if (stack.pop()!.name !== name) throw new Error(`</${name}> closes ${open.name}`);
    } else {
      const pairs = [...attributes!.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, key, value]) => [key!, decode(value!)]);
      const element = { name, attributes: Object.fromEntries(pairs), text: "", children: [] };
      open.children.push(element);
      if (empty === "") stack.push(element);
    }
  }
  if (stack.length !== 1) throw new Error(`${stack.at(-1)!.name} is never closed`);
  return root.children;
}

function decode(text: string): string {
  if (/&(?!(amp|lt|gt|quot);)/.test(text)) throw new Error(`A bare & in ${text}`);
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}

export function allElements(elements: readonly ParsedElement[]): ParsedElement[] {
  return elements.flatMap((element) => [element, ...allElements(element.children)]);
}
