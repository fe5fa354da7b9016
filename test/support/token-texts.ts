import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A text of each kind that a session holds, the same on every call. The counts of real tokenizers are recorded for each. */
export interface TokenText {
  /** An estimate of prose and code must not be much too high either. */
  group: "prose" | "code" | "data";
  text: string;
}

const bytes = (seed: string, size: number): Buffer => {
  const blocks = Array.from({ length: Math.ceil(size / 32) }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, size);
};
const hex = (seed: string, chars: number): string =>
  bytes(seed, Math.ceil(chars / 2))
    .toString("hex")
    .slice(0, chars);
const uuid = (seed: string): string => hex(seed, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
const number = (seed: string, max: number): number => bytes(seed, 4).readUInt32LE() % max;
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

/** Texts of people, by language, and of programs; and names in scripts that tokenizers know least. */
const {
  prose: PROSE,
  code: CODE,
  rare: RARE_NAMES,
}: {
  prose: Record<string, string>;
  code: Record<string, string>;
  rare: string;
} = JSON.parse(readFileSync(new URL("../fixtures/token-texts.json", import.meta.url), "utf8"));

const DATA: Record<string, () => string> = {
  hex: () => hex("hex", 2_000),
  "hex in capitals": () => hex("capitals", 2_000).toUpperCase(),
  "hex dump": () =>
    lines(60, (row) => `${(row * 16).toString(16).padStart(8, "0")}  ${hex(`dump ${row}`, 32).replace(/../g, "$& ")}`),
  base64: () => bytes("base64", 2_000).toString("base64"),
  "signed URL": () =>
    `https://files.example.org/o/report.pdf?signature=${bytes("url", 600).toString("base64url")}&expires=1790003121`,
  "web token": () =>
    `eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.${bytes("claims", 300).toString("base64url")}.${bytes("sign", 256).toString("base64url")}`,
  uuids: () => lines(60, (row) => uuid(`uuid ${row}`)),
  ids: () => lines(60, (row) => `toolu_01${bytes(`id ${row}`, 16).toString("base64url").replace(/[-_]/g, "x")}`),
  "git log of hashes": () => lines(60, (row) => hex(`commit ${row}`, 40)),
  "git log": () =>
    lines(
      30,
      (row) =>
        `commit ${hex(`commit ${row}`, 40)}\nAuthor: Ada Berg <ada@example.org>\nDate:   Mon Mar ${1 + (row % 28)} 1${row % 9}:0${row % 7}:3${row % 10} 2026 +0100\n\n    Fix the lamp driver, step ${row}\n`,
    ),
  "lock file": () =>
    lines(
      25,
      (row) =>
        `    "node_modules/lamp-${row}": {\n      "version": "${row}.2.${row * 3}",\n      "resolved": "https://registry.example.org/lamp-${row}/-/lamp-${row}-${row}.2.${row * 3}.tgz",\n      "integrity": "sha512-${bytes(`lock ${row}`, 64).toString("base64")}",\n      "license": "MIT"\n    },`,
    ),
  "minified JavaScript": () =>
    lines(
      12,
      (row) =>
        `function ${"abcdefghijkl"[row]}(e,t,n){var r=e.length,o=0;for(;o<r;o++){if(t[o]!==n)return{i:o,v:e[o]??null};e[o]^=t[r-o-1]>>>${row}}return!0}const _${row}=(e,t)=>Object.assign({},e,{[t]:e[t]?.map(n=>n*${row}+1).filter(Boolean)});`,
    ).replaceAll("\n", ""),
  JSON: () =>
    JSON.stringify(
      Array.from({ length: 40 }, (_, row) => ({
        id: row,
        name: `sensor ${row}`,
        at: 1_790_000_000_000 + row * 977,
        value: number(`json ${row}`, 10_000) / 37,
        ok: row % 3 > 0,
        tags: ["roof", "north"],
      })),
    ),
  "indented JSON": () =>
    JSON.stringify(
      Array.from({ length: 15 }, (_, row) => ({
        id: row,
        owner: { name: "Ada", email: `ada${row}@example.org` },
        path: `/srv/data/${row}/readings.csv`,
      })),
      null,
      2,
    ),
  "numbers as CSV": () =>
    lines(60, (row) =>
      Array.from({ length: 6 }, (_, column) =>
        (number(`csv ${row} ${column}`, 1_000_000) / 1_000).toFixed(column % 4),
      ).join(","),
    ),
  diff: () =>
    lines(
      10,
      (row) =>
        `diff --git a/src/lamp${row}.ts b/src/lamp${row}.ts\nindex ${hex(`old ${row}`, 7)}..${hex(`new ${row}`, 7)} 100644\n--- a/src/lamp${row}.ts\n+++ b/src/lamp${row}.ts\n@@ -${row + 10},7 +${row + 10},9 @@ export class Lamp {\n   readonly #pin: number;\n-  constructor(pin: number) {\n+  constructor(pin: number, isDimmed = false) {\n+    if (pin < 0) throw new RangeError("no such pin");\n     this.#pin = pin;\n   }`,
    ),
  "stack trace": () =>
    lines(
      8,
      (row) =>
        `TypeError: Cannot read properties of undefined (reading 'pin${row}')\n    at Lamp.open (/home/ada/lamp/src/driver/lamp.ts:${row * 13 + 4}:17)\n    at async Promise.all (index ${row})\n    at processTicksAndRejections (node:internal/process/task_queues:105:5)\n    at async main (file:///home/ada/lamp/node_modules/.pnpm/tsx@4.19.${row}/node_modules/tsx/dist/run.mjs:2:${row * 791})`,
    ),
  "colored terminal": () =>
    lines(
      30,
      (row) =>
        `\u001b[32m✓\u001b[39m test/unit/lamp-${row}.test.ts \u001b[2m(\u001b[22m\u001b[2m${row + 3} tests\u001b[22m\u001b[2m)\u001b[22m\u001b[90m ${row * 17}ms\u001b[39m`,
    ),
  "log lines": () =>
    lines(
      30,
      (row) =>
        `2026-03-${10 + (row % 20)}T0${row % 10}:12:${10 + row}.${100 + row * 7}Z [worker-${row % 4}] INFO  request_id=${hex(`request ${row}`, 16)} status=200 duration_ms=${row * 31} path=/api/v2/sessions/${row}`,
    ),
  "file list": () =>
    lines(
      30,
      (row) =>
        `-rw-r--r--  1 ada  staff  ${String(number(`size ${row}`, 900_000)).padStart(8)} Mar ${String(1 + (row % 28)).padStart(2)} 12:0${row % 10} lamp_driver_${row}.cpp`,
    ),
  "table of white space": () =>
    lines(
      30,
      (row) =>
        `${"NAME".padEnd(24)}${String(row).padStart(8)}${"running".padStart(20)}${"\t\t"}${`${row * 3}m`.padEnd(30)}ok${" ".repeat(row)}`,
    ),
  "Markdown table": () =>
    `| name | count | share | note |\n| --- | ---: | ---: | --- |\n${lines(30, (row) => `| lamp ${row} | ${row * 37} | ${(row / 30).toFixed(3)} | **on** |`)}`,
  boxes: () =>
    `┌${"─".repeat(40)}┬${"─".repeat(12)}┐\n${lines(15, (row) => `│ lamp ${String(row).padEnd(33)} │ ${String(row * 9).padStart(10)} │\n├${"─".repeat(40)}┼${"─".repeat(12)}┤`)}`,
  "one letter": () => "a".repeat(2_000),
  "one sign": () => "=".repeat(2_000),
  spaces: () => `${" ".repeat(1_000)}.`,
  "empty lines": () => `${"\n".repeat(1_000)}.`,
  zeros: () => "0".repeat(2_000),
  emoji: () =>
    "Done 🎉🚀 all tests pass ✅, one flaky ⚠️. 👩‍💻 reviewed it 👍🏽, thanks 🙏! 🇳🇴 next: 🔧🐛📦✨ 😅🤔💯 ".repeat(8),
  "one emoji": () => "😀".repeat(300),
  "names in rare scripts": () => RARE_NAMES,
  escapes: () =>
    JSON.stringify(PROSE.russian).replace(
      /[^\0-\x7f]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  "percent encoding": () => encodeURIComponent(PROSE.japanese!.slice(0, 80)),
  "mixed prose and hashes": () =>
    lines(20, (row) => `Release ${row}: see commit ${hex(`release ${row}`, 40)} and the notes for the lamp driver.`),
};

export function tokenTexts(): Map<string, TokenText> {
  return new Map<string, TokenText>([
    ...Object.entries(PROSE).map(([kind, text]) => [kind, { group: "prose" as const, text }] as const),
    ...Object.entries(CODE).map(([kind, text]) => [kind, { group: "code" as const, text }] as const),
    ...Object.entries(DATA).map(([kind, make]) => [kind, { group: "data" as const, text: make() }] as const),
  ]);
}
