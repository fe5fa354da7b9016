import { type Fields, ownOf } from "../shared/own.ts";
import { CallNames, isContent, partsOf, type Speech, standInFor } from "../shared/speech.ts";
import { blockOfPart, blockOfResult } from "./blocks.ts";
import type { LlxprtConversation } from "./content.ts";

/** A content that is being written. */
interface Draft {
  fields: Fields;
  speaker: unknown;
  blocks: unknown[];
}

/**
 * Our messages, those of a rendered context above all, as contents for the history of llxprt-code: one for each. Words
 * stand for data, and for files in results; what the system says is one text, as the history has no place for it.
 */
export function toLlxprt(messages: readonly Speech[]): LlxprtConversation {
  const system: string[] = [];
  const drafts: Draft[] = [];
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
