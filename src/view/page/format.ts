import { codeOf, replaceHidden } from "../../core/invisible.ts";

const NUMBER = new Intl.NumberFormat("en");
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const SHORT_DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const TIME = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const USD = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 });

export const number = (value: number): string => NUMBER.format(value);
export const compact = (value: number): string => COMPACT.format(value);
export const day = (ms: number): string => DAY.format(ms);
export const shortDay = (ms: number): string => SHORT_DAY.format(ms);
export const time = (ms: number): string => TIME.format(ms);
export const dateTime = (ms: number): string => `${SHORT_DAY.format(ms)}, ${TIME.format(ms)}`;
export const usd = (value: number | null): string => (value === null ? "–" : USD.format(value));

/** Returns "1 message" or "12 messages". */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export const tokens = (value: number): string =>
  `${value < 10_000 ? number(value) : compact(value)} ${value === 1 ? "token" : "tokens"}`;

export function bytes(value: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let [size, unit] = [value, 0];
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000;
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

const SGR = /\x1b\[[0-9;]*m/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** Returns a text whose invisible characters can be seen, so that none of them changes how the rest is shown. Colors of terminals are left out. */
export function visible(text: string): string {
  return replaceHidden(text.replaceAll("\r\n", "\n").replace(SGR, "").replace(CONTROL, named), named);
}

function named(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "\u2421" : `⟨${codeOf(character)}⟩`;
}

export const oneLine = (text: string | null): string =>
  visible(text ?? "")
    .replace(/\s+/g, " ")
    .trim();

export const sessionTitle = (session: { title: string | null; id?: string; session?: string }): string =>
  oneLine(session.title) || session.id || session.session || "Untitled";

/** Returns the facts that are known as one line. */
export function factsLine(facts: readonly (string | null)[]): string {
  return facts.flatMap((fact) => (fact === null ? [] : [visible(fact)])).join(" · ");
}
