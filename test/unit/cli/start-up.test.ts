import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { INLINED } from "../../../scripts/build/programs.ts";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));

/** The door of the store. The bundler follows only the names that somebody takes from it. */
const DOOR = "store/index.ts";

/** The modules that loading a file loads: everything it imports, directly or not, except types and calls of `import()`. */
function loadedFrom(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  if (INLINED.includes(file)) return loaded;
  for (const { names, specifier } of importsOf(file)) {
    const target = join(dirname(file), specifier);
    if (!specifier.startsWith(".")) loaded.add(specifier);
    else if (target !== DOOR) loadedFrom(target, loaded);
    else for (const behind of behindDoor(names)) loadedFrom(behind, loaded);
  }
  return loaded;
}

function importsOf(file: string): { names: string[]; specifier: string }[] {
  const source = readFileSync(join(SOURCE, file), "utf8");
  const statements = source.matchAll(/^(?:import|export)\s(?!type\s)([^;"']*?)\bfrom\s*"([^"]+)"/gm);
  return [...statements].map(([, names, specifier]) => ({
    names: names!
      .split(/[{},\s]+/)
      .filter((name, index, all) => name !== "" && name !== "type" && all[index - 1] !== "type"),
    specifier: specifier!,
  }));
}

/** The files of the store that have these names. */
function behindDoor(names: readonly string[]): string[] {
  const behind = importsOf(DOOR).filter((exported) => exported.names.some((name) => names.includes(name)));
  return behind.map(({ specifier }) => join(dirname(DOOR), specifier));
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
    "session/aids/every-message.ts",
    "session/aids/session-ids.ts",
    "importers/formats.ts",
    "session/aids/project-meant.ts",
    "session/aids/session-name.ts",
    "session/aids/answers-first.ts",
    "session/aids/recall-notes.ts",
    "session/aids/told-pieces.ts",
    "importers/locations.ts",
  ]);
});

test("a hook loads neither the command line nor zod nor drizzle", () => {
  expect(packagesOf(loadedFrom("cli/bin.ts"))).toEqual([]);
  expect(packagesOf(loadedFrom("hooks/run-hook.ts"))).toEqual(["better-sqlite3"]);
});

test("the code that opens stores loads no importer and no MCP", () => {
  const loaded = [...loadedFrom("cli/stores/opened-stores.ts")];
  expect(loaded).toContain("session/opened-store.ts");
  expect(loaded.filter((name) => /^(importers|imports|mcp|adapters)\/|^@/.test(name))).toEqual([]);
});

test("importing the library loads nothing that only asks Gemini", () => {
  const loaded = [...loadedFrom("index.ts")];
  expect(loaded).toContain("models/gemini/summarizer.ts");
  expect(loaded.filter((name) => /^p-queue|gemini\/(client|answer)|json-schema/.test(name))).toEqual([]);
});

test("no start waits for the code that starts other processes", () => {
  for (const entry of ["index.ts", "cli/main.ts", "cli/bin.ts", "hooks/run-hook.ts", "hooks/prompt.ts"]) {
    const loaded = [...loadedFrom(entry)];
    expect(loaded).toContain("node:fs");
    expect(loaded, entry).not.toContain("node:child_process");
  }
});

test("importing the library does not load drizzle, which only `coppice/schema` needs", () => {
  expect(packagesOf(loadedFrom("store/sql/schema.ts"))).toEqual(["drizzle-orm", "drizzle-orm/sqlite-core"]);
  for (const entry of ["index.ts", "cli/stores/opened-stores.ts", "imports/index.ts"]) {
    expect(packagesOf(loadedFrom(entry)).filter((name) => name.startsWith("drizzle"))).toEqual([]);
  }
});

test("the MCP server answers a client before the store is loaded", () => {
  const loaded = [...loadedFrom("mcp/server.ts")];
  expect(loaded).toContain("session/aids/inputs.ts");
  expect(loaded).not.toContain("session/opened-store.ts");
  expect(loaded.filter((name) => /^(better-sqlite3|drizzle-orm|uuid|p-queue)/.test(name))).toEqual([]);
});

test("whoever has no hub loads neither its code nor its driver", () => {
  for (const entry of ["index.ts", "cli/main.ts", "cli/bin.ts", "cli/stores/opened-stores.ts", "mcp/server.ts"]) {
    const loaded = [...loadedFrom(entry)];
    expect(loaded.length).toBeGreaterThan(5);
    expect(loaded.filter((name) => name === "pg" || name.startsWith("hub/"))).toEqual([]);
  }
});
