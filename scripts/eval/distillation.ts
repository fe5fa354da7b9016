import { distill } from "../../src/context/tool-output/distill.ts";
import { shorten } from "../../src/context/tool-output/shorten.ts";
import { parseMessage, type ToolResultPart } from "../../src/core/message.ts";
import { readConversations } from "./conversations.ts";
import { mean } from "./measures.ts";

/** The least characters of a tool result that is measured. Shorter ones need no shortening. */
const LARGE_CHARS_MIN = 4_000;
const LIMITS = [500, 2_000];

/** The fewest important lines of a tool result that is measured. Fewer say little about what is kept. */
const MATTERING_MIN = 3;

/** Patterns of lines that people look for in a tool result. They are written for this measure only; `src/` has its own. */
const MATTERS = [
  /\berror\b|\bfail(ed|ure)?\b|exception|traceback|panic:/i,
  /exit(ed with)? (code|status) \d/i,
  /^(diff --git|@@ )/,
  /\b\d+ (passed|failed|errors?|warnings?|files? changed)\b/,
  /[\w-]+\.(ts|tsx|js|py|go|rs|java|md|json)[:(]\d+/,
  /^\s*(✓|✗|✕|×|--- (PASS|FAIL)|(not )?ok \d)/,
];

/**
 * Measures what distillation keeps of the large tool results in `transcripts/` and `entire/`: the mean percentage of distinct
 * important lines whose first 40 characters are in the result. `distilled@500.headTail` is the same for as many characters of
 * head and tail. 100 cannot be reached if these lines together are longer than the limit.
 */
export async function distillationFigures(dataFolder: string): Promise<Record<string, number>> {
  const outputs = (await readConversations(dataFolder))
    .flatMap(({ messages }) => messages.flatMap((message) => parseMessage(message).parts))
    .flatMap((part) => (part.type === "tool_result" ? textsOf(part) : []))
    .filter((text) => text.length > LARGE_CHARS_MIN);
  const figures: Record<string, number> = { largeResults: outputs.length };
  for (const limit of LIMITS) {
    const kept: number[] = [];
    const keptByEnds: number[] = [];
    for (const output of outputs) {
      const lines = matteringLines(output);
      if (lines.length < MATTERING_MIN) continue;
      kept.push(shareIn(distill(output, limit, "message 1"), lines));
      keptByEnds.push(shareIn(shorten(output, limit, "message 1"), lines));
    }
    figures[`distilled@${limit}`] = percent(kept);
    figures[`distilled@${limit}.headTail`] = percent(keptByEnds);
  }
  return figures;
}

function textsOf({ content }: ToolResultPart): string[] {
  if (typeof content === "string") return [content];
  return content.flatMap((item) => (item.type === "text" ? [item.text] : []));
}

function matteringLines(output: string): string[] {
  const lines = output.split("\n").filter((line) => MATTERS.some((pattern) => pattern.test(line.slice(0, 200))));
  return [...new Set(lines.map((line) => line.slice(0, 40)))];
}

function shareIn(text: string, lines: readonly string[]): number {
  return lines.filter((line) => text.includes(line)).length / lines.length;
}

function percent(shares: readonly number[]): number {
  return Number((100 * mean(shares)).toFixed(1));
}
