import { parseStored } from "../../core/damage.ts";
import type { Part } from "../../core/message.ts";
import { Columns, columns, type RowOf } from "./statement.ts";
import { TABLES } from "./tables.ts";

const HAS_PAIRS = /[\ud800-\udbff]/;

const READ = columns(TABLES.messages).without("parentId", "embedding", "embedderId", "storedText");

/** SQL: the message `m` is of a step. It uses the key for the step's first message, and the index by step for the others. */
export function isOfStep(step: string): string {
  return `(m.id = ${step} OR (m.step_id = ${step} AND m.step_id <> m.id))`;
}

export type SelectedMessage = RowOf<typeof READ> & {
  /** `parts`, parsed. Undefined if they are not JSON. Strings that are in `artifacts` are not in them. */
  parsedParts: Part[] | undefined;
};

/**
 * Everything that a reader is shown. The driver takes longer to make a Buffer than to read all other columns, and SQLite
 * parses `parts` to compute `text`. So digests are read in hex, and `text` is made from `stored_text` and the parsed parts.
 */
class MessageColumns extends Columns<SelectedMessage> {
  constructor(alias = "") {
    super(TABLES.messages, READ.keys, alias);
  }

  override of(alias: string): MessageColumns {
    return new MessageColumns(`${alias}.`);
  }

  override toString(): string {
    return `${super.toString()}, typeof(${this.alias}stored_text) = 'blob' AS isShared`;
  }

  protected override expressionOf(key: string, name: string): string {
    // Of a text, SQLite would give the same digits.
    if (key === "digest") return `hex(CASE typeof(${name}) WHEN 'blob' THEN ${name} END) AS digest`;
    return key === "text" ? `CAST(${this.alias}stored_text AS TEXT) AS text` : super.expressionOf(key, name);
  }

  override decode(row: Record<string, unknown>): void {
    this.#complete(row);
    super.decode(row);
  }

  override change(row: Record<string, unknown>, values: Partial<Record<keyof SelectedMessage, string | number>>): void {
    this.#complete(row);
    super.change(row, values);
  }

  #complete(row: Record<string, unknown>): void {
    const parts = parsedOrUndefined(row.parts as string);
    // A damaged row may have no BLOB that a text is made of. The schema requires a text.
    if (row.isShared === 1) row.text = sharedTextOf(row.text as string, parts);
    row.digest = Buffer.from(row.digest as string, "hex");
    row.parsedParts = parts;
  }
}

export const MESSAGE = new MessageColumns();

/** The values of `MESSAGE` as a list, which the driver makes faster than an object. */
export type MessageValues = readonly unknown[];

/** Returns the row that has these values. @throws {DamageError} if it is damaged. */
export function messageRowOf(values: MessageValues): SelectedMessage {
  const row = uncheckedRowOf(values);
  MESSAGE.decode(row);
  return row as unknown as SelectedMessage;
}

/** Returns the row that has these values, as the driver read them. */
export function uncheckedRowOf(values: MessageValues): Record<string, unknown> {
  return {
    id: values[0],
    sessionId: values[1],
    seq: values[2],
    stepId: values[3],
    turnSeq: values[4],
    role: values[5],
    pinned: values[6],
    tokenCount: values[7],
    createdAtMs: values[8],
    name: values[9],
    externalId: values[10],
    tokenCounter: values[11],
    digest: values[12],
    metadata: values[13],
    parts: values[14],
    text: values[15],
    checksum: values[16],
    isShared: values[17],
    parsedParts: undefined,
  };
}

/** @throws {DamageError} if they are not JSON. */
export function partsOf({ parts, parsedParts }: SelectedMessage): Part[] {
  return parsedParts ?? (parseStored(parts) as Part[]);
}

/** Returns the column from which `text` is computed: see schema.ts. */
export function storedTextOf(text: string, parts: readonly Part[]): string | Buffer {
  const first = firstString(parts);
  const shared = first.slice(0, sharedUnits(first, text)).replace(/[\ud800-\udbff]$/, "");
  if (shared === "") return text;
  // SQLite counts characters.
  const chars = shared.length - (HAS_PAIRS.test(shared) ? (shared.match(/[\udc00-\udfff]/g)?.length ?? 0) : 0);
  return Buffer.from(`${chars} ${text.slice(shared.length)}`);
}

function sharedUnits(first: string, text: string): number {
  if (text.startsWith(first)) return first.length;
  let units = 0;
  while (units < first.length && first.charCodeAt(units) === text.charCodeAt(units)) units += 1;
  return units;
}

/** True if a BLOB of `stored_text` can be what `storedTextOf` made: SQLite computes the same text of others, too. */
export function isSharedText(stored: Buffer, partsJson: string): boolean {
  return sharedTextOf(stored.toString(), parsedOrUndefined(partsJson)) !== null;
}

/**
 * Returns what `TEXT_OF_ROW` in schema.ts computes of a BLOB; null if it does not say how many characters of the first part are
 * shared, or says more than there are.
 */
function sharedTextOf(stored: string, parts: readonly Part[] | undefined): string | null {
  if (!/^\d+ /.test(stored)) return null;
  if (parts === undefined) return stored;
  const first = firstString(parts);
  const chars = Number.parseInt(stored, 10);
  const shared = HAS_PAIRS.test(first) ? [...first.slice(0, 2 * chars)].slice(0, chars) : first.slice(0, chars);
  if (shared.length < chars) return null;
  const text = typeof shared === "string" ? shared : shared.join("");
  return text + stored.slice(stored.indexOf(" ") + 1);
}

function firstString([part]: readonly Part[]): string {
  const first = part?.type === "text" ? part.text : part?.type === "tool_result" ? part.content : undefined;
  return typeof first === "string" ? first : "";
}

function parsedOrUndefined(json: string): Part[] | undefined {
  try {
    const parts = JSON.parse(json) as Part[];
    return Array.isArray(parts) ? parts : undefined;
  } catch {
    return undefined; // the checksum tells that the row is damaged
  }
}
