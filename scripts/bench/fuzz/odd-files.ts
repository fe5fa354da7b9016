import { mutatedJson, oddJson } from "./odd-json.ts";
import { oddText } from "./odd-texts.ts";
import type { Random } from "./random.ts";

/** What the repeats of a line may add to a file, in UTF-16 code units: a large file would count with the memory of reading it. */
const REPEATS_LENGTH_MAX = 8_000_000;

/** Returns a copy of a transcript that was changed as text, as bytes or both. */
export function mutatedFile(bytes: Buffer, random: Random): Buffer {
  let mutated = bytes;
  if (random.chance(0.85)) mutated = Buffer.from(mutatedText(bytes.toString("utf8"), random));
  if (random.chance(0.25)) mutated = mutatedBytes(mutated, random);
  if (random.chance(0.1)) mutated = encoded(mutated, random);
  return mutated;
}

function mutatedText(text: string, random: Random): string {
  let lines = text.split("\n");
  const isDocument = !isJson(lines[0]!);
  if (isDocument) lines = [text];
  for (let count = 1 + random.below(4); count > 0; count--) {
    const at = random.below(lines.length);
    if (random.chance(0.6)) lines[at] = mutatedLine(lines[at]!, random);
    else mutateLines(lines, at, random);
  }
  return lines.join(random.chance(0.03) ? "\r\n" : "\n");
}

function mutatedLine(line: string, random: Random): string {
  try {
    return mutatedJson(JSON.parse(line), random);
  } catch {
    return random.chance(0.5) ? oddJson(random) : oddText(random);
  }
}

/** Removes, repeats, swaps, joins, cuts or adds lines. */
function mutateLines(lines: string[], at: number, random: Random): void {
  const other = random.below(lines.length);
  const [line, otherLine] = [lines[at]!, lines[other]!];
  switch (random.below(9)) {
    case 0:
      if (lines.length > 1) lines.splice(at, 1);
      break;
    case 1:
      lines.splice(other, 0, line);
      break;
    case 2:
      [lines[at], lines[other]] = [otherLine, line];
      break;
    case 3:
      lines[at] = line + otherLine;
      break;
    case 4:
      lines[at] = line.slice(0, random.below(line.length + 1));
      break;
    case 5:
      lines.splice(at, 0, oddJson(random));
      break;
    case 6:
      lines.splice(at, 0, oddText(random));
      break;
    case 7: {
      const count = Math.min(random.below(50), Math.floor(REPEATS_LENGTH_MAX / (line.length + 1)));
      lines.splice(at, 0, ...Array.from({ length: count }, () => line));
      break;
    }
    default:
      lines.reverse();
  }
}

/** Returns a copy with flipped bits, inserted bytes, or bytes cut out or off. */
export function mutatedBytes(bytes: Buffer, random: Random): Buffer<ArrayBuffer> {
  const mutated = Buffer.from(bytes);
  const at = random.below(bytes.length);
  const end = at + random.below(Math.min(bytes.length - at, 500) + 1);
  switch (random.below(5)) {
    case 0:
    case 1:
      for (let count = random.below(8); count >= 0; count--) {
        if (mutated.length > 0) mutated[random.below(mutated.length)]! ^= 1 << random.below(8);
      }
      return mutated;
    case 2:
      return Buffer.concat([
        mutated.subarray(0, at),
        Buffer.from(random.some(20, () => random.below(256))),
        mutated.subarray(at),
      ]);
    case 3:
      return Buffer.concat([mutated.subarray(0, at), mutated.subarray(end)]);
    default:
      return mutated.subarray(0, at);
  }
}

function encoded(bytes: Buffer, random: Random): Buffer {
  switch (random.below(5)) {
    case 0:
      return Buffer.from(`\ufeff${bytes.toString("utf8")}`, "utf16le");
    case 1:
      return Buffer.from(bytes.toString("utf8"), "latin1");
    case 2:
      return Buffer.concat([Buffer.from("\ufeff"), bytes]);
    case 3:
      return Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16();
    default:
      return packed(bytes, random);
  }
}

/** Returns a zstd frame of blocks that are not compressed, sometimes damaged. */
function packed(bytes: Buffer, random: Random): Buffer<ArrayBuffer> {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(random.chance(0.1) ? 0xffff_ffff : bytes.length);
  const frame: Uint8Array[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0]), size];
  for (let start = 0; start === 0 || start < bytes.length; start += 4_096) {
    const block = bytes.subarray(start, start + 4_096);
    const isLast = start + 4_096 >= bytes.length;
    const header = Buffer.alloc(3);
    header.writeUIntLE(Number(isLast) | (block.length << 3), 0, 3);
    frame.push(header, block);
  }
  const whole = Buffer.concat(frame);
  return random.chance(0.5) ? whole : mutatedBytes(whole, random);
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
