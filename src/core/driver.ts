import { StoreError } from "./errors.ts";

/**
 * Checks that better-sqlite3 can be used at all. Version 13 kills the process if Node has no Node-API 10: Node 20, and 22 before
 * 22.14. npm prefers version 12 on Node 20, but other package managers and lock files may not.
 *
 * @param driver  The class that better-sqlite3 exports. From version 13 on, it has `explain`.
 * @throws {StoreError} `DRIVER_NOT_BUILT`.
 */
export function checkDriver(driver: { prototype: object }): void {
  if (process.versions.bun !== undefined) {
    const solution = "Run it with Node 20.19 or newer.";
    throw new StoreError("DRIVER_NOT_BUILT", { reason: "better-sqlite3 is made for Node, not for Bun", solution });
  }
  if ("explain" in driver.prototype && Number(process.versions.napi) < 10) {
    const solution = "Run it with Node 22.14 or newer, or install version 12: `npm install better-sqlite3@12`.";
    throw new StoreError("DRIVER_NOT_BUILT", { reason: "better-sqlite3 13 needs Node 22.14 or newer", solution });
  }
}
