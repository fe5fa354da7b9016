import { crc32 } from "node:zlib";

/** Returns the CRC-32 of a row's values as the driver reads them. It does not reveal damage made on purpose. */
export function checksumOf(values: readonly unknown[]): number {
  let checksum = 0;
  let text = "";
  for (const value of values) {
    if (Buffer.isBuffer(value)) checksum = crc32(value, checksum);
    else text += `${value}\0`;
  }
  return crc32(text, checksum);
}
