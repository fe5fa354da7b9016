// Public API. A name added here is supported until the next major version.
export type { HubExpandOptions, HubExpansion } from "./expand.ts";
export {
  type Hub,
  type HubSession,
  type KeepReport,
  openHub,
  type PushOptions,
  type PushProgress,
  type PushReport,
} from "./hub.ts";
export type { PulledSession, PullOptions } from "./pull.ts";
export type { HubHit, HubRecallOptions } from "./recall.ts";
