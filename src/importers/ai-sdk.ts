import { fromUiMessages } from "../adapters/ai-sdk.ts";
import type { Role } from "../core/message.ts";
import { modernMessage } from "./ai-sdk-4.ts";
import { itemsOf, type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { adapted, type MessageEntry, messageEntry, resultEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { objectOf, objectsOf, stringOf } from "./values.ts";

type UiMessages = Parameters<typeof fromUiMessages>[0];

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant"] satisfies Role[]);

/**
 * Reads `UIMessage`s of Vercel's AI SDK, versions 4 to 6: a list, an object with such a list in `messages`, or either on each
 * line. A message of the assistant holds a whole turn. Each model call of the turn becomes one or more messages.
 */
export const aiSdk: Importer = {
  name: "ai-sdk",

  detect(head) {
    for (const { key, value } of headElements(head)) {
      const { session, role, parts, toolInvocations } = objectOf(messageOf(key, value));
      if (session !== undefined || !ROLES.has(role)) continue;
      if (Array.isArray(toolInvocations)) return true;
      if (Array.isArray(parts) && parts.some((part) => isObject(part) && stringOf(part.type))) return true;
    }
    return false;
  },

  read: (file) => readConversations(file, { name: "ai-sdk", messageOf, isOpen, entriesOf }),
};

const messageOf = itemsOf(undefined, "messages");

/** A message that was saved while the model was still answering will change. */
function isOpen(message: JsonObject): boolean {
  const states = objectsOf(modernMessage(message).parts).map(({ state }) => state);
  return states.some((state) => state === "streaming" || state === "input-streaming");
}

/** Each result has its own id, because a turn may be read before all of its calls have results. */
function entriesOf({ line, id, value }: ListedMessage): MessageEntry[] | string {
  const messages = adapted(() => fromUiMessages(modernMessage(value) as unknown as UiMessages));
  if (typeof messages === "string") return messages;
  const createdAt = timeOf({ ...objectOf(value.metadata), ...value });
  let stepId = id;
  let stepCount = 0;
  return messages.flatMap(({ role, parts, metadata }) => {
    if (role === "tool") return parts.map((part) => resultEntry(line, stepId, part, createdAt));
    stepId = stepCount === 0 ? id : `${id}/${stepCount}`;
    stepCount += 1;
    return [messageEntry(line, role, stepId, parts, createdAt, metadata)];
  });
}
