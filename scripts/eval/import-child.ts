import { walkFiles } from "../../src/importers/files.ts";
import { ImportRun } from "../../src/imports/import-run.ts";
import { openStore } from "../../src/index.ts";

/** `import-child.ts <store> <folder>` imports a folder and prints a line when it begins. The parent may kill it at any moment. */
const [path, folder] = process.argv.slice(2);
const store = openStore(path!);
const run = new ImportRun(store, { format: "auto", onProgress: () => {} });
process.stdout.write("begun\n");
for await (const file of walkFiles([folder!])) await run.read(file);
store.close();
