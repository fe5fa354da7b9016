/** What one message leaves behind for whoever goes on with the work. Every text is one line, as written. */
export interface Notes {
  /** Files it names, each once, and how much it does with each: above 0. */
  files: readonly { path: string; weight: number }[];
  /** What the user asks for and rules out, what was decided or found. */
  said: readonly { kind: "request" | "rule" | "decision"; text: string }[];
  /** What it does: each call's name, its main argument or "", and whether that is a command rather than something to look at. */
  calls: readonly { callId: string; name: string; about: string; isCommand: boolean }[];
  /** How calls ended: whether they say that they failed, and the lines that tell of an error or a count, if there are any. */
  results: readonly { callId: string; failed: boolean; error: string | undefined; outcome: string | undefined }[];
}

/** A message and what it leaves behind. */
export interface NotedMessage extends Notes {
  messageId: number;
  seq: number;
  /** Results answer calls of their own step. */
  stepId: number;
}
