import { randomInt } from "node:crypto";
import type Database from "better-sqlite3";

// The serial of a file is its `PRAGMA user_version`. It begins at a random number, in each new store and in each backup, and the
// first write of each connection counts it up. So the pages of a write-ahead log say which file it is of, and which state of it.

const FIRST_MAX = 2 ** 30;

export function giveSerial(client: Database.Database): void {
  client.pragma(`user_version = ${randomInt(1, FIRST_MAX)}`);
}

/** Counts the serial up in the transaction that is going on. */
export function countSerial(client: Database.Database): void {
  const serial = client.pragma("user_version", { simple: true }) as number;
  client.pragma(`user_version = ${serial + 1}`);
}
