import { oddText } from "./odd-texts.ts";
import type { Random } from "./random.ts";

const ODD_LITERALS: readonly string[] = [
  "null",
  "true",
  "false",
  "0",
  "-0",
  "-1",
  "0.1",
  "1e400",
  "-1e400",
  "1e-400",
  "9e15",
  "8.64e15",
  "8640000000000001",
  "9007199254740993",
  "18446744073709551616",
  "123456789012345678901234567890",
  '""',
  "[]",
  "{}",
  "[null]",
  "[[]]",
  '{"":""}',
  '{"__proto__":{"role":"user"}}',
  '{"a":1,"a":2}',
  '{"type":"text"}',
  '[{"type":"text","text":7}]',
  '{"length":1e9}',
  '"\\ud800"',
  '"\\u0000"',
];

/** Returns JSON of any type. It is text, because JSON can hold numbers and nesting that a value would lose. */
export function oddJson(random: Random): string {
  if (random.chance(0.3)) return JSON.stringify(oddText(random));
  if (random.chance(0.05)) return nested(random);
  if (random.chance(0.02)) return wide(random);
  return random.pick(ODD_LITERALS);
}

function nested(random: Random): string {
  const depth = random.pick([150, 199, 200, 201, 1_000, 5_000, 20_000]);
  const [open, close] = random.pick([
    ["[", "]"],
    ['{"a":', "}"],
    ['[{"content":', "}]"],
  ]);
  return `${open.repeat(depth)}0${close.repeat(depth)}`;
}

function wide(random: Random): string {
  const count = random.pick([1_000, 10_001, 30_000]);
  if (random.chance(0.5)) return `[${Array.from({ length: count }, () => '{"type":"text","text":"w"}').join()}]`;
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":${index}`).join()}}`;
}

/** Stands for odd JSON until the value has been written as text. */
const PLACEHOLDER = "\ue000odd\ue000";

type Holder = Record<string, unknown>;

/**
 * Returns the JSON of a value that was changed in one to three places: values replaced, moved, wrapped or removed, and keys renamed
 * or given twice.
 *
 * @param value  The value, which is changed itself.
 */
export function mutatedJson(value: unknown, random: Random): string {
  const root: Holder = { value };
  for (let count = 1 + random.below(3); count > 0; count--) mutateOnce(root, random);
  const json = JSON.stringify(root.value) ?? "null";
  const pieces = json.split(JSON.stringify(PLACEHOLDER));
  return pieces.reduce((before, after) => `${before}${oddJson(random)}${after}`);
}

function mutateOnce(root: Holder, random: Random): void {
  const places = placesIn(root);
  const [holder, key] = random.pick(places);
  const [otherHolder, otherKey] = random.pick(places);
  switch (random.below(8)) {
    case 0:
      // The root itself stays, so that there is something to change.
      if (holder !== root) delete holder[key];
      break;
    case 1:
      holder[key] = structuredClone(otherHolder[otherKey]);
      break;
    case 2:
      holder[key] = random.chance(0.5) ? [holder[key]] : { [key]: holder[key] };
      break;
    case 3:
      if (!Array.isArray(holder) && holder !== root) {
        holder[random.chance(0.5) ? oddText(random) : otherKey] = holder[key];
        if (random.chance(0.5)) delete holder[key];
      }
      break;
    default:
      holder[key] = PLACEHOLDER;
  }
}

export function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Lists every value in lists and plain objects as the object that holds it and its key there. */
export function placesIn(root: object): [Holder, string][] {
  const places: [Holder, string][] = [];
  const waiting: object[] = [root];
  for (let holder = waiting.pop(); holder !== undefined; holder = waiting.pop()) {
    for (const [key, value] of Object.entries(holder)) {
      places.push([holder as Holder, key]);
      if (Array.isArray(value) || isPlain(value)) waiting.push(value);
    }
  }
  return places;
}
