import { describe, expect, test } from "vitest";
import { type Column, tableLines } from "../../../src/cli/table.ts";
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

const NAME: Column<Boat> = { header: "Name", text: ({ name }) => name };
const CREW: Column<Boat> = { header: "Crew", text: ({ crew }) => String(crew), align: "right" };
const PORT: Column<Boat> = { header: "Port", text: ({ port }) => port };

function table(columns: readonly Column<Boat>[], width?: number): string[] {
  return [...tableLines(columns, BOATS, plainTerminal(width))];
}

describe("tableLines", () => {
  test("aligns columns by what is seen, with no blanks at the end of a line", () => {
    expect(table([NAME, CREW, PORT])).toEqual([
      "Name     Crew  Port",
      "Seagull     3  Lisbon",
      "灯台丸     12  Yokohama",
    ]);
  });

  test("cuts what may be cut where the terminal is too narrow, the widest first", () => {
    expect(table([{ ...NAME, widthMin: 3 }, CREW, { ...PORT, widthMin: 3 }], 18)).toEqual([
      "Name   Crew  Port",
      "Seag…     3  Lisb…",
      "灯台…    12  Yoko…",
    ]);
  });

  test("cuts at the start where the end tells more", () => {
    expect(table([{ ...NAME, widthMin: 3, cut: "start" }, CREW], 11)).toEqual([
      "Name   Crew",
      "…gull     3",
      "…台丸    12",
    ]);
  });

  test("leaves out what may be left out where cutting is not enough, the last column first", () => {
    expect(table([NAME, { ...CREW, expendable: true }, { ...PORT, expendable: true }], 18)).toEqual([
      "Name     Crew",
      "Seagull     3",
      "灯台丸     12",
    ]);
  });

  test("is wider than the terminal rather than lose what must be there", () => {
    expect(table([NAME, CREW, PORT], 10)[0]).toBe("Name     Crew  Port");
  });

  test("gives a painter cells of their final width", () => {
    const paint = (cell: string, { crew }: Boat): string => `<${cell}${crew}>`;
    expect(table([{ ...NAME, paint }, CREW])).toEqual(["Name     Crew", "<Seagull3>     3", "<灯台丸 12>    12"]);
  });
});
