/** The texts of one message that continuity may quote. Each is one line, in the words of the message. */
export interface Notes {
  /** The files that the message names, each once. A file has a higher weight if the message does more with it. */
  files: readonly { path: string; weight: number }[];
  said: readonly { kind: "request" | "rule" | "decision"; text: string }[];
  /** `about` is the main argument of the call, or "". `isCommand` is true if that argument is a command to run. */
  calls: readonly { callId: string; name: string; about: string; isCommand: boolean }[];
  /** `error` is the line that reports an error, and `outcome` the line that reports a count. */
  results: readonly { callId: string; failed: boolean; error: string | undefined; outcome: string | undefined }[];
}

export interface NotedMessage extends Notes {
  messageId: number;
  seq: number;
  stepId: number;
}
