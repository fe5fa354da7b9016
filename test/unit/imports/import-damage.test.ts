import { renameSync, symlinkSync, truncateSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { walkFiles } from "../../../src/importers/files.ts";
import type { ImportFile } from "../../../src/importers/importer.ts";
import { type FileReport, ImportRun } from "../../../src/imports/import-run.ts";
import type { Store } from "../../../src/session/store.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { jsonLines, textsOf, put as write } from "../importers/read.ts";

let folder: string;
let store: Store;
beforeEach(() => {
  folder = temporaryFolder();
  store = temporaryStore();
  put("good.jsonl", said("good", "hello"));
});

const said = (session: string, content: string) => jsonLines([{ session, role: "user", content }]);
const put = (name: string, content: string): string => write(join(folder, name), content);

async function importAll(before: (file: ImportFile) => ImportFile = (file) => file): Promise<Map<string, FileReport>> {
  const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
  const reports = new Map<string, FileReport>();
  for await (const file of walkFiles([folder])) {
    const report = await run.read(before(file));
    reports.set(file.path.slice(folder.length + 1), report);
  }
  return reports;
}

/** Returns the file, which is damaged when its first chunk is requested or after it. */
function meanwhile(file: ImportFile, when: "before" | "behind", act: () => void): ImportFile {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    if (when === "before") act();
    let isFirst = true;
    for await (const chunk of file.chunks) {
      yield chunk;
      if (isFirst && when === "behind") act();
      isFirst = false;
    }
  }
  return { ...file, chunks: chunks() };
}

describe("a folder with", () => {
  const linkTo = (target: (path: string) => string) => (path: string) => symlinkSync(target(path), path);

  test.each<[string, string | Uint8Array | ((path: string) => void), string | undefined]>([
    ["an empty file", "", undefined],
    ["a binary file", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 1]), "IMPORT_UNREADABLE"],
    ["a file of NULs", Buffer.alloc(100_000), "IMPORT_UNREADABLE"],
    ["a file in UTF-16", Buffer.from(`\uFEFF${said("x", "y")}`, "utf16le"), "IMPORT_UNREADABLE"],
    ["a file of another kind", "Dear diary,\n", "IMPORT_UNREADABLE"],
    ["a link to nothing", linkTo(() => "/nowhere/at/all"), "FILE_NOT_FOUND"],
    ["a link to itself", linkTo((path) => path), "IMPORT_UNREADABLE"],
  ])("%s is imported, and says so", async (_, bad, code) => {
    const path = join(folder, "bad.jsonl");
    if (typeof bad === "function") bad(path);
    else write(path, bad);
    const reports = await importAll();
    expect(textsOf(store, "good")).toEqual(["hello"]);
    expect(reports.get("bad.jsonl")?.error?.code).toBe(code);
    expect(store.verify().problems).toEqual([]);
  });
});

describe("a file that, while it is read,", () => {
  const lines = Array.from({ length: 50 }, (_, index) => said("big", `line ${index} ${"-".repeat(16_000)}`));

  test("is deleted before its first byte is reported", async () => {
    const path = put("gone.jsonl", said("gone", "x"));
    const reports = await importAll((file) =>
      file.path === path ? meanwhile(file, "before", () => unlinkSync(path)) : file,
    );
    expect(reports.get("gone.jsonl")?.error?.code).toBe("FILE_NOT_FOUND");
    expect(textsOf(store, "good")).toEqual(["hello"]);
  });

  test.each<[string, (path: string) => void]>([
    ["is deleted", unlinkSync],
    ["is replaced by another", (path) => renameSync(put("other", said("other", "new")), path)],
  ])("%s, comes as it was", async (_, act) => {
    const path = put("big.jsonl", lines.join(""));
    const reports = await importAll((file) => (file.path === path ? meanwhile(file, "behind", () => act(path)) : file));
    expect(reports.get("big.jsonl")).toMatchObject({ newCount: lines.length, warnings: [], error: null });
  });

  test("is cut short, is imported as far as it was read, with a warning about its last line", async () => {
    const path = put("big.jsonl", lines.join(""));
    const reports = await importAll((file) =>
      file.path === path ? meanwhile(file, "behind", () => truncateSync(path, 300_001)) : file,
    );
    const { newCount, warnings } = reports.get("big.jsonl")!;
    expect(newCount).toBeGreaterThan(10);
    expect(newCount).toBeLessThan(lines.length);
    expect(warnings.map(({ line }) => line)).toEqual([newCount + 1]);
    expect(store.verify().problems).toEqual([]);
  });
});
