import type { TokenCounter } from "../../src/index.ts";

/** Counts tokens as the papers of the data sets do: four characters each. */
export const fourCharacters: TokenCounter = { name: "four-characters", count: (text) => Math.ceil(text.length / 4) };
