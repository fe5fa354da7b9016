import { wellFormed } from "../../core/well-formed.ts";
import { type AnyMessage, isContent, partsOf, textOrList } from "../shared/message.ts";
import { type Fields, ownOf } from "../shared/own.ts";
import { blockOfContent, blockOfPart, blockOfResult } from "./blocks.ts";
import type { AnthropicConversation } from "./from.ts";

interface OpenMessage {
  fields: Fields;
  role: unknown;
  blocks: unknown[];
  isList: boolean;
  /** True if its last blocks are results. */
  holdsResults: boolean;
}

/**
 * Converts our messages, usually those of a rendered context, to `system` and `messages` of a Messages API request.
 * Consecutive tool messages become one user message, as Anthropic requires. All other messages convert one to one.
 *
 * Reasoning that Anthropic has not signed is left out. Data, and files that Anthropic does not take, become text. Ids and names
 * that it refuses are replaced equally in calls and results. Messages without any content left are dropped.
 */
export function toAnthropic(messages: readonly AnyMessage[]): AnthropicConversation {
  const system: OpenMessage = { fields: {}, role: "system", blocks: [], isList: false, holdsResults: false };
  const drafts: OpenMessage[] = [];
  for (const message of wellFormed(messages)) {
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

function blocksOf(message: AnyMessage): unknown[] {
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
