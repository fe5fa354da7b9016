import { describe, expect, test } from "vitest";
import { type Column, tableLines } from "../../../src/cli/screen/table.ts";
import { plainTerminal } from "../../support/fake-terminal.ts";

interface Boat {
  name: string;
  crew: number;
  port: string;
}

const BOATS: Boat[] = [
  { name: "Seagull", crew: 3, port: "Lisbon" },
  { name: "灯台丸", crew: 12, port: "Yokohama" },
];

const NAME: Column<Boat> = { header: "Name", value: ({ name }) => name };
const CREW: Column<Boat> = { header: "Crew", value: ({ crew }) => crew };
const PORT: Column<Boat> = { header: "Port", value: ({ port }) => port };

function table(columns: readonly Column<Boat>[], width?: number): string[] {
  return [...tableLines(columns, BOATS, plainTerminal(width))];
}

describe("tableLines", () => {
  test("aligns columns by display width, without blanks at the end of a line", () => {
    expect(table([NAME, CREW, PORT], 80)).toEqual([
      "Name     Crew  Port",
      "Seagull     3  Lisbon",
      "灯台丸     12  Yokohama",
    ]);
  });

  test("prints uncut cells with tabs between them in a pipe, with bare counts and times", () => {
    const sailed: Column<Boat> = { header: "Sailed", value: ({ crew }) => new Date(Date.UTC(2026, 0, crew)) };
    const many: Column<Boat> = { header: "Many", value: ({ crew }) => crew * 1_000 };
    expect(table([NAME, many, sailed])).toEqual([
      "Name\tMany\tSailed",
      "Seagull\t3000\t2026-01-03T00:00:00.000Z",
      "灯台丸\t12000\t2026-01-12T00:00:00.000Z",
    ]);
    expect(table([NAME, many, sailed], 80)[1]).toBe("Seagull   3,000  2026-01-03");
  });

  test("measures only the first rows, and cuts no later row", () => {
    const rows = Array.from({ length: 1_001 }, (_, index) => ({ name: index < 1_000 ? "a" : "a long name" }));
    let takenCount = 0;
    function* taken(): Generator<{ name: string }> {
      for (const row of rows) {
        takenCount += 1;
        yield row;
      }
    }
    const column: Column<{ name: string }> = { header: "N", value: ({ name }) => name, widthMin: 1 };
    const lines = tableLines([column], taken(), plainTerminal(80));
    lines.next();
    expect(takenCount).toBe(1_001);
    expect([...lines].at(-1)).toBe("a long name");
  });

  test("cuts the widest column first if the terminal is too narrow", () => {
    expect(table([{ ...NAME, widthMin: 3 }, CREW, { ...PORT, widthMin: 3 }], 18)).toEqual([
      "Name   Crew  Port",
      "Seag…     3  Lisb…",
      "灯台…    12  Yoko…",
    ]);
  });

  test("cuts a column at its start if it says so", () => {
    expect(table([{ ...NAME, widthMin: 3, cut: "start" }, CREW], 11)).toEqual([
      "Name   Crew",
      "…gull     3",
      "…台丸    12",
    ]);
  });

  test("leaves out expendable columns if cutting is not enough, the last one first", () => {
    expect(table([NAME, { ...CREW, expendable: true }, { ...PORT, expendable: true }], 18)).toEqual([
      "Name     Crew",
      "Seagull     3",
      "灯台丸     12",
    ]);
  });

  test("is wider than the terminal if nothing more may be left out", () => {
    expect(table([NAME, CREW, PORT], 10)[0]).toBe("Name     Crew  Port");
  });

  test("passes cells of their final width to `paint`", () => {
    const paint = (cell: string, { crew }: Boat): string => `<${cell}${crew}>`;
    expect(table([{ ...NAME, paint }, CREW], 80)).toEqual(["Name     Crew", "<Seagull3>     3", "<灯台丸 12>    12"]);
  });
});
