import { cutToWidth, displayWidth, padToWidth } from "./display-width.ts";
import type { Terminal } from "./terminal.ts";

export interface Column<Row> {
  header: string;
  /** The cell, on one line. */
  text(row: Row): string;
  align?: "left" | "right";
  /** May be cut short where the terminal is too narrow, to this width at least; the widest is cut first. */
  widthMin?: number;
  /** Where it is cut; at its end unless told otherwise. */
  cut?: "end" | "start";
  /** May be left out where cutting is not enough: the last one first. */
  expendable?: boolean;
  /** Color the cell, which has its final width. */
  paint?(cell: string, row: Row): string;
}

const GAP = "  ";

interface MeasuredColumn<Row> extends Column<Row> {
  cells: string[];
  width: number;
}

/** Rows under their headers, in columns that fit the terminal as well as they can. */
export function* tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  terminal: Terminal,
): Generator<string> {
  const fitted = narrow(
    columns.map((column) => measure(column, rows)),
    terminal.width ?? Number.POSITIVE_INFINITY,
  );
  yield terminal.style(
    "dim",
    fitted
      .map((column) => sized(column.header, column))
      .join(GAP)
      .trimEnd(),
  );
  for (const [index, row] of rows.entries()) {
    const cells = fitted.map((column) => {
      const cell = sized(column.cells[index]!, column);
      return column.paint?.(cell, row) ?? cell;
    });
    yield cells.join(GAP).trimEnd();
  }
}

function measure<Row>(column: Column<Row>, rows: readonly Row[]): MeasuredColumn<Row> {
  const cells = rows.map((row) => column.text(row));
  const width = cells.reduce((widest, cell) => Math.max(widest, displayWidth(cell)), displayWidth(column.header));
  return { ...column, cells, width };
}

function narrow<Row>(columns: readonly MeasuredColumn<Row>[], widthMax: number): readonly MeasuredColumn<Row>[] {
  const fitted = columns.map((column) => ({ ...column }));
  let excess = fitted.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length) - widthMax;
  while (excess > 0) {
    const flexible = fitted.filter((column) => column.width > (column.widthMin ?? column.width));
    if (flexible.length === 0) break;
    const widest = flexible.reduce((best, column) => (column.width > best.width ? column : best));
    widest.width -= 1;
    excess -= 1;
  }
  const last = columns.findLastIndex(({ expendable }) => expendable);
  if (excess <= 0 || last === -1) return fitted;
  return narrow(columns.toSpliced(last, 1), widthMax);
}

function sized<Row>(cell: string, { width, align, cut }: MeasuredColumn<Row>): string {
  return padToWidth(cutToWidth(cell, width, cut), width, align ?? "left");
}
