export type Fields = Record<string, unknown>;

/** The key under which a part, or a message's metadata, holds a provider's own fields. */
export type Provider = "openai" | "anthropic" | "gemini" | "aiSdk" | "aiSdkUi" | "llxprt";

/** The key for marks about the original form of a message, which no provider uses. */
const FORM = "coppice";

/** Returns the provider's own fields, and the marks about the original form. */
export function ownOf(holder: object | undefined, provider: Provider): { fields: Fields; form: Fields } {
  const { [FORM]: form, ...fields } = asObject((holder as Fields | undefined)?.[provider]);
  return { fields, form: asObject(form) };
}

/** Returns an object to spread into a part or into metadata, empty if there is nothing to keep. */
export function keep(provider: Provider, fields: Fields, form: Fields = {}): Fields {
  return nested(provider, { ...fields, ...nested(FORM, form) });
}

export function keepInMetadata(provider: Provider, fields: Fields, form: Fields = {}): { metadata?: Fields } {
  return nested("metadata", keep(provider, fields, form));
}

/** Returns `{ key: fields }`, or an empty object if all fields are undefined. */
export function nested(key: string, fields: Fields): Fields {
  const known = defined(fields);
  return Object.keys(known).length === 0 ? {} : { [key]: known };
}

export function asObject(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** Drops undefined fields: SDKs write them, and JSON cannot hold them. */
export function defined<T extends object>(fields: T): T {
  if (!Object.values(fields).includes(undefined)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
