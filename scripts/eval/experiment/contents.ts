import type { FutureGold } from "./gold.ts";
import { unescapedJson } from "./plain-text.ts";

export const CODING_MEASURES = ["lines", "symbols", "files"] as const;
export type Measure = (typeof CODING_MEASURES)[number];

/**
 * Returns the shares of a cut's gold that a context contains word for word, in [0, 1]; undefined if the cut has too little gold.
 * Elements quote calls as JSON, so the text is also searched without the escapes of JSON.
 */
export function sharesOf(text: string, { files, symbols, lines }: FutureGold): Record<Measure, number | undefined> {
  const searched = `${text}\n${unescapedJson(text)}`;
  const shareOf = (gold: ReadonlySet<string>) => [...gold].filter((item) => searched.includes(item)).length / gold.size;
  return { files: shareOf(files), symbols: symbols && shareOf(symbols), lines: lines && shareOf(lines) };
}
