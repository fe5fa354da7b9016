import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ErrorCode, type ErrorDetails, StoreError } from "../../src/core/errors.ts";
import { SESSION_OPTIONS, type SessionOption } from "../../src/core/options.ts";
import { AGENT_NAMES, listed } from "../../src/importers/formats.ts";
import { openStore } from "../../src/index.ts";
import { LIMITS, type Limit } from "./limits.ts";
import { OPTION_MEANINGS } from "./option-meanings.ts";
import type { Page } from "./pages.ts";

/** One example of each error. The type requires one for each code. */
export const ERROR_EXAMPLES: { [C in ErrorCode]: ErrorDetails[C] } = {
  OPTION_INVALID: { option: "hotSize", expected: "a whole number from 1 to 10,000", actual: 0 },
  MESSAGE_INVALID: { path: "parts[0].args.at", reason: "expected plain JSON, got an instance of Date" },
  MESSAGE_CONFLICT: { sessionId: "support-42", externalId: "m-7", messageId: 12 },
  MESSAGE_NOT_FOUND: { messageId: 99 },
  VALUE_INVALID: { path: "entries[0].value.at", reason: "expected plain JSON, got an instance of Date" },
  NOT_ATOMIC: { operation: "recall" },
  WRITE_NESTED: { operation: "append", within: "the clock" },
  SESSION_NOT_FOUND: { sessionId: "support-43" },
  SESSION_SUPERSEDED: { sessionId: "0192f1a0", parentSessionId: "support-42" },
  SESSION_SHARED: { sessionId: "support-42", forkId: "support-43", operation: "forget" },
  SESSION_CONFLICT: { sessionId: "support-42", field: "project", stored: "web", given: "api" },
  SESSION_CHANGED: { sessionId: "support-42", seqExpected: 12, seqFound: 14 },
  HANDLE_INVALID: { handle: "theme:x", reason: "expected a level, a colon and a number" },
  ROOT_NOT_FOUND: { handle: "theme:7" },
  BUDGET_TOO_SMALL: { tokensMax: 100, tokensNeeded: 240 },
  STORE_CLOSED: { path: "agent.db" },
  STORE_READONLY: { path: "agent.db", operation: "append" },
  STORE_BUSY: { path: "agent.db" },
  STORE_CORRUPT: { path: "agent.db", reason: "database disk image is malformed" },
  FILE_NOT_FOUND: { path: "missing/agent.db" },
  FILE_EXISTS: { path: "agent-backup.db" },
  FILE_NOT_USABLE: { path: "/srv", reason: "it is a folder; give the path of a file in it" },
  NOT_A_STORE: { path: "notes.txt", reason: "file is not a database" },
  FORMAT_UNSUPPORTED: { path: "agent.db", reason: "a newer version has written it" },
  EMBEDDER_MISMATCH: { stored: "hashing-v1-384", given: "other-768" },
  VECTOR_INVALID: { reason: "its length in bytes is not 4 times the dimension", expected: 1536, actual: 12 },
  QUERY_REFUSED: { reason: "it does not only read" },
  QUERY_EMPTY: {},
  IMPORT_UNREADABLE: { path: "photo.png", reason: "it is a binary file" },
  MODEL_REFUSED: { model: "gemini-3.1-flash-lite", reason: "API key not valid", status: 400 },
  MODEL_UNAVAILABLE: {
    model: "gemini-3.1-flash-lite",
    reason: "quota exceeded",
    status: 429,
    retryAfterMs: 7_000,
  },
  MODEL_ANSWER_INVALID: { model: "gemini-3.1-flash-lite", reason: "it is cut off (MAX_TOKENS)" },
  REDACT_FAILED: { reason: "it threw an error" },
  HUB_UNREACHABLE: { hub: "hub.example/agents", reason: "ECONNREFUSED" },
  HUB_REFUSED: { hub: "hub.example/agents", reason: 'password authentication failed for user "ada"' },
  HUB_UNSAFE: { hub: "hub.example/agents", reason: "untrusted", found: "self-signed certificate" },
  HUB_CHANGED: {
    ...{ hub: "hub.example/agents", reason: "gone back", schema: "coppice_web" },
    ...{ sessionId: "support-42", found: 60, noted: 100 },
  },
  HUB_NOT_READY: { hub: "hub.example/agents", command: "coppice hub init --team T" },
  PACKAGE_MISSING: { package: "pg", user: "The hub" },
  ID_TAKEN: { sessionId: "support-42", what: "message 12", holder: "support-43" },
  SESSION_DIVERGED: { sessionId: "support-42", what: "message 12" },
  SESSION_COPIED: { sessionId: "support-42", author: "ada" },
  SESSION_FORGOTTEN: { sessionId: "support-42" },
  ROWS_INVALID: { path: "moved.rows", reason: "it is cut off: its last line is missing" },
};

/** Matches a section with its markers. */
const MARKED = /(<!-- BEGIN (\w+) -->\n)[\s\S]*?(<!-- END \2 -->)/g;

/** The generators of the text between `<!-- BEGIN name -->` and `<!-- END name -->`, by name. */
const SECTIONS: Record<string, () => string> = {
  options: optionsTable,
  limits: limitsTable,
  errors: errorsTable,
  schema: schemaTable,
  agents: () => `${listed(AGENT_NAMES)}.`,
};

/** Returns the pages with every section generated again. A marker without a generator, or the reverse, is an error. */
export function generateSections(pages: readonly Page[]): Page[] {
  const missing = new Set(Object.keys(SECTIONS));
  const generated = pages.map(({ path, text }) => ({
    path,
    text: text.replaceAll(MARKED, (_, begin: string, name: string, end: string) => {
      const generate = SECTIONS[name];
      if (generate === undefined) throw new Error(`Nothing generates the section "${name}" of ${path}.`);
      missing.delete(name);
      return `${begin}${generate()}\n${end}`;
    }),
  }));
  if (missing.size > 0) throw new Error(`No page has the section "${[...missing].join('", "')}".`);
  return generated;
}

function optionsTable(): string {
  return table(
    ["option", "default", "from", "to", "unit", "meaning"],
    Object.entries(SESSION_OPTIONS).map(([name, option]) => [
      `\`${name}\``,
      ...("words" in option
        ? [option.default, "", "", option.words.map((word) => `\`${word}\``).join(", ")]
        : [number(option.default), number(option.min), number(option.max), option.unit]),
      OPTION_MEANINGS[name as SessionOption],
    ]),
  );
}

function limitsTable(): string {
  return table(
    ["what", "at most", "beyond"],
    Object.values(LIMITS).map(({ what, min, max, beyond }: Limit) => [
      what,
      min === undefined ? number(max) : `${number(min)} to ${number(max)}`,
      `${beyond}.`,
    ]),
  );
}

function errorsTable(): string {
  return table(
    ["code", "for example", "what to do"],
    (Object.keys(ERROR_EXAMPLES) as ErrorCode[]).map((code) => {
      const { message, hint } = new StoreError(code, ERROR_EXAMPLES[code]);
      return [`\`${code}\``, message, hint ?? ""];
    }),
  );
}

/** Returns the tables and views of a new store with their columns, without the shadow tables of others. */
function schemaTable(): string {
  const folder = mkdtempSync(join(tmpdir(), "coppice-docs-"));
  const store = openStore(join(folder, "agent.db"));
  const rows = store.query(
    `SELECT m.name, m.type, group_concat(p.name, ', ') AS columns
     FROM sqlite_master m JOIN pragma_table_xinfo(m.name) p ON p.hidden <> 1
     WHERE m.name IN (SELECT name FROM pragma_table_list WHERE type <> 'shadow')
       AND m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE '\\_\\_%' ESCAPE '\\'
     GROUP BY m.name ORDER BY m.type, m.name`,
  );
  store.close();
  rmSync(folder, { recursive: true });
  return table(
    ["name", "kind", "columns"],
    rows.map(({ name, type, columns }) => [`\`${name}\``, String(type), String(columns)]),
  );
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
