import { wellFormed } from "../../core/well-formed.ts";
import { type AnyMessage, isContent, partsOf, textOrList } from "../shared/message.ts";
import { asObject, type Fields, isName, ownOf } from "../shared/own.ts";
import { blockOfContent, blockOfPart, blockOfResult } from "./blocks.ts";
import { CACHE_MARKS_MAX, CacheMarks, isMarked } from "./cache-marks.ts";
import type { AnthropicConversation } from "./from.ts";

export interface ToAnthropicOptions {
  /**
   * The model of the request. It gets no thinking of another one, whose signatures it refuses. By default, the model that wrote the
   * newest reply.
   */
  model?: string;
  /** The most prompt cache marks that the messages may have: 4 by default, which is Anthropic's limit for a request with its tools. */
  cacheMarksMax?: number;
}

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
 * Reasoning that Anthropic has not signed, and that of another model, is left out. Of too many cache marks, the newest are kept, and
 * the last one of the system prompt. Data, and files that Anthropic does not take, become text. Ids and names
 * that it refuses are replaced equally in calls and results. Messages without any content left are dropped.
 */
export function toAnthropic(
  messages: readonly AnyMessage[],
  { model = newestModel(messages), cacheMarksMax = CACHE_MARKS_MAX }: ToAnthropicOptions = {},
): AnthropicConversation {
  const system: OpenMessage = { fields: {}, role: "system", blocks: [], isList: false, holdsResults: false };
  const drafts: OpenMessage[] = [];
  for (const message of wellFormed(messages)) {
    const { fields, form } = ownOf(message.metadata, "anthropic");
    const parts = partsOf(message);
    const blocks = blocksOf(message, model);
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
  const marks = new CacheMarks(cacheMarksMax);
  const reserved = system.blocks.some(isMarked) ? 1 : 0;
  for (const draft of drafts.toReversed()) draft.blocks = marks.newestIn(draft.blocks, reserved);
  const request = {
    messages: drafts.map((draft) => ({
      ...draft.fields,
      role: draft.role,
      content: textOrList(draft.blocks, draft.isList),
    })),
  };
  const systemBlocks = marks.newestIn(system.blocks);
  const conversation =
    systemBlocks.length === 0 ? request : { system: textOrList(systemBlocks, system.isList), ...request };
  return conversation as unknown as AnthropicConversation;
}

/** Returns the model that wrote a reply, or undefined if the message does not say so. */
function modelOf(message: AnyMessage): string | undefined {
  const { model } = asObject(ownOf(message.metadata, "anthropic").form.reply);
  return isName(model) ? model : undefined;
}

function newestModel(messages: readonly AnyMessage[]): string | undefined {
  const reply = messages.findLast((message) => modelOf(message) !== undefined);
  return reply && modelOf(reply);
}

/** Returns a model's name without its cloud, its date and its version: `us.anthropic.claude-x-20260101-v1:0` is `claude-x`. */
function familyOf(model: string): string {
  return model.replace(/^.*(?=claude)/, "").replace(/[-@](?:\d{8}|latest|v\d+)\b.*$/, "");
}

function isOfOther(message: AnyMessage, model: string | undefined): boolean {
  const author = modelOf(message);
  return author !== undefined && model !== undefined && familyOf(author) !== familyOf(model);
}

function blocksOf(message: AnyMessage, model: string | undefined): unknown[] {
  const parts = partsOf(message);
  switch (message.role) {
    case "tool":
      return parts.flatMap((part) => (part.type === "tool_result" ? [blockOfResult(part)] : []));
    case "assistant":
      return (isOfOther(message, model) ? parts.filter((part) => part.type !== "reasoning") : parts)
        .map(blockOfPart)
        .filter((block) => block !== undefined);
    default:
      return parts.filter(isContent).map((part) => blockOfContent(part, message.role === "user"));
  }
}
