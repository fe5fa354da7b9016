import { cutToWidth, displayWidth, padToWidth } from "./display-width.ts";
import type { Terminal } from "./terminal.ts";
import { formatAge, formatNumber } from "./text.ts";

export interface Column<Row> {
  header: string;
  /**
   * Returns a text on one line, a count, or a time. A terminal shows counts with separators, and times as ages. A pipe gets plain
   * digits, and times in ISO 8601, in UTC.
   */
  value(row: Row): string | number | Date;
  /** Counts are aligned to the right by default, and everything else to the left. */
  align?: "left" | "right";
  /** The smallest width in a narrow terminal. The widest column is cut first. */
  widthMin?: number;
  cut?: "end" | "start";
  /** True if the column may be left out in a narrow terminal. The last such column goes first. */
  expendable?: boolean;
  /** Colors the cell, which already has its final width. */
  paint?(cell: string, row: Row): string;
}

const GAP = "  ";

/** Only this many rows decide the widths of columns. A later cell may be wider than its column. */
const MEASURED_ROWS_MAX = 1_000;

interface MeasuredColumn<Row> extends Column<Row> {
  width: number;
  align: "left" | "right";
  isCut: boolean;
}

/**
 * Yields the headers and a line for each row. A row is read when its line is needed. A terminal gets columns that fit its
 * width. A pipe gets uncut cells with a tab between them, for `cut -f` and `awk -F'\t'`.
 *
 * @param columnsOf  The columns, or a function that derives them from the first rows.
 * @param options.isPicture  True if the table is a drawing. Its columns are aligned in a pipe too.
 */
export function* tableLines<Row>(
  columnsOf: readonly Column<Row>[] | ((sample: readonly Row[]) => readonly Column<Row>[]),
  rows: Iterable<Row>,
  terminal: Terminal,
  { isPicture = false }: { isPicture?: boolean } = {},
): Generator<string> {
  const iterator = rows[Symbol.iterator]();
  try {
    const sample: Row[] = [];
    let next = iterator.next();
    for (; !next.done && sample.length < MEASURED_ROWS_MAX; next = iterator.next()) sample.push(next.value);
    if (sample.length === 0) return terminal.note("No rows.");
    const columns = typeof columnsOf === "function" ? columnsOf(sample) : columnsOf;
    let lineOf = (row: Row): string => columns.map((column) => bare(column.value(row))).join("\t");
    if (terminal.width === undefined && !isPicture) {
      yield columns.map(({ header }) => header).join("\t");
    } else {
      const measured = columns.map((column) => measure(column, sample));
      const fitted = narrow(measured, terminal.width ?? Number.POSITIVE_INFINITY);
      lineOf = (row) => rowLine(fitted, row);
      const header = fitted.map((column) => sized(column.header, column)).join(GAP);
      yield terminal.style("dim", header.trimEnd());
    }
    for (const row of sample) yield lineOf(row);
    for (; !next.done; next = iterator.next()) yield lineOf(next.value);
  } finally {
    iterator.return?.(); // closes the source of the rows even if nobody reads to the end
  }
}

function rowLine<Row>(columns: readonly MeasuredColumn<Row>[], row: Row): string {
  const cells = columns.map((column) => {
    const cell = sized(shown(column.value(row)), column);
    return column.paint?.(cell, row) ?? cell;
  });
  return cells.join(GAP).trimEnd();
}

function shown(value: string | number | Date): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? formatNumber(value) : formatAge(value.getTime(), Date.now());
}

function bare(value: string | number | Date): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : (value.toJSON() ?? "");
}

function measure<Row>(column: Column<Row>, rows: readonly Row[]): MeasuredColumn<Row> {
  let width = displayWidth(column.header);
  let areCounts = rows.length > 0;
  for (const row of rows) {
    const value = column.value(row);
    areCounts &&= typeof value === "number";
    width = Math.max(width, displayWidth(shown(value)));
  }
  return { ...column, width, align: column.align ?? (areCounts ? "right" : "left"), isCut: false };
}

function narrow<Row>(columns: readonly MeasuredColumn<Row>[], widthMax: number): readonly MeasuredColumn<Row>[] {
  const fitted = columns.map((column) => ({ ...column }));
  let excess = fitted.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length) - widthMax;
  while (excess > 0) {
    const flexible = fitted.filter((column) => column.width > (column.widthMin ?? column.width));
    if (flexible.length === 0) break;
    const widest = flexible.reduce((best, column) => (column.width > best.width ? column : best));
    widest.width -= 1;
    widest.isCut = true;
    excess -= 1;
  }
  const last = columns.findLastIndex(({ expendable }) => expendable);
  if (excess <= 0 || last === -1) return fitted;
  return narrow(columns.toSpliced(last, 1), widthMax);
}

function sized<Row>(cell: string, { width, align, cut, isCut }: MeasuredColumn<Row>): string {
  return padToWidth(isCut ? cutToWidth(cell, width, cut) : cell, width, align);
}
