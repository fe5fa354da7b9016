import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { importFiles } from "../../src/imports/import-files.ts";
import { openStore } from "../../src/session/opened-store.ts";
import { Progress, withProgress } from "../progress.ts";
import { HOSTILE_FILES } from "./files.ts";

interface HostileFigures {
  files: number;
  hostile: number;
  /** Messages of good files that are missing from the store. */
  missing: number;
  seconds: number;
}

/** Each makes a file with one message, as four programs write it. */
const GOOD_FILES = [
  (text: string) => ["jsonl", { session: text, role: "user", content: text }],
  (text: string) => [
    "jsonl",
    { type: "user", uuid: text, sessionId: text, cwd: "/srv/x", message: { role: "user", content: text } },
  ],
  (text: string) => ["json", [{ role: "user", content: text }]],
  (text: string) => ["json", { messages: [{ id: text, role: "user", parts: [{ type: "text", text }] }] }],
] as const;

/** Imports `files` files of which `hostile` are hostile, between the good ones, and looks for the words of each good one. */
export async function importHostile(
  folder: string,
  files: number,
  hostile: number,
  kinds: readonly string[] = Object.keys(HOSTILE_FILES),
): Promise<HostileFigures> {
  const every = Math.floor(files / hostile);
  const said: string[] = [];
  for (let index = 0; index < files; index++) {
    const below = join(folder, `folder ${Math.floor(index / 500)}`);
    const name = `file ${String(index).padStart(6, "0")}`;
    mkdirSync(below, { recursive: true });
    const place = Math.floor(index / every);
    if (index % every === 0 && place < hostile) {
      HOSTILE_FILES[kinds[place % kinds.length]!]!(below, name);
      continue;
    }
    const text = `lamp ${index} is lit`;
    const [ending, content] = GOOD_FILES[index % GOOD_FILES.length]!(text);
    writeFileSync(join(below, `${name}.${ending}`), `${JSON.stringify(content)}\n`);
    said.push(text);
  }
  const fromMs = performance.now();
  const store = openStore(join(folder, "store.sqlite"));
  try {
    const progress = new Progress("files", files);
    let readCount = 0;
    await importFiles(store, folder, { onFile: () => progress.reach(++readCount) });
    progress.end();
    const texts = new Set<string>();
    for (const { id } of withProgress("sessions", store.sessions({ limit: files * 2 }))) {
      for (const { text } of store.resume(id).messages({ limit: 10 })) texts.add(text);
    }
    const missing = said.filter((text) => !texts.has(text)).length;
    return { files, hostile, missing, seconds: Math.round((performance.now() - fromMs) / 1_000) };
  } finally {
    store.close();
  }
}
