import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { interruptible } from "../interruption.ts";
import { wholeNumberOption } from "../options.ts";
import { Progress } from "../progress.ts";
import { formatCount, formatNumber } from "../text.ts";

type Estimate = ReturnType<Store["reembedEstimate"]>;
type Result = Awaited<ReturnType<Store["reembed"]>>;

interface ReembedCommandOptions {
  embedder?: string;
  dimension?: number;
  dryRun?: true;
  yes?: true;
}

const PHASES = { embed: "embedding", grow: "growing", check: "checking", switch: "switching" } as const;

/** `reembed` grows the forest of every session again with another embedder. */
export const reembed: Command<ReembedCommandOptions> = {
  name: "reembed",
  summary: "Grow the forest again with another embedder, while the one in use serves.",
  details:
    "One that is stopped goes on where it was. Handles go on meaning what they meant; summaries are made again where their\n" +
    "themes are others. Programs that have the store open must open it again. What costs money is done with --yes only;\n" +
    "--dry-run says what it would take. With --json: {estimate, result}, result null after a dry run.",
  options: [
    new Option(
      "--embedder <name>",
      "hashing, gemini, or an id; unless given, the one in use, for messages without a vector",
    ),
    wholeNumberOption("dimension", "numbers in a vector of gemini", 1),
    new Option("--dry-run", "only say what it would take"),
    new Option("--yes", "do it although it costs money"),
  ],
  examples: ["--embedder gemini --dry-run", "--embedder gemini --yes", "--embedder hashing"],

  async run({ options: { embedder: name, dimension, dryRun = false, yes = false }, stores, terminal }) {
    const { embedderNamed } = await import("../../session/embedder-choice.ts");
    const store = dryRun ? stores.openToRead() : stores.openToReembed();
    const embedder = embedderNamed(name ?? embedderInUse(store), dimension, { keyless: dryRun });
    const estimate = store.reembedEstimate(embedder);
    if (dryRun) return { value: { estimate, result: null }, lines: estimateLines(estimate) };
    if (estimate.costUsd !== 0 && estimate.toEmbedCount > 0 && !yes) {
      const hint = "Run it again with --yes to do it, or with --dry-run to see all that it would take.";
      throw new Failure("USAGE_INVALID", `This costs money: ${costText(estimate)}.`, { hint, exitCode: 2 });
    }
    const phases = new Map<string, Progress>();
    const progressOf = (phase: keyof typeof PHASES): Progress => {
      const known = phases.get(phase) ?? new Progress(terminal, PHASES[phase]);
      phases.set(phase, known);
      return known;
    };
    const hint = "What was embedded is kept. Run it again, and it goes on from there.";
    const result = await interruptible(hint, (signal) =>
      store.reembed({
        embedder,
        signal,
        onProgress: ({ phase, doneCount, totalCount }) => progressOf(phase).at(doneCount, totalCount),
      }),
    );
    return { value: { estimate, result }, lines: resultLines(result) };
  },
};

/** Which of them is paid for is not guessed: whoever leaves the name out keeps what there is. */
function embedderInUse(store: Store): string {
  const [generation] = store.query("SELECT embedder_id FROM generations ORDER BY id DESC LIMIT 1");
  return String(generation?.embedder_id ?? "hashing");
}

function* estimateLines(estimate: Estimate): Generator<string> {
  const { from, to, messageCount, toEmbedCount, summarizedThemeCount } = estimate;
  yield `From ${from} to ${to}.`;
  yield `${formatCount(messageCount, "message")}, of which ${formatNumber(toEmbedCount)} would be embedded: ${costText(estimate)}.`;
  yield `${formatCount(summarizedThemeCount, "theme")} with a summary; those that come out otherwise would be summarized again.`;
}

function costText({ tokenCount, costUsd }: Estimate): string {
  const tokens = `about ${formatCount(tokenCount, "token")}`;
  if (costUsd === undefined) return `${tokens}, at a price that is not known here`;
  return costUsd === 0 ? tokens : `${tokens}, about ${costUsd.toFixed(2)} US dollars`;
}

function* resultLines({ reembedded, to, embeddedCount, carriedSummaryCount }: Result): Generator<string> {
  if (!reembedded) {
    yield `The forest is grown with ${to}, and no message in it lacks a vector: there is nothing to do.`;
    return;
  }
  yield `The forest is grown with ${to}: ${formatCount(embeddedCount, "message")} embedded, ${formatCount(carriedSummaryCount, "summary", "summaries")} kept.`;
}
