import { BUDGETS, QUERY_BUDGETS } from "./budgets.ts";
import { CODING_MEASURES } from "./contents.ts";
import { RIVALS } from "./figures.ts";
import { RECORDED_MEASURES } from "./recorded.ts";
import { TALK_MEASURES } from "./talk.ts";

type Table = Record<string, Record<string, number>>;

/** The arms of the tables by conversation, which would be too wide with all of them. */
const SHOWN_ARMS = ["shipped", ...RIVALS];

/** Writes the figures as tables: arms by budget, the shipped context against others, and arms by conversation. */
export function reportOf(
  figures: Readonly<Record<string, number>>,
  byConversation: Readonly<Record<string, Table>>,
): string {
  const sections: string[] = [];
  for (const measure of [...CODING_MEASURES, ...TALK_MEASURES, ...RECORDED_MEASURES]) {
    const budgets = measure.startsWith("recorded") ? QUERY_BUDGETS : BUDGETS;
    const means = byArm(figures, measure, budgets);
    if (Object.keys(means).length === 0) continue;
    sections.push(tableText(`${measure}, percent`, budgets.map(String), means));
    if (byConversation[measure] === undefined) continue;
    sections.push(
      tableText(`${measure}: shipped over …, points [95 %], p`, BUDGETS.map(String), comparisons(figures, measure)),
    );
    const conversations = Object.entries(byConversation[measure]!).map(([conversation, arms]) => [
      conversation,
      SHOWN_ARMS.map((arm) => arms[arm]),
    ]);
    sections.push(tableText(`${measure} at 4,000, by conversation`, SHOWN_ARMS, Object.fromEntries(conversations)));
  }
  for (const name of ["tokens", "answerTokens"]) {
    sections.push(tableText(`${name}, means`, BUDGETS.map(String), byArm(figures, name, BUDGETS)));
  }
  const others = Object.entries(figures).filter(([name]) => !/^\w+@\d+\.(?!p95)/.test(name));
  sections.push(others.map(([name, figure]) => `${name.padEnd(NAME_WIDTH)}${figure}`).join("\n"));
  return sections.join("\n\n");
}

type Cell = number | string | undefined;

function byArm(
  figures: Readonly<Record<string, number>>,
  measure: string,
  budgets: readonly number[],
): Record<string, Cell[]> {
  const rows: Record<string, Cell[]> = {};
  for (const [index, budget] of budgets.entries()) {
    const prefix = `${measure}@${budget}.`;
    for (const [name, figure] of Object.entries(figures)) {
      if (!name.startsWith(prefix) || /\.(?:over|p)\./.test(name)) continue;
      const arm = name.slice(prefix.length);
      rows[arm] ??= [];
      rows[arm][index] = figure;
    }
  }
  return rows;
}

function comparisons(figures: Readonly<Record<string, number>>, measure: string): Record<string, Cell[]> {
  const rows = RIVALS.map((rival) => [
    rival,
    BUDGETS.map((budget): Cell => {
      const over = `${measure}@${budget}.over.${rival}`;
      if (figures[over] === undefined) return undefined;
      return `${figures[over]} [${figures[`${over}.low`]}, ${figures[`${over}.high`]}] ${figures[`${measure}@${budget}.p.${rival}`]}`;
    }),
  ]);
  return Object.fromEntries(rows);
}

const NAME_WIDTH = 32;

function tableText(title: string, columns: readonly string[], rows: Readonly<Record<string, readonly Cell[]>>): string {
  const cells = Object.values(rows).flat();
  const width = 2 + Math.max(...[...columns, ...cells].map((cell) => String(cell ?? "").length));
  const nameWidth = 2 + Math.max(...[title, ...Object.keys(rows)].map((name) => name.length));
  const lines = [title.padEnd(nameWidth) + columns.map((column) => column.padStart(width)).join("")];
  for (const [name, values] of Object.entries(rows)) {
    const shown = columns.map((_, index) => String(values[index] ?? "").padStart(width));
    lines.push(name.padEnd(nameWidth) + shown.join(""));
  }
  return lines.join("\n");
}
