import { StoreError } from "../core/errors.ts";

/** Returns a key without the white space around it, which files and shells add; undefined if there is none. */
export function checkedKey(given: unknown): string | undefined {
  const key = typeof given === "string" ? given.trim() : given;
  if (key === undefined || key === "") return undefined;
  // If a key has characters that no HTTP header allows, an error of fetch would quote it.
  if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return key;
  throw invalid("apiKey", "a text without white space", "[not shown]");
}

export function checkBaseUrl(baseUrl: unknown): void {
  const url = typeof baseUrl === "string" && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  // An address with one of these characters may contain a password or a key.
  const mayHoldSecret = /[@?#]/.test(String(baseUrl));
  if (!mayHoldSecret && (url?.protocol === "https:" || url?.protocol === "http:")) return;
  const shown = mayHoldSecret ? "[not shown]" : baseUrl;
  throw invalid("baseUrl", "an http or https address without password or query", shown);
}

export function invalid(option: string, expected: string, actual: unknown): StoreError<"OPTION_INVALID"> {
  return new StoreError("OPTION_INVALID", { option, expected, actual });
}
