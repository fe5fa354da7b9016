/** A part of `tokenizer.json`, as the library `tokenizers` writes it. */
interface Component {
  type: string;
  normalizers?: Component[];
  pretokenizers?: Component[];
  [setting: string]: unknown;
}

interface TokenizerFile {
  normalizer: Component | null;
  pre_tokenizer: Component | null;
  model: {
    type?: string;
    vocab: Record<string, number>;
    unk_token?: string | null;
    continuing_subword_prefix?: string;
    max_input_chars_per_word?: number;
  };
}

/** Splits a text into tokens, and returns their ids. Unknown words are left out. */
export type Tokenize = (text: string) => number[];

/** Punctuation as BERT counts it: also ASCII symbols such as `$` and `+`. */
const PUNCTUATION = /[!-/:-@[-`{-~]|\p{P}/u;
const ISOLATED = /([!-/:-@[-`{-~]|\p{P})/u;

/** The blocks of CJK ideographs in which BERT splits each character. */
const IDEOGRAPH =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;

const CONTROL = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu;

/**
 * Returns the WordPiece tokenizer that a `tokenizer.json` describes.
 *
 * @throws an `Error` that names what is not supported. Another tokenization would give other vectors than the model's own.
 */
export function tokenizerOf(file: unknown): { tokenize: Tokenize; vocabularySize: number } {
  const { normalizer, pre_tokenizer: splitter, model } = (file ?? {}) as TokenizerFile;
  if (model?.type !== "WordPiece" || typeof model.vocab !== "object") {
    throw new Error(`its model is ${model?.type ?? "missing"}; only WordPiece is supported`);
  }
  const normalized = normalizerOf(normalizer);
  const split = splitterOf(splitter);
  const ids = new Map(Object.entries(model.vocab));
  const { continuing_subword_prefix: prefix = "##", max_input_chars_per_word: charsMax = 100 } = model;
  const tokenize: Tokenize = (text) => split(normalized(text)).flatMap((word) => piecesOf(word, ids, prefix, charsMax));
  return { tokenize, vocabularySize: ids.size };
}

/** Takes the longest known piece from the left, again and again. If the rest of a word is unknown, the word has no pieces. */
function piecesOf(word: string, ids: ReadonlyMap<string, number>, prefix: string, charsMax: number): number[] {
  const chars = [...word];
  if (chars.length > charsMax) return [];
  const pieces: number[] = [];
  for (let start = 0; start < chars.length; ) {
    let end = chars.length;
    let id: number | undefined;
    for (; end > start; end--) {
      id = ids.get((start > 0 ? prefix : "") + chars.slice(start, end).join(""));
      if (id !== undefined) break;
    }
    if (id === undefined) return [];
    pieces.push(id);
    start = end;
  }
  return pieces;
}

function normalizerOf(component: Component | null): (text: string) => string {
  if (component === null) return (text) => text;
  switch (component.type) {
    case "Sequence": {
      const steps = (component.normalizers ?? []).map(normalizerOf);
      return (text) => steps.reduce((left, step) => step(left), text);
    }
    case "BertNormalizer":
      return bertNormalizer(component);
    case "Lowercase":
      return (text) => text.toLowerCase();
    case "StripAccents":
      return withoutAccents;
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD": {
      const form = component.type;
      return (text) => text.normalize(form);
    }
    default:
      throw new Error(`its normalizer ${component.type} is not supported`);
  }
}

function bertNormalizer(settings: Component): (text: string) => string {
  const { clean_text: isCleaned, handle_chinese_chars: isSplit, lowercase: isLowered } = settings;
  const isBare = settings.strip_accents ?? isLowered;
  return (text) => {
    let left = text;
    if (isCleaned) left = left.replace(CONTROL, "").replace(/\s/gu, " ");
    if (isSplit) left = left.replace(IDEOGRAPH, " $& ");
    if (isBare) left = withoutAccents(left.normalize("NFD"));
    return isLowered ? left.toLowerCase() : left;
  };
}

function withoutAccents(text: string): string {
  return text.replace(/\p{Mn}/gu, "");
}

function splitterOf(component: Component | null): (text: string) => string[] {
  const atSpaces = (text: string): string[] => text.split(/\s+/u).filter((word) => word !== "");
  if (component === null) return (text) => (text === "" ? [] : [text]);
  switch (component.type) {
    case "Sequence": {
      const steps = (component.pretokenizers ?? []).map(splitterOf);
      return (text) => steps.reduce((words: string[], step) => words.flatMap(step), [text]);
    }
    case "BertPreTokenizer":
      return (text) => atSpaces(text).flatMap((word) => (PUNCTUATION.test(word) ? isolated(word) : [word]));
    case "WhitespaceSplit":
      return atSpaces;
    case "Whitespace":
      return (text) => text.match(/[\p{L}\p{M}\p{N}\p{Pc}]+|[^\p{L}\p{M}\p{N}\p{Pc}\s]+/gu) ?? [];
    case "Punctuation":
      return isolated;
    default:
      throw new Error(`its pre-tokenizer ${component.type} is not supported`);
  }
}

function isolated(text: string): string[] {
  return text.split(ISOLATED).filter((word) => word !== "");
}
