/** The texts of one message that continuity may quote. Each is one line, as written. */
export interface Notes {
  /** The files that the message names, each once. The weight, above 0, says how much it does with each. */
  files: readonly { path: string; weight: number }[];
  said: readonly { kind: "request" | "rule" | "decision"; text: string }[];
  /** `about` is the main argument, or "". `isCommand` is true if that argument is a command to run. */
  calls: readonly { callId: string; name: string; about: string; isCommand: boolean }[];
  /** `error` and `outcome` are the lines that report an error or a count. */
  results: readonly { callId: string; failed: boolean; error: string | undefined; outcome: string | undefined }[];
}

export interface NotedMessage extends Notes {
  messageId: number;
  seq: number;
  stepId: number;
}
