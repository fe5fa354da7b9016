import { isPlain, placesIn } from "./odd-json.ts";
import { oddText } from "./odd-texts.ts";
import type { Random } from "./random.ts";

/** The error that odd objects throw. */
export class CallersError extends Error {}

/** Returns true for an error of the caller's own objects. The caller gets it back, so it is no fault. */
export function isCallers(error: unknown): boolean {
  return (
    error instanceof CallersError ||
    String((error as Error | undefined)?.message).endsWith("on a proxy that has been revoked")
  );
}

const throws = (): never => {
  throw new CallersError("thrown by an odd value");
};

class Instance {
  role = "user";
  content = "an instance";
}

/** Values that are made anew each time, because a call may change them. */
const ODD_VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => 0,
  () => -0,
  () => Number.NaN,
  () => Number.POSITIVE_INFINITY,
  () => -1,
  () => 0.5,
  () => 1e308,
  () => 2 ** 31,
  () => 2 ** 53,
  () => 9e15,
  () => 8.64e15,
  () => -8.64e15,
  () => 10n,
  () => 2n ** 64n,
  () => Symbol("odd"),
  () => Symbol.iterator,
  () => [],
  () => new Array(3),
  () => new Array(2 ** 32 - 1),
  () => [undefined],
  () => ["x", null],
  () => ({}),
  () => Object.create(null),
  () => Object.create({ role: "user", content: "inherited" }),
  () => JSON.parse('{"__proto__":{"limit":1}}'),
  () => ({ length: 1e9 }),
  () => ({ toString: throws, valueOf: throws, [Symbol.toPrimitive]: throws }),
  () => ({ toJSON: throws }),
  // biome-ignore lint/suspicious/noThenProperty: a thenable is the point.
  () => ({ then: throws }),
  () => Object.defineProperty({}, "limit", { get: throws, enumerable: true }),
  () => Object.defineProperty({}, "role", { get: throws, enumerable: true }),
  () => new Proxy({}, {}),
  () => new Proxy([], { get: throws }),
  () => new Proxy({}, { get: throws, has: throws, ownKeys: throws, getPrototypeOf: throws }),
  () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  () => {
    const cyclic: Record<string, unknown> = { role: "user", content: "cyclic" };
    cyclic.metadata = cyclic;
    return cyclic;
  },
  () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    return cyclic;
  },
  () => nested(300),
  () => nested(20_000),
  () => () => 1,
  () => throws,
  () => async () => throws(),
  () => new Instance(),
  () => new Date(),
  () => new Date(Number.NaN),
  () => new Map([["limit", 1]]),
  () => new Set(["a"]),
  () => /x/g,
  () => new Uint8Array(3),
  () => Buffer.from("bytes"),
  () => new Float32Array(384).fill(Number.NaN),
  () => new Float32Array(384).fill(3e38),
  () => new Float32Array(3),
  () => Array.from({ length: 384 }, (_, index) => index / 384),
  () => new ArrayBuffer(8),
  () => new String("boxed"),
  () => new Error("an error as a value"),
  () => Object.freeze({ role: "user", content: "frozen" }),
  () => AbortSignal.abort(new CallersError("aborted")),
  () => Promise.resolve(1),
  () => [1, 2, 3][Symbol.iterator](),
  () => Array.from({ length: 100_000 }, (_, index) => index),
  () => ({ role: "user", content: "a message" }),
  () => ({ type: "text", text: "a part" }),
];

function nested(depth: number): unknown {
  let value: unknown = "deep";
  for (let count = 0; count < depth; count++) value = count % 2 === 0 ? [value] : { content: value };
  return value;
}

export function oddValue(random: Random): unknown {
  return random.chance(0.3) ? oddText(random) : random.pick(ODD_VALUES)();
}

/** Usually returns an odd value, or a copy of the value with an odd value in it; sometimes the value itself. */
export function mutatedValue(value: unknown, random: Random): unknown {
  if (random.chance(0.3)) return value;
  if (!(Array.isArray(value) || isPlain(value)) || random.chance(0.2)) return oddValue(random);
  const root = copied(value) as object;
  const [holder, key] = random.pick([...placesIn(root), [root as Record<string, unknown>, oddText(random)] as const]);
  if (random.chance(0.1)) Object.defineProperty(holder, key, { get: throws, enumerable: true, configurable: true });
  else {
    holder[key] = oddValue(random);
    if (random.chance(0.1)) delete holder[key];
  }
  return root;
}

/** Copies lists and plain objects. Functions and signals stay what they are. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copied(item)]));
}
