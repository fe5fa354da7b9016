// Public API. A name added here is supported until the next major version.
export type { EverywhereHit, EverywhereOptions } from "./everywhere.ts";
export { type Hub, type HubSession, openHub, type PushOptions, type PushProgress, type PushReport } from "./hub.ts";
export type { PulledSession, PullOptions } from "./pull.ts";
export { follow, followedOf, unfollow } from "./remote.ts";
export type { SyncProgress, SyncReport } from "./sync.ts";
