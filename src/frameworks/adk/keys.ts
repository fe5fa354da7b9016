import { hash } from "node:crypto";
import { ID_CHARS_MAX } from "../../core/limits.ts";

/** Names a session of ADK, whose id is unique only for an app and a user. */
export interface SessionKey {
  appName: string;
  userId: string;
  sessionId: string;
}

/** Returns the id of the store's session. It can be read if the names are short and have only letters, digits and `-_.~`. */
export function storeSessionIdOf({ appName, userId, sessionId }: SessionKey): string {
  const names = [appName, userId, sessionId];
  if (!names.every((name) => name.isWellFormed())) return hashed(names);
  const id = `adk:${names.map(encodeURIComponent).join("/")}`;
  return id.length <= ID_CHARS_MAX ? id : hashed(names);
}

function hashed(names: readonly string[]): string {
  return `adk:${hash("sha256", JSON.stringify(names), "hex")}`;
}
