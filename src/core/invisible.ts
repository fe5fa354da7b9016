import { once } from "./once.ts";

// V8 takes milliseconds for these patterns, and few texts need them.

/** Characters that nobody sees, and line separators. Some characters of these categories are seen: signs before numbers, and joints of hieroglyphs. */
const HIDDEN = String.raw`(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\p{Script=Egyptian_Hieroglyphs}])[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Zl}\p{Zp}]`;

/** A flag such as Scotland's: its tags spell the region. */
const FLAG = String.raw`\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{2,6}\u{e007f}`;

const EMOJI = String.raw`(?![#*\d])[\p{Emoji}\p{Extended_Pictographic}]`;

/** A letter, mark or digit of a script that is written with joiners. */
const JOINED = String.raw`(?!${HIDDEN}|[\p{Script=Common}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{M}\p{N}]`;

/** A character that is written from right to left, and what may stand between it and a mark of direction. */
const RIGHT_TO_LEFT = String.raw`(?!${HIDDEN})[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]`;
const BESIDE = String.raw`[\p{P}\p{S}\p{Zs}\d]{0,3}`;

/** Where a hidden character is part of what is seen: one after a base that takes it, or one at a letter whose script needs it. */
const NEEDED = once(
  () =>
    new RegExp(
      [
        // An emoji's look, a keycap, and several emoji as one.
        `(?<=${EMOJI})[\\ufe0e\\ufe0f]`,
        String.raw`(?<=[#*\d])[\ufe0e\ufe0f](?=\u20e3)`,
        String.raw`(?<=${EMOJI}\ufe0f?)\u200d(?=${EMOJI})`,
        // Variants that Unicode lists: of ideographs, and of signs and letters.
        String.raw`(?<=\p{Unified_Ideograph})[\ufe00-\ufe02\u{e0100}-\u{e01ef}]`,
        String.raw`(?<=(?![\0-\x7f])\p{Sm}|[0\uff10\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}])\ufe00`,
        String.raw`(?<=[\u2018\u2019\u201c\u201d\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f])[\ufe00\ufe01]`,
        String.raw`(?<=\p{Script=Egyptian_Hieroglyphs})[\ufe00-\ufe06]`,
        String.raw`(?<=(?!${HIDDEN})\p{Script=Mongolian}[\u180b-\u180d\u180f]?)\u180e`,
        String.raw`(?<=(?!${HIDDEN})\p{Script=Mongolian})[\u180b-\u180d\u180f]`,
        // Joiners, breaks between words that have no spaces, and vowels that are not written.
        String.raw`(?<=${JOINED})[\u034f\u17b4\u17b5\u200b-\u200d]`,
        String.raw`[\u200b-\u200d](?=${JOINED})`,
        String.raw`(?<=${RIGHT_TO_LEFT}${BESIDE})[\u061c\u200e\u200f]`,
        String.raw`[\u061c\u200e\u200f](?=${BESIDE}${RIGHT_TO_LEFT})`,
        // A syllable of old Hangul that lacks its first consonant or its vowel.
        String.raw`\u115f(?=[\u1161-\u11a7\ud7b0-\ud7c6])`,
        String.raw`(?<=[\u1100-\u115e\ua960-\ua97c])\u1160`,
      ].join("|"),
      "uy",
    ),
);

const MAYBE_HIDDEN = /[^\0-\xac]/;
const FLAG_OR_HIDDEN = once(() => new RegExp(`${FLAG}|${HIDDEN}`, "gu"));

/**
 * Replaces characters that a model reads and a person does not see, and those that turn the reading order around. What emoji
 * and scripts need stays: the joiners of Persian and Hindi, or one variation selector after a base that takes one.
 */
export function replaceHidden(text: string, replacement: (character: string) => string): string {
  if (!MAYBE_HIDDEN.test(text)) return text;
  return text.replace(FLAG_OR_HIDDEN(), (found: string, index: number) => {
    if (found.length > 2) return found;
    const needed = NEEDED();
    needed.lastIndex = index;
    return needed.test(text) ? found : replacement(found);
  });
}

/** Returns the code of a character, such as `U+202E`. */
export function codeOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}
