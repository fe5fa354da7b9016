// Public API of `coppice/tools`. A name added here is supported until the next major version.
export {
  type AgentTool,
  type AgentTools,
  type AgentToolsOptions,
  type ArgumentsSchema,
  agentTools,
  type JsonSchema,
  type ToolOutcome,
} from "./agent-tools.ts";
