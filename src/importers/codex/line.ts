import type { JsonObject } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";

/**
 * These sets name the lines that are skipped. An unknown line becomes a warning, because Codex often changes its format. Source:
 * `codex-rs/rollout` and `codex-rs/protocol`.
 */

/** Lines about the program, not the conversation. */
export const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set([
  "inter_agent_communication_metadata",
  "state",
  "token_usage_record",
  "world_state",
]);

/** Items without words: states of the working tree, lists of tools, and requests to compact. */
export const BOOKKEEPING_ITEMS: ReadonlySet<unknown> = new Set([
  "additional_tools",
  "compaction_trigger",
  "ghost_snapshot",
]);

/** Events whose outcome is in an item, or that are only for the screen. `repeating-events.ts` reads those with words. */
export const BOOKKEEPING_EVENTS: ReadonlySet<unknown> = new Set([
  "agent_reasoning_section_break",
  "background_event",
  "collab_agent_interaction_end",
  "collab_agent_spawn_end",
  "collab_close_end",
  "collab_resume_end",
  "collab_waiting_end",
  "context_compacted",
  "deprecation_notice",
  "dynamic_tool_call_request",
  "dynamic_tool_call_response",
  "entered_review_mode",
  "error",
  "exec_command_begin",
  "guardian_assessment",
  "guardian_warning",
  "image_generation_end",
  "mcp_tool_call_begin",
  "model_reroute",
  "patch_apply_begin",
  "plan_update",
  "session_configured",
  "stream_error",
  "sub_agent_activity",
  "thread_goal_updated",
  "thread_settings_applied",
  "turn_diff",
  "undo_completed",
  "undo_started",
  "view_image_tool_call",
  "warning",
  "web_search_begin",
  "web_search_end",
]);

/**
 * Events that end a turn. Most of its items have been written, but if the user interrupted it, some may come later. A turn that
 * begins ends the one before it, whose program may have died.
 */
export const TURN_ENDS: ReadonlyMap<unknown, "complete" | "aborted" | "begun"> = new Map([
  ["task_complete", "complete"],
  ["task_started", "begun"],
  ["turn_aborted", "aborted"],
  ["turn_complete", "complete"],
  ["turn_started", "begun"],
]);

/** A line as newer versions write it. The first versions wrote items and the description of the session without an envelope. */
export interface RolloutLine {
  type: string;
  payload: JsonObject;
  timestamp: string | undefined;
}

const BARE_ITEM_TYPES: ReadonlySet<unknown> = new Set([
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "local_shell_call",
  "custom_tool_call",
  "custom_tool_call_output",
  "web_search_call",
]);

export function rolloutLineOf(line: JsonObject): RolloutLine | undefined {
  const timestamp = stringOf(line.timestamp);
  const type = stringOf(line.type);
  if (type !== undefined && line.payload !== undefined) return { type, payload: objectOf(line.payload), timestamp };
  if (BARE_ITEM_TYPES.has(type)) return { type: "response_item", payload: line, timestamp };
  if (stringOf(line.record_type)) return { type: line.record_type as string, payload: line, timestamp };
  const isMeta = type === undefined && stringOf(line.id) !== undefined && timestamp !== undefined;
  return isMeta ? { type: "session_meta", payload: line, timestamp } : undefined;
}
