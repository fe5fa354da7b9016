import type { Part } from "../../core/message.ts";
import { type AdaptedMessage, refuse } from "../shared/message.ts";
import { type Fields, isObject, keepInMetadata } from "../shared/own.ts";
import { contentOfBlock, partOfBlock, resultOfBlock } from "./blocks.ts";
import type { LlxprtContent, LlxprtConversation } from "./content.ts";

/**
 * Converts contents of llxprt-code. A model content becomes one message. In any other content, tool responses become one
 * message and the other blocks another. Fields that we do not know are kept under `llxprt` in the part or in `metadata`,
 * and `toLlxprt` restores them. A content's timestamp is also the time of its messages.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown speaker, and for blocks that are not an array.
 */
export function fromLlxprt(contents: LlxprtContent | readonly LlxprtContent[] | LlxprtConversation): AdaptedMessage[] {
  const { systemInstruction, contents: said } =
    "contents" in contents ? contents : { systemInstruction: undefined, contents: [contents].flat() };
  const system: AdaptedMessage[] =
    systemInstruction === undefined ? [] : [{ role: "system", parts: [{ type: "text", text: systemInstruction }] }];
  return [...system, ...said.flatMap((content, index) => messagesOf(content, `contents[${index}]`))];
}

function messagesOf(content: LlxprtContent, path: string): AdaptedMessage[] {
  const { speaker, blocks, ...fields } = content as unknown as Fields;
  if (!Array.isArray(blocks)) refuse(`${path}.blocks`, "it is not a list");
  const createdAt = timeOf(fields.metadata);
  switch (speaker) {
    case "ai":
      return [{ role: "assistant", parts: blocks.map(partOfBlock), ...createdAt, ...keepInMetadata("llxprt", fields) }];
    case "human":
    case "tool":
      return runsOf(blocks, speaker === "tool" ? "tool" : "user").map((run, index) => {
        const isOther = (run.role === "tool") !== (speaker === "tool");
        const form = index > 0 ? { joined: true } : { speaker: isOther ? speaker : undefined };
        return { ...run, ...createdAt, ...keepInMetadata("llxprt", index === 0 ? fields : {}, form) };
      });
    default:
      return refuse(`${path}.speaker`, `llxprt-code has no speaker ${JSON.stringify(speaker)}`);
  }
}

/** Splits blocks into runs of tool responses and runs of other blocks. */
function runsOf(blocks: readonly unknown[], roleIfEmpty: "tool" | "user"): AdaptedMessage[] {
  const runs: { role: "tool" | "user"; parts: Part[] }[] = [];
  for (const block of blocks) {
    const result = resultOfBlock(block);
    const part: Part = result ?? contentOfBlock(block);
    const role = result === undefined ? "user" : "tool";
    const last = runs.at(-1);
    if (last?.role === role) last.parts.push(part);
    else runs.push({ role, parts: [part] });
  }
  return runs.length > 0 ? runs : [{ role: roleIfEmpty, parts: [] }];
}

function timeOf(metadata: unknown): { createdAt?: number } {
  const timestamp = isObject(metadata) ? metadata.timestamp : undefined;
  return Number.isSafeInteger(timestamp) ? { createdAt: timestamp as number } : {};
}
