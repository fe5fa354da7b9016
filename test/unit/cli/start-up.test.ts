import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));

/** What is loaded before a command runs: all that is imported from a file on, but for types and what `import()` names. */
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

test("help, and what is mistyped, is answered without loading the store, zod or the importers", () => {
  const loaded = [...loadedFrom("cli/main.ts")];
  expect(loaded).toContain("cli/commands/recall.ts"); // it has looked
  const packages = loaded.filter((name) => !name.endsWith(".ts") && !name.startsWith("node:"));
  expect(packages.sort()).toEqual(["commander", "leven"]);
  expect(loaded.filter((name) => /^(store|session|importers|models|mcp)\//.test(name))).toEqual([
    "session/sessions-begun.ts",
    "importers/formats.ts",
  ]);
});

test("the MCP server answers a client before the store is loaded", () => {
  const loaded = [...loadedFrom("mcp/server.ts")];
  expect(loaded).toContain("session/inputs.ts");
  expect(loaded).not.toContain("session/store.ts");
  expect(loaded.filter((name) => /^(better-sqlite3|drizzle-orm|uuid|p-queue)/.test(name))).toEqual([]);
});
