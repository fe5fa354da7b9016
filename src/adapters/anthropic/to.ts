import { type Fields, ownOf } from "../shared/own.ts";
import { textOrList } from "../shared/plain-text.ts";
import { isContent, partsOf, type Speech } from "../shared/speech.ts";
import { blockOfContent, blockOfPart, blockOfResult } from "./blocks.ts";
import type { AnthropicConversation } from "./from.ts";

/** A message of the request that is being written. */
interface Draft {
  fields: Fields;
  role: unknown;
  blocks: unknown[];
  isList: boolean;
  /** Whether it ends with results. */
  holdsResults: boolean;
}

/**
 * Our messages, those of a rendered context above all, as `system` and `messages` of a Messages request. Results of tool
 * messages that follow each other stand in one message of the user, as Anthropic wants them; otherwise one message of ours
 * is one of theirs. Neighbors of one role stay apart, since the service joins them itself.
 *
 * Thoughts that Anthropic has not signed are left out; words stand for files that it does not take, and for data. Ids and
 * names with characters that it refuses become others, and results with them. A message of which nothing is left is left
 * out.
 */
export function toAnthropic(messages: readonly Speech[]): AnthropicConversation {
  const system: Draft = { fields: {}, role: "system", blocks: [], isList: false, holdsResults: false };
  const drafts: Draft[] = [];
  for (const message of messages) {
    const { fields, form } = ownOf(message.metadata, "anthropic");
    const parts = partsOf(message);
    const blocks = blocksOf(message);
    if (message.role === "system" && form.place !== "messages") {
      system.blocks.push(...blocks);
      system.isList ||= form.content === "list";
      continue;
    }
    const holdsResults = message.role === "tool";
    const last = drafts.at(-1);
    const isJoined = form.joined ?? (holdsResults && last?.holdsResults === true);
    if (isJoined === true && last?.role === "user" && message.role !== "assistant") {
      last.blocks.push(...blocks);
      last.holdsResults = holdsResults;
    } else if (blocks.length > 0 || parts.length === 0) {
      const role = holdsResults ? "user" : message.role;
      drafts.push({ fields, role, blocks, isList: form.content === "list", holdsResults });
    }
  }
  const request = {
    messages: drafts.map((draft) => ({
      ...draft.fields,
      role: draft.role,
      content: textOrList(draft.blocks, draft.isList),
    })),
  };
  const conversation =
    system.blocks.length === 0 ? request : { system: textOrList(system.blocks, system.isList), ...request };
  return conversation as unknown as AnthropicConversation;
}

function blocksOf(message: Speech): unknown[] {
  const parts = partsOf(message);
  switch (message.role) {
    case "tool":
      return parts.flatMap((part) => (part.type === "tool_result" ? [blockOfResult(part)] : []));
    case "assistant":
      return parts.map(blockOfPart).filter((block) => block !== undefined);
    default:
      return parts.filter(isContent).map((part) => blockOfContent(part, message.role === "user"));
  }
}
