import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * A fresh process that imports the folder `argv[4]` into the store `argv[3]`, with the package built into `argv[2]`. It prints a
 * line when it begins, and an `ImportTaken` (see import.ts) at the end.
 */
const [, , packageFolder, path, folder] = process.argv;
const built = (module) => import(pathToFileURL(join(packageFolder, "dist", module)).href);
const { importFiles } = await built("import.js");
const { openStore } = await built("index.js");

const store = openStore(path);
console.log("begun");
const from = performance.now();
const cpuFrom = process.cpuUsage();
await importFiles(store, folder, { summarize: false });
const ms = performance.now() - from;
const cpu = process.cpuUsage(cpuFrom);
store.close();
console.log(
  JSON.stringify({ ms, cpuMs: (cpu.user + cpu.system) / 1e3, rssMb: process.resourceUsage().maxRSS / 2 ** 10 }),
);
