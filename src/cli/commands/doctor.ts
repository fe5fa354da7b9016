import { StoreError } from "../../core/errors.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import type { OpenedStores } from "../opened-stores.ts";
import type { Format, Terminal } from "../terminal.ts";
import { formatCount, oneLine } from "../text.ts";

type Finding = ReturnType<Store["doctor"]>[number];

const MARKS: Record<Finding["level"], { mark: string; format: Format }> = {
  ok: { mark: "✓", format: "green" },
  advice: { mark: "!", format: "yellow" },
  problem: { mark: "✗", format: "red" },
};

export const doctorCommand: Command = {
  usage: "doctor",
  summary: "Report what is wrong with the store and with what agents do with it, and how to fix it.",
  details:
    "✓ marks what is fine, ! what could be better, and ✗ a problem. The exit code is 1 if there is a problem. Nothing is " +
    "written. A store that does not open is examined too, and agents are examined even if there is no store. `verify` looks " +
    "closer at messages and derived rows. With --json: {ok, findings}.",
  examples: ["", "--json"],

  async run({ loadStores, storePath, terminal }) {
    const { hookFindings } = await import("../../hooks/hook-report.ts");
    const { agentFindings } = await import("../agent-findings.ts");
    const ofStore = await examine(await loadStores());
    const findings = [...ofStore, ...(await agentFindings(storePath)), ...hookFindings(storePath)];
    const problemCount = findings.filter(({ level }) => level === "problem").length;
    const ok = problemCount === 0;
    const hint = "Each line with → says how to fix the problem above it.";
    const failure = ok
      ? undefined
      : new Failure("DOCTOR_FAILED", `${formatCount(problemCount, "problem")} found.`, { hint });
    return { value: { ok, findings }, lines: findingLines(findings, terminal), failure };
  },
};

async function examine(stores: OpenedStores): Promise<Finding[]> {
  let store: Store;
  try {
    store = stores.openToRead();
  } catch (error) {
    if (!StoreError.is(error)) throw error;
    const { examineUnopened } = await import("../../session/doctor.ts");
    return examineUnopened(error);
  }
  return store.doctor();
}

function* findingLines(findings: readonly Finding[], terminal: Terminal): Generator<string> {
  for (const { level, text, fix } of findings) {
    const { mark, format } = MARKS[level];
    yield `${terminal.style(format, mark)} ${oneLine(text)}`;
    if (fix !== null) yield `  → ${oneLine(fix)}`;
  }
}
