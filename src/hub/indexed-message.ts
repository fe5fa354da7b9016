import type { Part } from "../core/message.ts";
import { ROLES } from "../core/message-words.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import type { IndexChange } from "./segment.ts";

/** What the index needs of a message of a store. */
interface StoredMessage {
  id: number;
  seq: number;
  role: string;
  name: string | null;
  /** JSON. */
  parts: string;
  text: string;
  tokenCount: number;
  createdAtMs: number;
}

/** Returns a message as a push adds it to the index. Its words are those that its store has in its own index. */
export function indexedMessage(sessionNo: number, message: StoredMessage): IndexChange["added"][number] {
  const { id: messageId, seq, role, name, text, tokenCount, createdAtMs } = message;
  return {
    ...{ sessionNo, messageId, seq, name, tokenCount, createdAtMs },
    role: ROLES.indexOf(role as (typeof ROLES)[number]),
    isCall: role === "assistant" && isCall(message.parts),
    stems: searchWords(name === null ? text : `${name}\n${text}`).map(searchStem),
  };
}

/** Returns true for tool calls without a text. Parts are only parsed if one may be a text. */
function isCall(parts: string): boolean {
  if (!parts.includes('"type":"tool_call"')) return false;
  return !parts.includes('"type":"text"') || !(JSON.parse(parts) as Part[]).some(({ type }) => type === "text");
}
