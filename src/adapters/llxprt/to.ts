import { type AnyMessage, CallNames, isContent, partsOf, standInFor } from "../shared/message.ts";
import { type Fields, ownOf } from "../shared/own.ts";
import { blockOfPart, blockOfResult } from "./blocks.ts";
import type { LlxprtConversation } from "./content.ts";

/** A content that later messages may extend. */
interface OpenContent {
  fields: Fields;
  speaker: unknown;
  blocks: unknown[];
}

/**
 * Converts our messages, usually those of a rendered context, to contents for the history of llxprt-code, one to one.
 * Data becomes text, and so do files in results. System messages become one text beside the history.
 */
export function toLlxprt(messages: readonly AnyMessage[]): LlxprtConversation {
  const system: string[] = [];
  const drafts: OpenContent[] = [];
  const names = new CallNames();
  for (const message of messages) {
    const { fields, form } = ownOf(message.metadata, "llxprt");
    const parts = partsOf(message);
    names.learn(parts);
    if (message.role === "system") {
      const said = parts.filter(isContent);
      system.push(...said.map((part) => (part.type === "text" ? part.text : standInFor(part))));
      continue;
    }
    const blocks = parts.flatMap((part) =>
      part.type === "tool_result" ? [blockOfResult(part, names.nameFor(part))] : [blockOfPart(part)],
    );
    const last = drafts.at(-1);
    if (form.joined === true && message.role !== "assistant" && last !== undefined && last.speaker !== "ai") {
      last.blocks.push(...blocks);
    } else drafts.push({ fields, speaker: form.speaker ?? SPEAKERS[message.role], blocks });
  }
  const contents = drafts.map(({ fields, speaker, blocks }) => ({ ...fields, speaker, blocks }));
  const conversation = system.length === 0 ? { contents } : { systemInstruction: system.join("\n\n"), contents };
  return conversation as unknown as LlxprtConversation;
}

const SPEAKERS = { user: "human", assistant: "ai", tool: "tool" } as const;
