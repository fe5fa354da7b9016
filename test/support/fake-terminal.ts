import { type OutputStream, Terminal } from "../../src/cli/screen/terminal.ts";

/** What was written to one of the two streams. */
export class FakeStream implements OutputStream {
  text = "";
  readonly isTTY: boolean;
  readonly columns: number;

  constructor({ isTTY = false, columns = 80 }: { isTTY?: boolean; columns?: number } = {}) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.text += text;
  }

  hasColors(): boolean {
    return true;
  }
}

/** A terminal that is a pipe, or with `columns` a screen of that width without colors. */
export function plainTerminal(columns?: number): Terminal {
  return new Terminal(new FakeStream(), new FakeStream(), columns === undefined ? {} : { COLUMNS: String(columns) });
}
