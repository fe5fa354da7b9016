import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * A fresh process that does one piece of work with the build in `argv[2]`: `append` and `import` make the store `argv[4]` from
 * `argv[5]`, `resume` and `recall` open it. It prints the milliseconds of CPU, for the last two with the start of Node.
 */
const [, , build, work, path, source] = process.argv;
const built = (module) => import(pathToFileURL(join(build, module)).href);
const { openStore } = await built("index.js");

const WORKS = {
  append(store) {
    const session = store.session("long");
    for (const message of JSON.parse(readFileSync(source, "utf8"))) session.append(message);
  },
  async import(store) {
    const { importFiles } = await built("import.js");
    await importFiles(store, source, { summarize: false });
  },
  resume: (store) => store.resume("long").render({ tokensMax: 4_000 }),
  recall: (store) => store.recall("why did the lock fail"),
};

const store = openStore(path);
const from = work === "append" || work === "import" ? process.cpuUsage() : { user: 0, system: 0 };
await WORKS[work](store);
const { user, system } = process.cpuUsage();
store.close();
console.log((user - from.user + system - from.system) / 1e3);
