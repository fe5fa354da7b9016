import type { JsonValue } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { stringOf } from "../values.ts";

/**
 * These sets say which lines are read and which are skipped. Any other line becomes a warning. Only `type` is relied on, because
 * Claude Code calls its format internal. Sources: files of versions 2.0.74 to 2.1.17, and the schemas of
 * github.com/oneryalcin/agent-schemas (2.1.1 to 2.1.144, MIT); and files of version 2.1.330.
 */

/** Lines about the program, not the conversation. Prompts and titles in them are also on lines of their own. */
export const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set([
  "agent-color",
  "agent-name",
  "agent-setting",
  "agent_metadata",
  "api-request",
  "api-request-blob",
  "api-request-shape",
  "atis-latch",
  "bridge-session",
  "cost-state",
  "file-history-delta",
  "file-history-snapshot",
  "last-prompt",
  "mode",
  "permission-mode",
  "pr-link",
  "saved_hook_context",
  "tag",
  "tools-used",
  "worktree-state",
]);

/** Returns true for a line of a workflow's `journal.jsonl`. It names subagents that have files of their own. */
export function isJournal({ type, key, agentId }: JsonObject): boolean {
  return (type === "started" || type === "result") && stringOf(key) !== undefined && stringOf(agentId) !== undefined;
}

/** `system` lines without which the conversation cannot be understood. */
export const NOTE_SUBTYPES: ReadonlySet<unknown> = new Set([
  "compact_boundary",
  "local_command",
  "microcompact_boundary",
]);

/** Those of a stream, such as `init`, say how a run goes. */
export const BOOKKEEPING_SUBTYPES: ReadonlySet<unknown> = new Set([
  "api_error",
  "api_retry",
  "away_summary",
  "bridge_status",
  "files_persisted",
  "hook_progress",
  "hook_response",
  "hook_started",
  "informational",
  "init",
  "scheduled_task_fire",
  "session_state_changed",
  "status",
  "stop_hook_summary",
  "task_notification",
  "task_progress",
  "task_started",
  "turn_duration",
]);

/**
 * Returns the uuids of the messages that a line takes back, because the provider refused to go on with its reply and another model
 * answered; undefined for any other line.
 */
export function retractedBy(line: JsonObject): string[] | undefined {
  const { type, subtype } = line;
  const kind = type === "system" ? subtype : type;
  if (kind !== "api_refusal" && !/^model_\w+_(?:no_)?fallback$/.test(String(kind))) return undefined;
  const uuids = line.retractedMessageUuids ?? line.retracted_message_uuids;
  return Array.isArray(uuids) ? uuids.filter((uuid) => typeof uuid === "string") : [];
}

/** `progress` lines without messages. Their outcome is in a tool result. */
export const BOOKKEEPING_PROGRESS: ReadonlySet<unknown> = new Set([
  "bash_progress",
  "hook_progress",
  "mcp_progress",
  "query_update",
  "search_results_received",
  "waiting_for_task",
]);

/** `attachment` lines in which the user, a hook or a task tells the agent something that is on no other line. */
export const TOLD_ATTACHMENTS: ReadonlySet<unknown> = new Set([
  "directory",
  "edited_text_file",
  "file",
  "goal_status",
  "hook_additional_context",
  "hook_blocking_error",
  "hook_stopped_continuation",
  "mcp_resource",
  "plan_file_reference",
  "selected_lines_in_ide",
  "structured_output",
  "task_status",
]);

export const HOOK_ATTACHMENTS: ReadonlySet<unknown> = new Set([
  "hook_additional_context",
  "hook_blocking_error",
  "hook_stopped_continuation",
]);

/** Returns true for reminders, listings and switches that the program repeatedly adds to its prompt. */
export function isBookkeeping(attachment: JsonValue | undefined): boolean {
  return BOOKKEEPING_ATTACHMENTS.has(attachment) || BOOKKEEPING_ENDING.test(String(attachment));
}

const BOOKKEEPING_ENDING = /_(?:delta|notice|reminder|reminder_sent)$/;

const BOOKKEEPING_ATTACHMENTS: ReadonlySet<unknown> = new Set([
  "agent_mention",
  "auto_mode",
  "auto_mode_exit",
  "budget_usd",
  "command_permissions",
  "compact_file_reference",
  "date",
  "date_change",
  "dynamic_skill",
  "environment",
  "hook_cancelled",
  "hook_deferred_tool",
  "hook_error_during_execution",
  "hook_non_blocking_error",
  "hook_permission_decision",
  "hook_success",
  "hook_system_message",
  "invoked_skills",
  "max_turns_reached",
  "model",
  "nested_memory",
  "output_style",
  "plan_mode",
  "plan_mode_exit",
  "plan_mode_reentry",
  "prompt_snapshot",
  "relevant_memories",
  "remote_session_change",
  "session_context",
  "skill_listing",
  "ultra_effort_enter",
  "ultra_effort_exit",
]);

export function timeOf(line: JsonObject): number | undefined {
  const time = typeof line.timestamp === "string" ? Date.parse(line.timestamp) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
