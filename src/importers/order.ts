import type { Part } from "../core/message.ts";
import type { MessageEntry } from "./entry.ts";

interface OrderedEntries {
  ordered: MessageEntry[];
  /** Messages after a call that has no result yet. The result may still be put before them. */
  waiting: MessageEntry[];
}

/**
 * Returns messages in conversation order: each result directly after its call, and the rest in the order of the file.
 *
 * While a tool runs, agents write a new prompt or notice down at once, but the model gets it after the results. The calls of one
 * reply come one after another, each with its result. Every provider accepts this order, and a file that has grown still begins
 * with the messages it had before.
 */
export function inOrder(given: readonly MessageEntry[]): OrderedEntries {
  const ordered: MessageEntry[] = [];
  let reply: object | undefined;
  let openIds = new Set<string>();
  let meanwhile: MessageEntry[] = [];
  /** Later messages of the reply, each followed by the results that came early. */
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
    // A message may hold results for calls of several messages. Each result then becomes a message.
    const resultIds = resultIdsOf(entry);
    if (resultIds.length > 1 && laterCallOf(resultIds) !== undefined) resultByResult(entry).forEach(add);
    else add(entry);
  }
  return { ordered, waiting: [...later.flat(), ...meanwhile] };
}

/** The first message keeps the id. */
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
