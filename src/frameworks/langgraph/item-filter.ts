import { isDeepStrictEqual } from "node:util";

type Comparison = (field: unknown, operand: unknown) => boolean;

/** The operators of LangGraph's stores. */
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  $eq: isDeepStrictEqual,
  $ne: (field, operand) => !isDeepStrictEqual(field, operand),
  $gt: (field, operand) => orderOf(field, operand) > 0,
  $gte: (field, operand) => orderOf(field, operand) >= 0,
  $lt: (field, operand) => orderOf(field, operand) < 0,
  $lte: (field, operand) => orderOf(field, operand) <= 0,
  $in: (field, operand) => Array.isArray(operand) && operand.some((one) => isDeepStrictEqual(field, one)),
  $nin: (field, operand) => !(Array.isArray(operand) && operand.some((one) => isDeepStrictEqual(field, one))),
};

/** Returns true if every field of the filter matches: it is equal, or all of its operators hold. */
export function matches(value: Readonly<Record<string, unknown>>, filter: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const field = Object.hasOwn(value, name) ? value[name] : undefined;
    if (!isOperators(wanted)) return isDeepStrictEqual(field, wanted);
    return Object.entries(wanted).every(([operator, operand]) => COMPARISONS[operator]!(field, operand));
  });
}

/** An object with other keys, too, is a value to compare with. */
function isOperators(wanted: unknown): wanted is Record<string, unknown> {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return false;
  return Object.keys(wanted).every((key) => Object.hasOwn(COMPARISONS, key));
}

/** Texts that are not numbers are in order of code points. NaN, which no comparison accepts, if there is no order. */
function orderOf(field: unknown, operand: unknown): number {
  if (field === undefined || field === null) return Number.NaN;
  const difference = Number(field) - Number(operand);
  if (!Number.isNaN(difference) || typeof field !== "string" || typeof operand !== "string") return difference;
  return Buffer.compare(Buffer.from(field), Buffer.from(operand)); // UTF-8 is in order of code points
}
