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

/** `doctor` says what is wrong with the store and what would mend it, also where it cannot be opened. */
export const doctor: Command = {
  name: "doctor",
  summary: "Say what is wrong with the store, and what would mend it.",
  details:
    "✓ is well, ! could be better, ✗ is wrong; with any ✗ the exit code is 1. Nothing is written. " +
    "`verify` looks closer at messages and derived rows. With --json: {ok, findings}.",
  examples: ["", "--json"],

  async run({ stores, terminal }) {
    const findings = await findingsOf(stores);
    const problemCount = findings.filter(({ level }) => level === "problem").length;
    const failure =
      problemCount === 0
        ? undefined
        : new Failure("DOCTOR_FAILED", `${formatCount(problemCount, "problem")} found.`, {
            hint: "What stands after each arrow would mend it.",
          });
    return { value: { ok: problemCount === 0, findings }, lines: lines(findings, terminal), failure };
  },
};

async function findingsOf(stores: OpenedStores): Promise<Finding[]> {
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

function* lines(findings: readonly Finding[], terminal: Terminal): Generator<string> {
  for (const { level, text, fix } of findings) {
    const { mark, format } = MARKS[level];
    yield `${terminal.style(format, mark)} ${oneLine(text)}`;
    if (fix !== null) yield `  → ${oneLine(fix)}`;
  }
}
