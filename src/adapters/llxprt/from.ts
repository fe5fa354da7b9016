import type { Part } from "../../core/message.ts";
import { type Fields, isObject, keepInMetadata } from "../shared/own.ts";
import { type AdaptedMessage, refuse } from "../shared/speech.ts";
import { contentOfBlock, partOfBlock, resultOfBlock } from "./blocks.ts";
import type { LlxprtContent, LlxprtConversation } from "./content.ts";

/**
 * Contents of llxprt-code as ours: what the model says is a message; answers of tools are one, and what stands beside them
 * is another. Whatever we have no place for is kept under `llxprt`, in a part or in `metadata`, and `toLlxprt` puts it
 * back; a content's time is the message's, too.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for a speaker that there is not, and for blocks that are no list.
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
  if (!Array.isArray(blocks)) refuse(`${path}.blocks`, "it is no list");
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

/** Answers, and what is none, apart. */
function runsOf(blocks: readonly unknown[], roleOfNone: "tool" | "user"): AdaptedMessage[] {
  const runs: { role: "tool" | "user"; parts: Part[] }[] = [];
  for (const block of blocks) {
    const result = resultOfBlock(block);
    const part: Part = result ?? contentOfBlock(block);
    const role = result === undefined ? "user" : "tool";
    const last = runs.at(-1);
    if (last?.role === role) last.parts.push(part);
    else runs.push({ role, parts: [part] });
  }
  return runs.length > 0 ? runs : [{ role: roleOfNone, parts: [] }];
}

function timeOf(metadata: unknown): { createdAt?: number } {
  const timestamp = isObject(metadata) ? metadata.timestamp : undefined;
  return Number.isSafeInteger(timestamp) ? { createdAt: timestamp as number } : {};
}
