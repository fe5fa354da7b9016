import { ImportRun } from "../../src/cli/import-run.ts";
import { walkFiles } from "../../src/importers/files.ts";
import { openStore } from "../../src/index.ts";

/** What an import took, as its own process tells it. */
export interface ImportTaken {
  ms: number;
  /** The most memory it held at once. */
  rssMb: number;
}

/** A fresh process that imports the folder `argv[3]` into the store `argv[2]`. Says that it begins, and at the end what it took. */
const [, , path, folder] = process.argv;
const store = openStore(path!);
const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
console.log("begun");
const from = performance.now();
for await (const file of walkFiles([folder!])) await run.read(file);
const ms = performance.now() - from;
store.close();
const taken: ImportTaken = { ms, rssMb: process.resourceUsage().maxRSS / 2 ** 10 };
console.log(JSON.stringify(taken));
