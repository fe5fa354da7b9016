import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { progressOf } from "../screen/progress.ts";
import { formatCount, oneLine } from "../screen/text.ts";

type VerifyReport = ReturnType<Store["verify"]>;

export const verifyCommand: Command<{ rebuild?: true }> = {
  usage: "verify",
  summary: "Check the messages, and that the forest agrees with the log.",
  details:
    "Derives parents, clusters and themes again from the messages and the log, and compares them with what is stored. " +
    "Without --rebuild nothing is written. With --json: the report.",
  options: [new Option("--rebuild", "write derived rows again if they are missing or differ")],
  examples: ["", "--rebuild"],

  async run({ options: { rebuild = false }, loadStores, terminal }) {
    const stores = await loadStores();
    const store = rebuild ? stores.openToWrite({ mustExist: true }) : stores.openToRead();
    const progress = progressOf(terminal, "sessions checked");
    const report = store.verify({
      rebuild,
      onProgress: ({ sessionCount, totalCount }) => progress(sessionCount, totalCount),
    });
    return { value: report, lines: reportLines(report), failure: verifyFailure(report) };
  },
};

function* reportLines(report: VerifyReport): Generator<string> {
  const { sessionCount, messageCount, unionCount, rebuiltCount, problemCount, problems, ok } = report;
  const counts = [
    formatCount(sessionCount, "session"),
    formatCount(messageCount, "message"),
    formatCount(unionCount, "row of the log", "rows of the log"),
  ];
  yield `Checked ${counts.join(", ")}.`;
  if (rebuiltCount > 0) yield `Rebuilt ${formatCount(rebuiltCount, "session")}.`;
  for (const { sessionId, text } of problems) yield oneLine(sessionId === null ? text : `${sessionId}: ${text}`);
  if (problemCount > problems.length) yield `… and ${formatCount(problemCount - problems.length, "more problem")}`;
  if (ok) yield "No problems found.";
}

function verifyFailure({ ok, problemCount, problems }: VerifyReport): Failure | undefined {
  if (ok) return undefined;
  const hint = problems.every(({ rebuildable }) => rebuildable)
    ? "No message is affected. Restore the derived rows with `coppice verify --rebuild`."
    : "Some of the damage cannot be repaired. Restore a backup: `coppice restore FILE`.";
  return new Failure("VERIFY_FAILED", `${formatCount(problemCount, "problem")} found.`, { hint });
}
