import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomFrom } from "../../scripts/bench/messages.ts";

export const STATIC_DIMENSION = 32;

/** Words of one row have nearly the same vector. */
const MEANINGS = [
  ["lock", "latch", "release", "released", "session"],
  ["car", "automobile", "vehicle", "drive"],
  ["bread", "bake", "oven", "flour"],
  ["the", "is", "a", "never", "at", "for", "and"],
];

const PIECES = [
  "un",
  "##lock",
  "##s",
  "##ed",
  "##ing",
  "re",
  "cafe",
  "中",
  "文",
  ..."!\"#$%&'()*+,-./0123456789:;<=>?@[]^_`{|}~",
];

export interface StaticModelParts {
  /** Changes `tokenizer.json` before it is written. */
  tokenizer?: (file: Record<string, unknown>) => unknown;
  /** Changes `model.safetensors` before it is written. */
  weights?: (bytes: Buffer) => Buffer;
  dtype?: "F32" | "F16";
  tensor?: string;
}

/** Writes a model in the format of model2vec, with some forty tokens, and returns its folder. */
export function staticModel({
  tokenizer,
  weights,
  dtype = "F32",
  tensor = "embeddings",
}: StaticModelParts = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "coppice-static-"));
  const words = ["[PAD]", "[UNK]", ...MEANINGS.flat(), ..."abcdefghijklmnopqrstuvwxyz", ...PIECES];
  for (const letter of "abcdefghijklmnopqrstuvwxyz") words.push(`##${letter}`);
  const file = {
    version: "1.0",
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(words.map((word, id) => [word, id])),
    },
  };
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tokenizer?.(file) ?? file));
  const bytes = matrixFile(words.map(rowOf), dtype, tensor);
  writeFileSync(join(folder, "model.safetensors"), weights?.(bytes) ?? bytes);
  return folder;
}

function rowOf(word: string): number[] {
  const meaning = MEANINGS.findIndex((row) => row.includes(word));
  const weight = meaning === MEANINGS.length - 1 ? 0.05 : 1;
  const own = directionOf(word.charCodeAt(0) * 131 + word.length * 17 + word.charCodeAt(word.length - 1));
  if (meaning < 0) return own.map((value) => 0.2 * value);
  return directionOf(meaning + 1).map((value, index) => weight * (value + 0.2 * own[index]!));
}

function directionOf(seed: number): number[] {
  const random = randomFrom(seed);
  return Array.from({ length: STATIC_DIMENSION }, () => random() - 0.5);
}

function matrixFile(rows: readonly number[][], dtype: "F32" | "F16", tensor: string): Buffer {
  const width = dtype === "F32" ? 4 : 2;
  const data = Buffer.alloc(rows.length * STATIC_DIMENSION * width);
  for (const [index, value] of rows.flat().entries()) {
    if (dtype === "F32") data.writeFloatLE(value, index * width);
    else data.writeUInt16LE(halfOf(value), index * width);
  }
  const entry = { dtype, shape: [rows.length, STATIC_DIMENSION], data_offsets: [0, data.length] };
  const header = Buffer.from(JSON.stringify({ [tensor]: entry }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, data]);
}

/** The nearest smaller number of 16 bits, for magnitudes from 2⁻¹⁴ to 2. */
function halfOf(value: number): number {
  const magnitude = Math.abs(value);
  if (magnitude < 2 ** -14) return 0;
  const exponent = Math.floor(Math.log2(magnitude));
  const fraction = Math.floor((magnitude / 2 ** exponent - 1) * 1024);
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
}
