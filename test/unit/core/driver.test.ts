import { afterEach, expect, test } from "vitest";
import { checkDriver } from "../../../src/core/driver.ts";

const versions = Object.getOwnPropertyDescriptor(process, "versions")!;
afterEach(() => Object.defineProperty(process, "versions", versions));

class Version12 {}
class Version13 {
  explain(): void {}
}

test.each([
  ["9", Version12, undefined],
  ["10", Version12, undefined],
  ["10", Version13, undefined],
  ["9", Version13, "better-sqlite3 13 needs Node 22.14 or newer"],
])("with Node-API %s and %o, the reason to refuse is %j", (napi, driver, reason) => {
  Object.defineProperty(process, "versions", { ...versions, value: { ...process.versions, napi } });
  const check = () => checkDriver(driver);
  if (reason === undefined) expect(check).not.toThrow();
  else
    expect(check).toThrow(
      expect.objectContaining({ code: "PACKAGE_MISSING", details: expect.objectContaining({ reason }) }),
    );
});
