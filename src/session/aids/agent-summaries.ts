export { usedToday } from "../../models/agent/daily-use.ts";
export {
  type AgentSummarizerOptions,
  agentSummarizer,
  CALLS_PER_DAY_DEFAULT,
  TOKENS_PER_DAY_DEFAULT,
} from "../../models/agent/summarizer.ts";
