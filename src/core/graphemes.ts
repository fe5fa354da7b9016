import { once } from "./once.ts";

// The first segmenter of a process takes milliseconds to make, so it is not made on import.
const segmenter = once(() => new Intl.Segmenter("en", { granularity: "grapheme" }));

export function graphemesIn(text: string): Intl.Segments {
  return segmenter().segment(text);
}
