/** Texts that are stored as base64 have these media types. */
const TEXT_MEDIA =
  /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|toml|x-sh|javascript|x-ndjson|x-pem-file)\b/i;

/**
 * Returns a value with each of its strings changed: also the keys of objects, and texts that a file part holds as base64. If no string
 * was changed, it is the same value.
 */
export function mapStrings<T>(value: T, change: Change): T {
  return mapped(value, change) as T;
}

/** Gets a string, and the key under which it stands in an object. */
type Change = (text: string, key?: string) => string;

function mapped(value: unknown, change: Change, key?: string): unknown {
  if (typeof value === "string") return change(value, key);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, change));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const isFile = "type" in value && value.type === "file";
  const mediaType = "mediaType" in value && typeof value.mediaType === "string" ? value.mediaType : "";
  const entries = Object.entries(value);
  const changed = entries.map(([key, item]) => {
    const isData = isFile && key === "data" && typeof item === "string";
    return [change(key), isData ? mappedData(item, mediaType, change) : mapped(item, change, key)] as const;
  });
  if (changed.every(([key, item], index) => key === entries[index]![0] && item === entries[index]![1])) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of changed) copy[unusedKey(copy, key)] = item;
  return copy;
}

/** Several keys may become the same. */
function unusedKey(object: object, key: string): string {
  let unused = key;
  for (let count = 2; Object.hasOwn(object, unused); count++) unused = `${key} ${count}`;
  return unused;
}

function mappedData(base64: string, mediaType: string, change: Change): string {
  if (!TEXT_MEDIA.test(mediaType)) return base64;
  const text = Buffer.from(base64, "base64").toString();
  const changed = change(text);
  return changed === text ? base64 : Buffer.from(changed).toString("base64");
}
