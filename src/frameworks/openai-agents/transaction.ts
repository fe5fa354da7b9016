import { type AgentInputItem, protocol, UserError } from "@openai/agents-core";

export type HistoryTransaction =
  | { type: "append_items"; items: AgentInputItem[] }
  | { type: "replace_suffix"; expectedSuffix: AgentInputItem[]; replacement: AgentInputItem[] };

/**
 * Reads the arguments of a transaction once, and copies them.
 *
 * @throws {UserError} for anything that cannot be compared with a later copy. Its text quotes nothing of the items.
 */
export function snapshotArguments(args: unknown): { operationId: string; transaction: HistoryTransaction } {
  const { operationId, transaction } = envelopeOf(args);
  if (typeof operationId !== "string" || operationId.trim() === "") {
    throw new UserError("Session history transaction operationId must be a non-empty string.");
  }
  if (typeof transaction !== "object" || transaction === null) {
    throw new UserError("Session history transaction must be an object.");
  }
  return { operationId, transaction: snapshotTransaction(transaction) };
}

function envelopeOf(args: unknown): { operationId: unknown; transaction: unknown } {
  try {
    const { operationId, transaction } = args as { operationId: unknown; transaction: unknown };
    return { operationId, transaction };
  } catch {
    throw new UserError("Session history transaction arguments are invalid.");
  }
}

function snapshotTransaction(given: object): HistoryTransaction {
  const record = unlessUnsupported(() => {
    structuredClone(given); // refuses proxies
    return snapshotOf(given) as Record<string, unknown>;
  });
  const { type, items, expectedSuffix, replacement } = record;
  const hasOnly = (...fields: string[]): boolean =>
    Object.keys(record).length === fields.length && fields.every((field) => Object.hasOwn(record, field));
  if (type === "append_items") {
    if (!hasOnly("type", "items") || !Array.isArray(items)) {
      throw new UserError("Session history append transaction fields are invalid.");
    }
    return { type, items: unlessUnsupported(() => checkedItems(items)) };
  }
  if (type !== "replace_suffix") throw new UserError("Unsupported session history transaction type.");
  const isComplete = hasOnly("type", "expectedSuffix", "replacement");
  if (!isComplete || !Array.isArray(expectedSuffix) || !Array.isArray(replacement)) {
    throw new UserError("Session history suffix transaction fields are invalid.");
  }
  return unlessUnsupported(() => ({
    type,
    expectedSuffix: checkedItems(expectedSuffix),
    replacement: checkedItems(replacement),
  }));
}

function unlessUnsupported<T>(run: () => T): T {
  try {
    return run();
  } catch {
    throw new UserError("Session history transaction items contain invalid or unsupported data.");
  }
}

function checkedItems(items: readonly unknown[]): AgentInputItem[] {
  for (const item of items) if (!protocol.ModelItem.safeParse(item).success) throw new TypeError("not an item");
  return items as AgentInputItem[];
}

/** Returns a copy of items. @throws {TypeError} if a value is neither plain data nor a `Uint8Array`. */
export function snapshotItems(items: readonly unknown[]): AgentInputItem[] {
  return snapshotOf(items) as AgentInputItem[];
}

/** Copies plain data. It runs no accessor, and refuses what a copy would not have: hidden fields, cycles, holes and classes. */
function snapshotOf(value: unknown, ancestors = new Set<object>()): unknown {
  if (typeof value !== "object" || value === null) {
    if (["string", "boolean", "number", "undefined", "object"].includes(typeof value)) return value;
    throw new TypeError(`A ${typeof value} is not data.`);
  }
  if (ancestors.has(value)) throw new TypeError("A cycle is not data.");
  ancestors.add(value);
  try {
    const keys = Reflect.ownKeys(value);
    if (value instanceof Uint8Array) {
      if (keys.length !== value.length) throw new TypeError("Bytes have no other fields.");
      return new Uint8Array(value);
    }
    const isList = Array.isArray(value);
    const prototype = Object.getPrototypeOf(value);
    if (isList ? keys.length !== value.length + 1 : prototype !== Object.prototype && prototype !== null) {
      throw new TypeError("Only plain objects and lists are data.");
    }
    const copy: object = isList ? [] : {};
    for (const key of keys) {
      if (isList && key === "length") continue;
      const descriptor = Object.getOwnPropertyDescriptor(value, key);
      if (typeof key !== "string" || !descriptor?.enumerable || !("value" in descriptor)) {
        throw new TypeError("A hidden or computed field is not data.");
      }
      const copied = snapshotOf(descriptor.value, ancestors);
      Object.defineProperty(copy, key, { value: copied, enumerable: true, configurable: true, writable: true });
    }
    return copy;
  } finally {
    ancestors.delete(value);
  }
}
