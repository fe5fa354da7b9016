import { StoreError } from "./errors.ts";

/**
 * Refuses a better-sqlite3 that cannot run here. Version 13 needs Node-API 10, which is part of Node from 22.14 on. Without it,
 * loading the driver kills the process.
 *
 * @param driver  The class that better-sqlite3 exports. It has `explain` from version 13 on.
 * @throws {StoreError} `DRIVER_NOT_BUILT`.
 */
export function checkDriver(driver: { prototype: object }): void {
  if (process.versions.bun !== undefined) {
    const solution = "Run your program with Node 20.19 or newer.";
    throw new StoreError("DRIVER_NOT_BUILT", { reason: "better-sqlite3 is made for Node, not for Bun", solution });
  }
  if ("explain" in driver.prototype && Number(process.versions.napi) < 10) {
    const solution =
      "Run your program with Node 22.14 or newer, or install version 12: `npm install better-sqlite3@12`.";
    throw new StoreError("DRIVER_NOT_BUILT", { reason: "better-sqlite3 13 needs Node 22.14 or newer", solution });
  }
}
