/**
 * Contents as llxprt-code keeps them in its history and writes them to its recordings (its `IContent`). It publishes no
 * types, so here they are, with the fields that the adapter reads; all others pass through.
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

/** A history has no place for what the system says; llxprt-code passes that on its own. */
export interface LlxprtConversation {
  systemInstruction?: string;
  contents: LlxprtContent[];
}
