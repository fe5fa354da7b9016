import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { Progress } from "../progress.ts";
import { formatCount, oneLine } from "../text.ts";

type VerifyReport = ReturnType<Store["verify"]>;

/** `verify` derives everything derived again, compares it with what is stored, and puts it back if asked to. */
export const verify: Command<{ rebuild?: true }> = {
  name: "verify",
  summary: "Check that parents, clusters and themes are what the log says, and that no message has changed.",
  details: "Without --rebuild nothing is written. With --json: the report.",
  options: [new Option("--rebuild", "write derived rows again where they are missing or differ")],
  examples: ["", "--rebuild"],

  run({ options: { rebuild = false }, stores, terminal }) {
    const store = rebuild ? stores.openToWrite({ mustExist: true }) : stores.openToRead();
    const progress = new Progress(terminal, "sessions checked");
    const report = store.verify({
      rebuild,
      onProgress: ({ sessionCount, totalCount }) => progress.at(sessionCount, totalCount),
    });
    return { value: report, lines: lines(report), failure: failureOf(report) };
  },
};

function* lines({
  sessionCount,
  messageCount,
  unionCount,
  rebuiltCount,
  problemCount,
  problems,
  ok,
}: VerifyReport): Generator<string> {
  const counts = [
    formatCount(sessionCount, "session"),
    formatCount(messageCount, "message"),
    formatCount(unionCount, "row of the log", "rows of the log"),
  ];
  yield `Checked ${counts.join(", ")}.`;
  if (rebuiltCount > 0) yield `Rebuilt ${formatCount(rebuiltCount, "session")}.`;
  for (const { sessionId, text } of problems) yield oneLine(sessionId === null ? text : `${sessionId}: ${text}`);
  if (problemCount > problems.length) yield `… and ${formatCount(problemCount - problems.length, "more problem")}`;
  if (ok) yield "Everything agrees.";
}

function failureOf({ ok, problemCount, problems }: VerifyReport): Failure | undefined {
  if (ok) return undefined;
  const hint = problems.every(({ rebuildable }) => rebuildable)
    ? "No message is affected. Bring the derived rows back with `coppice verify --rebuild`."
    : "Part of this cannot be derived again. Restore a copy of the file.";
  return new Failure("VERIFY_FAILED", `${formatCount(problemCount, "problem")} found.`, { hint });
}
