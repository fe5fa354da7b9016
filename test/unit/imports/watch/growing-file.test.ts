import { appendFileSync, renameSync, rmSync, truncateSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { GrowingFile } from "../../../../src/imports/watch/growing-file.ts";
import { temporaryFolder } from "../../../support/temporary-store.ts";
import { put } from "../../importers/read.ts";

function growing(content: string) {
  const path = put(join(temporaryFolder(), "file.jsonl"), content);
  const file = new GrowingFile(path);
  const look = async () => {
    let text = "";
    const growth = await file.look(async (chunk) => {
      text += chunk.toString();
      return true;
    });
    return [growth, text];
  };
  return { path, file, look };
}

describe("a growing file", () => {
  test("is read once, piece by piece", async () => {
    const { path, look } = growing("one\n");
    expect(await look()).toEqual(["grown", "one\n"]);
    expect(await look()).toEqual(["same", ""]);
    appendFileSync(path, "two\nthr");
    expect(await look()).toEqual(["grown", "two\nthr"]);
    appendFileSync(path, "ee\n");
    expect(await look()).toEqual(["grown", "ee\n"]);
  });

  test("gives what is written while it is read", async () => {
    const { path, file } = growing("a".repeat(300_000));
    let length = 0;
    let isFirst = true;
    await file.look(async (chunk) => {
      length += chunk.length;
      if (isFirst) appendFileSync(path, "b".repeat(300_000));
      isFirst = false;
      return true;
    });
    expect(length).toBe(600_000);
    expect(await file.look(async () => true)).toBe("same");
  });

  test("is read no further than it is wanted", async () => {
    const { file } = growing("a".repeat(1_000_000));
    let length = 0;
    await file.look(async (chunk) => {
      length += chunk.length;
      return false;
    });
    expect(length).toBeLessThan(300_000);
  });

  test.each<[string, (path: string) => void]>([
    ["another was put in its place", (path) => renameSync(put(`${path}.new`, "one\ntwo\nthree\n"), path)],
    [
      "it was deleted and made anew",
      (path) => {
        rmSync(path);
        put(path, "uno\ndos\ntres\n");
      },
    ],
    ["it was cut back", (path) => truncateSync(path, 4)],
    ["it was cut back and has grown past where it was", (path) => void put(path, "uno\ndos\ntres\n")],
    [
      "it was written anew, as long as it was",
      (path) => utimesSync(put(path, "uno\ndos\n"), new Date(), new Date(Date.now() + 5_000)),
    ],
  ])("is another where %s, and nothing of that is read", async (_, change) => {
    const { path, look } = growing("one\ntwo\n");
    await look();
    change(path);
    expect(await look()).toEqual(["other", ""]);
  });

  test("says that it is gone as the system does", async () => {
    const { path, look } = growing("one\n");
    rmSync(path);
    await expect(look()).rejects.toMatchObject({ code: "ENOENT" });
  });
});
