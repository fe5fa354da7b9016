import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../src/index.ts";
import { scriptedEmbedder } from "./scripted-embedder.ts";

// Embeds what is due in the store `argv[2]` until nothing is, and notes in `argv[3]` each text that it asks for, which is
// when it is paid for. Its time began at `argv[4]` and runs a hundred times as fast, so that claims of the dead end soon.
const [, , path, paid, epochMs] = process.argv;
const embedder = scriptedEmbedder({ textsMax: 5 });
embedder.before = async ({ texts }) => {
  appendFileSync(paid!, texts.map((text) => `${JSON.stringify({ pid: process.pid, text })}\n`).join(""));
  await sleep(200);
};
const clock = (): number => Number(epochMs) + (Date.now() - Number(epochMs)) * 100;
const store = openStore(path!, { embedder, clock });
while ((await store.upkeep({ only: "vectors", concurrency: 2 })).waiting > 0) await sleep(50);
store.close();
