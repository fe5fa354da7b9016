/**
 * A content as llxprt-code keeps it in its history and its recordings (its `IContent`). It publishes no types, so these
 * list the fields that the adapter reads. All other fields are kept.
 */
export interface LlxprtContent {
  speaker: "human" | "ai" | "tool";
  blocks: LlxprtBlock[];
  metadata?: { timestamp?: number; [field: string]: unknown };
}

export type LlxprtBlock =
  | { type: "text"; text: string; [field: string]: unknown }
  | { type: "code"; code: string; language?: string; [field: string]: unknown }
  | { type: "thinking"; thought: string; [field: string]: unknown }
  | {
      type: "media";
      mimeType: string;
      data: string;
      encoding: "url" | "base64";
      filename?: string;
      [field: string]: unknown;
    }
  | { type: "tool_call"; id: string; name: string; parameters: unknown; [field: string]: unknown }
  | {
      type: "tool_response";
      callId: string;
      toolName: string;
      result: unknown;
      error?: string;
      [field: string]: unknown;
    };

/** A conversation for llxprt-code, which keeps the system instruction outside the history. */
export interface LlxprtConversation {
  systemInstruction?: string;
  contents: LlxprtContent[];
}
