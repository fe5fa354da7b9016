import { State } from "@google/adk";
import { setOwn } from "../../core/json.ts";
import type { Store } from "../../session/store.ts";
import { type SessionKey, storeSessionIdOf } from "./keys.ts";

/** State of an app, of a user and of a session. Each key is an item, so that writers of different keys do not disturb each other. */
export type StateValues = Record<string, unknown>;

/** Stores the keys of a delta in their scopes. Keys that begin with `temp:` are not stored. */
export function putState(store: Store, key: SessionKey, delta: StateValues): void {
  const session = storeSessionIdOf(key);
  for (const [name, value] of Object.entries(delta)) {
    // A key without a value is not in JSON either.
    const json = JSON.stringify(value);
    if (json === undefined || name.startsWith(State.TEMP_PREFIX)) continue;
    const scope = scopeOf(key, name);
    const options = scope.prefix === "" ? { session } : {};
    store.items.put(scope.namespace, name.slice(scope.prefix.length), JSON.parse(json), options);
  }
}

/** Returns the state that a session sees: its own, the user's and the app's. It has no prototype, because any key is data. */
export function readState(store: Store, key: SessionKey): StateValues {
  const state = Object.create(null);
  for (const { prefix, namespace } of scopesOf(key)) {
    for (const { key: name, value } of store.items.list(namespace)) setOwn(state, `${prefix}${name}`, value);
  }
  return state;
}

interface Scope {
  prefix: string;
  namespace: string[];
}

function scopesOf({ appName, userId, sessionId }: SessionKey): [session: Scope, user: Scope, app: Scope] {
  return [
    { prefix: "", namespace: ["adk", "session-state", appName, userId, sessionId] },
    { prefix: State.USER_PREFIX, namespace: ["adk", "user-state", appName, userId] },
    { prefix: State.APP_PREFIX, namespace: ["adk", "app-state", appName] },
  ];
}

function scopeOf(key: SessionKey, name: string): Scope {
  const [session, ...others] = scopesOf(key);
  return others.find(({ prefix }) => name.startsWith(prefix)) ?? session;
}
