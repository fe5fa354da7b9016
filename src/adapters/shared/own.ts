/** A provider's object, with unknown fields. */
export type Fields = Record<string, unknown>;

/** The key under which a part, or a message's metadata, holds a provider's own fields. */
export type Provider = "openai" | "anthropic" | "gemini" | "aiSdk" | "aiSdkUi" | "llxprt";

/** The key for marks about the original form of a message, which no provider uses. */
const FORM = "coppice";

/** A provider's own fields on a part or a message, and the marks about its original form. */
export interface Own {
  fields: Fields;
  form: Fields;
}

/** Returns one provider's own fields, empty if there are none. */
export function ownOf(holder: object | undefined, provider: Provider): Own {
  const own = (holder as Fields | undefined)?.[provider];
  if (!isObject(own)) return { fields: {}, form: {} };
  const { [FORM]: form, ...fields } = own;
  return { fields, form: isObject(form) ? form : {} };
}

/** Returns an object to spread into a part or into metadata. It is empty if there is nothing to keep. */
export function keep(provider: Provider, fields: Fields, form: Fields = {}): Fields {
  const known = defined(form);
  const own = isEmpty(known) ? defined(fields) : { ...defined(fields), [FORM]: known };
  return isEmpty(own) ? {} : { [provider]: own };
}

/** Returns a message's `metadata` with the fields to keep, or an empty object. */
export function keepInMetadata(provider: Provider, fields: Fields, form: Fields = {}): { metadata?: Fields } {
  const metadata = keep(provider, fields, form);
  return isEmpty(metadata) ? {} : { metadata };
}

/** Returns `{ key: fields }` for the fields of an inner object, or an empty object if there are none. */
export function nested(key: string, fields: Fields): Fields {
  const known = defined(fields);
  return isEmpty(known) ? {} : { [key]: known };
}

/** Drops undefined fields: SDKs write them, and JSON cannot hold them. */
function defined(fields: Fields): Fields {
  if (!Object.values(fields).includes(undefined)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function isEmpty(fields: Fields): boolean {
  return Object.keys(fields).length === 0;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
