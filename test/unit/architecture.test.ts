import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../../src", import.meta.url));

/** From the ground up: a room may name only rooms written before it. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  vector: ["core"],
  forest: ["core", "vector"],
  store: ["core", "vector", "forest"],
  adapters: ["core"],
  models: ["core", "vector", "adapters"],
  ann: ["core", "vector", "forest"],
  ingest: ["core", "vector", "forest", "store", "models", "ann"],
  summaries: ["core", "forest", "store", "models"],
  context: ["core", "vector", "forest", "store", "models"],
  recall: ["core", "vector", "forest", "store", "models", "ann"],
  session: ["core", "vector", "forest", "store", "models", "ann", "ingest", "summaries", "context", "recall"],
  importers: ["core", "adapters"],
  imports: ["core", "importers", "session"],
  frameworks: ["core", "adapters", "importers", "recall", "session"],
  hub: ["core", "vector", "store", "models", "recall", "session"],
  hooks: ["core", "store", "models", "context", "recall", "session", "importers"],
  setup: ["core", "hooks"],
  // It may start the other surfaces.
  cli: ["core", "session", "importers", "imports", "hub", "hooks", "setup", "mcp", "view"],
  mcp: ["core", "session", "hooks"],
  // The public API, and what a store needs to be opened here.
  view: ["core", "session", "index.ts"],
};

/** Rooms that others enter by their `index.ts` alone. */
const WITH_DOOR = ["store"];

/** The folders of a room, from the ground up: a file may name only those written before its own, and its own. */
const FLOORS: Record<string, readonly string[]> = {
  store: [
    "sql",
    "file",
    "facts",
    "derived",
    "repositories.ts",
    "changes",
    "moves",
    "checks",
    "quick-reader.ts",
    "index.ts",
  ],
};

/** Packages that only some rooms know, or only a folder or file of one. `node:` modules and zod are free to all. */
const PACKAGE_AT: Record<string, readonly string[]> = {
  "drizzle-orm": ["store"],
  // Other programs' histories are databases, too.
  "better-sqlite3": ["store", "importers"],
  pg: ["hub"],
  fzstd: ["importers"],
  stemmer: ["models"],
  "@google/genai": ["models/gemini", "adapters/gemini"],
  openai: ["adapters/openai"],
  "@anthropic-ai/sdk": ["adapters/anthropic"],
  ai: ["adapters/ai-sdk", "frameworks/ai-sdk"],
  "@google/adk": ["frameworks/adk"],
  "@openai/agents-core": ["frameworks/openai-agents"],
  "@langchain/core": ["frameworks/langgraph"],
  "@langchain/langgraph-checkpoint": ["frameworks/langgraph"],
  "p-queue": ["models/request-queue.ts"],
  "hnswlib-node": ["ann"],
  uuid: ["session"],
  commander: ["cli"],
  "@modelcontextprotocol/server": ["mcp"],
  preact: ["view/page"],
  "@preact/signals": ["view/page"],
  marked: ["view/page"],
};
const PURE_ROOMS = ["vector", "forest"];

interface Import {
  file: string;
  specifier: string;
  /** Relative to the source, for an import of ours. */
  target: string | undefined;
}

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const imports = files.flatMap(importsOf);

/** Of a statement, of a type, of a call: everything that names another module. */
function importsOf(file: string): Import[] {
  const source = readFileSync(join(SOURCE, file), "utf8");
  const specifiers = [
    ...source.matchAll(/^(?:import|export)\s[^;"']*?\bfrom\s*["']([^"']+)["']/gm),
    ...source.matchAll(/^import\s*["']([^"']+)["']/gm),
    ...source.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g),
  ];
  return specifiers.map(([, specifier]) => {
    const isOurs = specifier!.startsWith(".");
    const target = isOurs ? relative(SOURCE, join(SOURCE, dirname(file), specifier!)) : undefined;
    return { file, specifier: specifier!, target };
  });
}

function roomOf(file: string): string {
  return file.split("/")[0]!;
}

test("the imports are seen", () => {
  expect(files.length).toBeGreaterThan(60);
  expect(imports).toContainEqual({
    file: "session/opened-store.ts",
    specifier: "../store/index.ts",
    target: "store/index.ts",
  });
  expect(imports).toContainEqual({ file: "session/open-session.ts", specifier: "uuid", target: undefined });
  expect(imports.filter(({ target }) => target !== undefined && !files.includes(target))).toEqual([]);
});

test("every folder is a room, and index.ts alone stands outside", () => {
  const strangers = files.filter((file) => file !== "index.ts" && !Object.hasOwn(MAY_IMPORT, roomOf(file)));
  expect(strangers).toEqual([]);
});

test("no room imports what the table does not grant it", () => {
  const trespasses = imports.filter(({ file, target }) => {
    if (target === undefined || file === "index.ts") return false;
    const [from, to] = [roomOf(file), roomOf(target)];
    return from !== to && !MAY_IMPORT[from]?.includes(to);
  });
  expect(trespasses.map(({ file, target }) => `${file} → ${target}`)).toEqual([]);
});

test("a room with a door is entered by it", () => {
  const trespasses = imports.filter(({ file, target }) => {
    if (target === undefined || roomOf(file) === roomOf(target)) return false;
    return WITH_DOOR.includes(roomOf(target)) && target !== `${roomOf(target)}/index.ts`;
  });
  expect(trespasses.map(({ file, target }) => `${file} → ${target}`)).toEqual([]);
});

test("no folder of a room imports one above it", () => {
  const floorOf = (file: string): number => FLOORS[roomOf(file)]!.indexOf(file.split("/")[1]!);
  const inside = imports.filter(({ file, target }) => {
    return Object.hasOwn(FLOORS, roomOf(file)) && target !== undefined && roomOf(target) === roomOf(file);
  });
  expect(inside.length).toBeGreaterThan(100);
  const climbs = inside.filter(({ file, target }) => floorOf(file) < 0 || floorOf(target!) > floorOf(file));
  expect(climbs.map(({ file, target }) => `${file} → ${target}`)).toEqual([]);
});

test("a package stays in the rooms that are to know it", () => {
  const strays = imports.filter(({ file, specifier, target }) => {
    if (target !== undefined || specifier.startsWith("node:")) return false;
    const name = specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/");
    const allowed = name === "zod" ? [roomOf(file)] : (PACKAGE_AT[name] ?? []);
    return !allowed.some((place) => file === place || file.startsWith(`${place}/`));
  });
  expect(strays.map(({ file, specifier }) => `${file} → ${specifier}`)).toEqual([]);
});

test("adapters know the SDKs by their types alone", () => {
  const loading = imports.filter(({ file, specifier, target }) => {
    if (roomOf(file) !== "adapters" || target !== undefined || specifier.startsWith("node:")) return false;
    const source = readFileSync(join(SOURCE, file), "utf8");
    return !new RegExp(`^import type [^;]*["']${specifier}["']`, "m").test(source);
  });
  expect(loading).toEqual([]);
});

test("pure rooms have no clock, no randomness and nothing of the machine", () => {
  const impure = files.filter((file) => {
    if (!PURE_ROOMS.includes(roomOf(file))) return false;
    const source = readFileSync(join(SOURCE, file), "utf8");
    return /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.|\bprocess\.|["']node:/.test(source);
  });
  expect(impure).toEqual([]);
});

test("no file is in a circle of imports", () => {
  const targetsOf = new Map<string, string[]>();
  for (const { file, target } of imports) {
    if (target !== undefined) targetsOf.set(file, [...(targetsOf.get(file) ?? []), target]);
  }
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file].join(" → "));
    if (start >= 0 || finished.has(file)) return;
    for (const target of targetsOf.get(file) ?? []) visit(target, [...path, file]);
    finished.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test("core, adapters and importers' formats load no native module", () => {
  const native = new Set(["better-sqlite3", "hnswlib-node"]);
  const reach = (entry: string, seen = new Set<string>()): Set<string> => {
    for (const { specifier, target } of imports.filter(({ file }) => file === entry)) {
      const next = target ?? specifier;
      if (seen.has(next)) continue;
      seen.add(next);
      if (target !== undefined) reach(target, seen);
    }
    return seen;
  };
  const entries = files.filter((file) => ["core", "adapters", "vector", "forest", "models"].includes(roomOf(file)));
  const loading = entries.filter((entry) => [...reach(entry)].some((name) => native.has(name)));
  expect(loading).toEqual([]);
});
