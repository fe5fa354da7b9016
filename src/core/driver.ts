import { StoreError } from "./errors.ts";

/**
 * Refuses a better-sqlite3 that cannot run here. Version 13 needs Node-API 10, which is part of Node from 22.14 on. Without it,
 * loading the driver kills the process.
 *
 * @param driver  The class that better-sqlite3 exports. It has `explain` from version 13 on.
 * @throws {StoreError} `PACKAGE_MISSING`.
 */
export function checkDriver(driver: { prototype: object }): void {
  if (process.versions.bun !== undefined) {
    const solution = "Run your program with Node 20.19 or newer.";
    throw driverError("better-sqlite3 is made for Node, not for Bun", solution);
  }
  if ("explain" in driver.prototype && Number(process.versions.napi) < 10) {
    const solution =
      "Run your program with Node 22.14 or newer, or install version 12: `npm install better-sqlite3@12`.";
    throw driverError("better-sqlite3 13 needs Node 22.14 or newer", solution);
  }
}

/** @param solution  By default, how to get a binary that fits. */
export function driverError(reason: string, solution?: string, cause?: unknown): StoreError {
  const details = { package: "better-sqlite3", user: "A store", reason, ...(solution !== undefined && { solution }) };
  return new StoreError("PACKAGE_MISSING", details, { cause });
}
