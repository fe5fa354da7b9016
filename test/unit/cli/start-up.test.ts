import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));

/** The modules that loading a file loads: everything it imports, directly or not, except types and calls of `import()`. */
function loadedFrom(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const source = readFileSync(join(SOURCE, file), "utf8");
  for (const [, specifier] of source.matchAll(/^(?:import|export)\s(?!type\s)[^;"']*?\bfrom\s*"([^"]+)"/gm)) {
    if (specifier!.startsWith(".")) loadedFrom(join(dirname(file), specifier!), loaded);
    else loaded.add(specifier!);
  }
  return loaded;
}

/** The packages among the modules. */
function packagesOf(loaded: ReadonlySet<string>): string[] {
  return [...loaded].filter((name) => !name.endsWith(".ts") && !name.startsWith("node:")).sort();
}

test("the command line loads neither the store nor zod nor the importers before a command runs", () => {
  const loaded = loadedFrom("cli/main.ts");
  expect(loaded).toContain("cli/commands/recall.ts");
  expect(packagesOf(loaded)).toEqual(["commander"]);
  expect([...loaded].filter((name) => /^(store|session|importers|imports|models|mcp)\//.test(name))).toEqual([
    "session/session-name.ts",
    "session/session-ids-with-prefix.ts",
    "session/project-meant.ts",
    "session/answers-first.ts",
    "session/recall-notes.ts",
    "importers/formats.ts",
  ]);
});

test("a hook loads neither the command line nor zod nor drizzle", () => {
  const loaded = loadedFrom("cli/bin.ts");
  expect(loaded).toContain("hooks/run-hook.ts");
  expect(packagesOf(loaded)).toEqual(["better-sqlite3"]);
});

test("the code that opens stores loads no importer and no MCP", () => {
  const loaded = [...loadedFrom("cli/opened-stores.ts")];
  expect(loaded).toContain("session/opened-store.ts");
  expect(loaded.filter((name) => /^(importers|imports|mcp|adapters)\/|^@/.test(name))).toEqual([]);
});

test("importing the library loads nothing that only asks Gemini", () => {
  const loaded = [...loadedFrom("index.ts")];
  expect(loaded).toContain("models/gemini/summarizer.ts");
  expect(loaded.filter((name) => /^p-queue|gemini\/(client|answer)|json-schema/.test(name))).toEqual([]);
});

test("the MCP server answers a client before the store is loaded", () => {
  const loaded = [...loadedFrom("mcp/server.ts")];
  expect(loaded).toContain("session/inputs.ts");
  expect(loaded).not.toContain("session/opened-store.ts");
  expect(loaded.filter((name) => /^(better-sqlite3|drizzle-orm|uuid|p-queue)/.test(name))).toEqual([]);
});

test("whoever has no hub loads neither its code nor its driver", () => {
  for (const entry of ["index.ts", "cli/main.ts", "cli/bin.ts", "cli/opened-stores.ts", "mcp/server.ts"]) {
    const loaded = [...loadedFrom(entry)];
    expect(loaded.length).toBeGreaterThan(5);
    expect(loaded.filter((name) => name === "pg" || name.startsWith("hub/"))).toEqual([]);
  }
});
