import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { importRows } from "../../../src/imports/import-rows.ts";
import { openStore, StoreError } from "../../../src/index.ts";
import { checkVerified } from "./importers.ts";
import { mutatedJson } from "./odd-json.ts";
import type { Random } from "./random.ts";
import type { Target } from "./target.ts";

/** Files of `coppice export --rows` in which some rows are odd. Most have the right digest, so that the rows are read. */
export const rows: Target = {
  async open(folder) {
    const whole = linesOf(join(folder, "source.db"));
    const path = join(folder, "odd.rows");
    const store = openStore(join(folder, "store.db"));
    return {
      async feed(random) {
        writeFileSync(path, oddFile(whole, random));
        try {
          importRows(store, path);
        } catch (error) {
          if (!(error instanceof StoreError) || error.code === "STORE_CORRUPT") throw error;
        }
      },
      async close() {
        checkVerified(store);
        store.close();
      },
    };
  },
};

/** Returns the file of a session that has clusters, branches, entries, items and forgotten messages. */
function linesOf(path: string): string[] {
  const store = openStore(path);
  const session = store.session("s", { project: "web", hotSize: 4, overlap: 1, evictBatch: 2, maxThemes: 2 });
  const said = (seq: number) => `The ${["harbor pilot", "blue deploy", "whale song"][seq % 3]} of day ${seq}.`;
  for (let seq = 0; seq < 30; seq++) {
    session.append({ role: seq % 2 === 0 ? "user" : "assistant", content: said(seq), metadata: { seq } });
  }
  session.entries.append([{ value: { tide: 2 }, id: "tide" }]);
  store.items.put(["harbor"], "seal", { open: true }, { session: "s" });
  session.rewind({ toSeq: 21 });
  session.append({ role: "user", content: said(40) });
  store.forget("s", { messageIds: [5] });
  const lines = [...store.export({ rows: true })];
  store.close();
  return lines;
}

function oddFile(whole: readonly string[], random: Random): string {
  const lines = whole.slice(0, -1);
  for (const index of random.some(3, () => random.below(lines.length))) {
    const kind = random.below(10);
    if (kind === 0) lines[index] = lines[random.below(lines.length)]!;
    else if (kind === 1) lines.splice(index, 1);
    else if (lines[index] !== undefined) lines[index] = mutatedJson(JSON.parse(whole[index]!), random);
  }
  const body = lines.map((line) => `${line}\n`).join("");
  const end = { ...(JSON.parse(whole.at(-1)!) as object), sha256: createHash("sha256").update(body).digest("hex") };
  return random.chance(0.05) ? body + whole.at(-1)! : `${body}${JSON.stringify(end)}\n`;
}
