import type { ImportFile } from "./importer.ts";
import { type DamagedLine, LINE_FEED, type Pause, readLines, type TextLine } from "./lines.ts";

/** Yields the lines without the last one if it may still grow. */
export async function* readEndedLines(file: ImportFile): AsyncGenerator<TextLine | DamagedLine | Pause> {
  let isEnded = true;
  async function* seen(): AsyncGenerator<Uint8Array> {
    for await (const chunk of file.chunks) {
      if (chunk.length === 0) continue;
      isEnded = chunk.at(-1) === LINE_FEED;
      yield chunk;
    }
  }
  let last: TextLine | DamagedLine | Pause | undefined;
  for await (const line of readLines({ ...file, chunks: seen() })) {
    if (last !== undefined) yield last;
    last = line;
  }
  if (last !== undefined && (isEnded || file.isFinished)) yield last;
}

/** A line that opens or closes a block of code in Markdown. A closing one has nothing behind the marks. */
export const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
