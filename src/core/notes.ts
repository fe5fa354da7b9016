/** The contribution of one message to continuity. Every text is one line, as written. */
export interface Notes {
  /** The files that the message names, each once, and a weight above 0 for how much it does with each. */
  files: readonly { path: string; weight: number }[];
  /** Requests and rules of the user, and decisions and findings. */
  said: readonly { kind: "request" | "rule" | "decision"; text: string }[];
  /** Its calls: the name, the main argument or "", and true if that argument is a command to run. */
  calls: readonly { callId: string; name: string; about: string; isCommand: boolean }[];
  /** Its results: true if the call failed, and the lines that report an error or a count, if there are any. */
  results: readonly { callId: string; failed: boolean; error: string | undefined; outcome: string | undefined }[];
}

/** A message with its notes. */
export interface NotedMessage extends Notes {
  messageId: number;
  seq: number;
  /** A result answers a call of its own step. */
  stepId: number;
}
