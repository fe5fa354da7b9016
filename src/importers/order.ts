import type { Part } from "../core/message.ts";
import type { MessageEntry } from "./entry.ts";

interface OrderedEntries {
  ordered: MessageEntry[];
  /** Messages after a call without a result: pieces of the same reply, and what was said meanwhile. The result may come before them. */
  waiting: MessageEntry[];
}

/**
 * Returns messages in conversation order: in the order of the file, with results moved to their calls.
 *
 * Agents write down at once what arrives while a tool runs, such as a prompt or a notice, but it reaches the model after the
 * results. Calls of one reply run side by side; here each comes after the result of the one before. Every provider accepts
 * that order, and the messages of a file that has grown begin with those it had before.
 */
export function inOrder(given: readonly MessageEntry[]): OrderedEntries {
  const ordered: MessageEntry[] = [];
  let reply: object | undefined;
  let openIds = new Set<string>();
  let meanwhile: MessageEntry[] = [];
  /** Further pieces of the reply, each with the results that came early. */
  let later: [MessageEntry, ...MessageEntry[]][] = [];

  function addReply(entry: MessageEntry): void {
    ordered.push(entry);
    openIds = new Set(callIdsOf(entry.message.parts));
  }
  function addResult(entry: MessageEntry): void {
    ordered.push(entry);
    for (const id of resultIdsOf(entry)) openIds.delete(id);
  }
  function endReply(): void {
    ordered.push(...later.flat(), ...meanwhile);
    later = [];
    meanwhile = [];
  }
  function addLater(): void {
    for (let next = later[0]; openIds.size === 0 && next !== undefined; next = later[0]) {
      const [piece, ...results] = next;
      later.shift();
      addReply(piece);
      for (const result of results) addResult(result);
    }
    if (openIds.size === 0) endReply();
  }
  function laterCallOf(resultIds: readonly string[]) {
    return later.find(([call]) => callIdsOf(call.message.parts).some((id) => resultIds.includes(id)));
  }
  function add(entry: MessageEntry): void {
    if (entry.reply !== undefined && entry.reply === reply && openIds.size > 0) {
      later.push([entry]);
      return;
    }
    if (entry.reply !== undefined) {
      endReply();
      reply = entry.reply;
      addReply(entry);
      return;
    }
    const resultIds = resultIdsOf(entry);
    if (resultIds.some((id) => openIds.has(id))) addResult(entry);
    else (laterCallOf(resultIds) ?? meanwhile).push(entry);
    addLater();
  }
  for (const entry of given) {
    // Results that came in one message are separated if they answer several pieces of the reply.
    const resultIds = resultIdsOf(entry);
    if (resultIds.length > 1 && laterCallOf(resultIds) !== undefined) resultByResult(entry).forEach(add);
    else add(entry);
  }
  return { ordered, waiting: [...later.flat(), ...meanwhile] };
}

/** Returns a message for each result, with the parts that follow it. The first keeps the id. */
function resultByResult({ line, message }: MessageEntry): MessageEntry[] {
  const groups: Part[][] = [];
  for (const part of message.parts) {
    const group = groups.at(-1);
    const isNext = part.type === "tool_result" && group?.some(({ type }) => type === "tool_result");
    if (group === undefined || isNext) groups.push([part]);
    else group.push(part);
  }
  return groups.map((parts, index) => {
    const id = index === 0 ? message.id : `${message.id}/${index}`;
    return { line, message: { ...message, id, parts } };
  });
}

function resultIdsOf({ message }: MessageEntry): string[] {
  return message.parts.flatMap((part) => (part.type === "tool_result" ? [part.toolCallId] : []));
}

export function callIdsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
}
