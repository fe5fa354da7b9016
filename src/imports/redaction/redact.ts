import type { ReadableEvent } from "../../importers/importer.ts";
import { type Secret, secretsIn } from "./secrets.ts";
import { mapStrings } from "./strings.ts";
import { isNamedSecret } from "./value-rules.ts";

/** How many texts were replaced, by kind of secret or `private`. */
export type Replaced = Record<string, number>;

export type RedactedEvent = ReadableEvent & { replaced?: Replaced };

const PRIVATE_TAG = /<(\/?)private>/gi;
const HAS_PRIVATE_TAG = /<\/?private>/i;

/** Most strings are keys, types and names that come again and again. As many clean ones, up to this length, are not searched again. */
const CLEAN_MAX = 4_096;
const CLEAN_CHARS_MAX = 32;

/** Replaces secrets, and what stands between `<private>` and `</private>`, by placeholders that name the kind. */
export class Redactor {
  readonly #keepsSecrets: boolean;
  #replaced: Replaced | undefined;
  readonly #clean = new Set<string>();
  readonly #onSecret: ((secret: string) => void) | undefined;

  /** @param options.onSecret  Called with each text that is replaced. */
  constructor({ keepSecrets, onSecret }: { keepSecrets: boolean; onSecret?: (secret: string) => void }) {
    this.#keepsSecrets = keepSecrets;
    this.#onSecret = onSecret;
  }

  /** Redacts what an event says. Ids stay, because they must be the same at each reading. */
  event(event: ReadableEvent): RedactedEvent {
    switch (event.kind) {
      case "message":
      case "restored": {
        const message = this.redacted(event.message);
        if (message === event.message) return event;
        const { id } = event.message;
        if (id !== undefined) message.id = id;
        return { ...event, message, replaced: this.#takeReplaced() } as RedactedEvent;
      }
      case "entry": {
        const value = this.redacted(event.entry.value);
        return { ...event, entry: { ...event.entry, value }, replaced: this.#takeReplaced() };
      }
      case "item": {
        const value = this.redacted(event.item.value);
        return { ...event, item: { ...event.item, value }, replaced: this.#takeReplaced() };
      }
      case "session": {
        const { folder, ...session } = event.session;
        const { title, project, metadata } = session;
        const names = this.redacted({
          ...(title !== undefined && { title }),
          ...(project !== undefined && { project }),
          ...(metadata && { metadata }),
        });
        // A folder with a placeholder would be another one, so it tells no project.
        const isPlain = folder !== undefined && this.redacted(folder) === folder;
        this.#takeReplaced();
        return { ...event, session: { ...session, ...names, ...(isPlain && { folder }) } };
      }
      case "title":
      case "warning": {
        const redacted = this.redacted(event);
        this.#takeReplaced();
        return redacted;
      }
      case "head":
      case "paused":
        return event;
    }
  }

  /** Returns a value with each of its strings redacted. If nothing was replaced, it is the same value. */
  redacted<T>(value: T): T {
    return mapStrings(value, (text, key) => this.#text(text, key));
  }

  #takeReplaced(): Replaced {
    const replaced = this.#replaced ?? {};
    this.#replaced = undefined;
    return replaced;
  }

  #text(text: string, key?: string): string {
    if (key !== undefined && !this.#keepsSecrets && isNamedSecret(key, text)) {
      this.#onSecret?.(text);
      return this.#placeholder("named-secret");
    }
    const isShort = text.length <= CLEAN_CHARS_MAX;
    if (isShort && this.#clean.has(text)) return text;
    const open = this.#without(text, privateIn(text));
    const clean = this.#keepsSecrets ? open : this.#without(open, secretsIn(open));
    if (isShort && clean === text && this.#clean.size < CLEAN_MAX) this.#clean.add(text);
    return clean;
  }

  #without(text: string, stretches: readonly Secret[]): string {
    if (stretches.length === 0) return text;
    let result = "";
    let end = 0;
    for (const stretch of stretches) {
      this.#onSecret?.(text.slice(stretch.start, stretch.end));
      result += text.slice(end, stretch.start) + this.#placeholder(stretch.kind);
      end = stretch.end;
    }
    return result + text.slice(end);
  }

  #placeholder(kind: string): string {
    this.#replaced ??= {};
    this.#replaced[kind] = (this.#replaced[kind] ?? 0) + 1;
    return kind === "private" ? "[private]" : `[secret: ${kind}]`;
  }
}

/** Finds what stands between `<private>` and `</private>`, in order. Of nested stretches, only the outermost is returned. */
function privateIn(text: string): Secret[] {
  if (!HAS_PRIVATE_TAG.test(text)) return [];
  const found: Secret[] = [];
  const starts: number[] = [];
  for (const { 0: tag, 1: slash, index } of text.matchAll(PRIVATE_TAG)) {
    if (slash === "") {
      starts.push(index);
      continue;
    }
    const start = starts.pop();
    if (start === undefined) continue;
    while ((found.at(-1)?.start ?? -1) > start) found.pop();
    found.push({ kind: "private", start, end: index + tag.length });
  }
  return found;
}
