export interface Finding {
  check: FindingCheck;
  /** `problem`: something is wrong, or soon will be. `advice`: nothing is lost, but something could be better. */
  level: "ok" | "advice" | "problem";
  /** A sentence that says what was found. */
  text: string;
  /** How to fix or improve it; null if there is nothing to do. */
  fix: string | null;
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
  | "index"
  | "hub"
  | "erasing"
  | "hooks"
  | "agents"
  | "transcripts";

export function ok(check: FindingCheck, text: string): Finding {
  return { check, level: "ok", text, fix: null };
}

export function advice(check: FindingCheck, text: string, fix: string): Finding {
  return { check, level: "advice", text, fix };
}

export function problem(check: FindingCheck, text: string, fix: string): Finding {
  return { check, level: "problem", text, fix };
}

/** Quotes a path for a shell. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
