import { walkFiles } from "../../src/importers/files.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { openStore } from "../../src/index.ts";

/** Import a folder into a store, to be killed at any moment: `import-child.ts <store> <folder>`. Says so when it begins. */
const [path, folder] = process.argv.slice(2);
const store = openStore(path!);
const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
process.stdout.write("begun\n");
for await (const file of walkFiles([folder!])) await run.read(file);
store.close();
