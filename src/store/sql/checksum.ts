import { crc32 } from "node:zlib";

/** Up to this length, the loop is faster than a call of zlib. */
const SHORT_BYTES_MAX = 64;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++)
    remainder = (remainder & 1) === 0 ? remainder >>> 1 : (remainder >>> 1) ^ 0xedb88320;
  return remainder;
});

/** Returns the CRC-32 of some values of a row as the driver reads them. It does not detect tampering. */
export function checksumOf(row: Readonly<Record<string, unknown>>, keys: readonly string[]): number {
  let checksum = 0;
  let text = "";
  for (const key of keys) {
    const value = row[key];
    if (typeof value === "object" && Buffer.isBuffer(value)) checksum = crcOf(value, checksum);
    else text += `${value}\0`;
  }
  return crc32(text, checksum);
}

function crcOf(bytes: Buffer, checksum: number): number {
  if (bytes.length > SHORT_BYTES_MAX) return crc32(bytes, checksum);
  let remainder = ~checksum;
  for (const byte of bytes) remainder = TABLE[(remainder ^ byte) & 0xff]! ^ (remainder >>> 8);
  return ~remainder >>> 0;
}
