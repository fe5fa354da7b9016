/** An object as it came, its fields unknown. */
export type Fields = Record<string, unknown>;

/** Whose fields they are: the key under which a part, or a message's metadata, holds them. */
export type Provider = "openai" | "anthropic" | "gemini" | "aiSdk" | "aiSdkUi" | "llxprt";

/** Holds how a provider's message stood, where the part alone does not tell. No provider has a field of this name. */
const FORM = "coppice";

/** What a provider has of its own on a part or a message: fields that go back to it, and the form they go back in. */
export interface Own {
  fields: Fields;
  form: Fields;
}

/** Empty where there is nothing; fields of other providers are none of this one's business. */
export function ownOf(holder: object | undefined, provider: Provider): Own {
  const own = (holder as Fields | undefined)?.[provider];
  if (!isObject(own)) return { fields: {}, form: {} };
  const { [FORM]: form, ...fields } = own;
  return { fields, form: isObject(form) ? form : {} };
}

/** The reverse, to be spread into a part or into metadata: nothing at all where all is told without. */
export function keep(provider: Provider, fields: Fields, form: Fields = {}): Fields {
  const known = defined(form);
  const own = isEmpty(known) ? defined(fields) : { ...defined(fields), [FORM]: known };
  return isEmpty(own) ? {} : { [provider]: own };
}

/** The same for a message: its metadata, or none. */
export function keepInMetadata(provider: Provider, fields: Fields, form: Fields = {}): { metadata?: Fields } {
  const metadata = keep(provider, fields, form);
  return isEmpty(metadata) ? {} : { metadata };
}

/** `{ key: fields }`, or nothing where there are none: fields of an object inside a block. */
export function nested(key: string, fields: Fields): Fields {
  const known = defined(fields);
  return isEmpty(known) ? {} : { [key]: known };
}

/** SDKs write `undefined` where there is nothing; JSON, and so a store, does not. */
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
