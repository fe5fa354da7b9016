/** What a check of a store has found. */
export interface Finding {
  check: FindingCheck;
  /** `problem`: something is wrong, or about to be. `advice`: nothing is lost, but it could be better. */
  level: "ok" | "advice" | "problem";
  /** What was found, in a sentence. */
  text: string;
  /** What would mend it; null where nothing is to be mended. */
  mend: string | null;
}

export type FindingCheck =
  | "open"
  | "file"
  | "permissions"
  | "disk"
  | "file-system"
  | "write-ahead-log"
  | "processes"
  | "versions"
  | "integrity"
  | "embedder"
  | "vectors"
  | "summaries"
  | "full-text"
  | "index";

export function ok(check: FindingCheck, text: string): Finding {
  return { check, level: "ok", text, mend: null };
}

export function advice(check: FindingCheck, text: string, mend: string): Finding {
  return { check, level: "advice", text, mend };
}

export function problem(check: FindingCheck, text: string, mend: string): Finding {
  return { check, level: "problem", text, mend };
}
