import { writeSync } from "node:fs";
import { openStore } from "../../src/index.ts";
import { letterEmbedder } from "./other-embedders.ts";

// Grows the forest of the store `argv[2]` again with other vectors, and tells its progress on stdout, a line each time.
const store = openStore(process.argv[2]!);
await store.reembed({
  embedder: letterEmbedder,
  onProgress: ({ phase }) => writeSync(1, `${phase}\n`),
});
writeSync(1, "done\n");
