/** An event of a watch. */
export type WatchEvent =
  /** New messages of a file are in the store. */
  | { event: "imported"; path: string; format: string | null; sessionIds: readonly string[]; newCount: number }
  /** Something in a file did not become a message. Without a line, the warning is about the whole file. */
  | { event: "warning"; path: string; line: number | null; reason: string }
  /** Everything that existed at the start is in the store. */
  | { event: "caught_up"; fileCount: number; newCount: number }
  /** The store or its embedder accepts nothing at the moment. Nothing is lost. */
  | { event: "waiting"; code: string; reason: string; retryInMs: number }
  /** The system watches no more folders. All folders are scanned regularly instead. */
  | { event: "polling"; reason: string; everyMs: number };
