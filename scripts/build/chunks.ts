import { join } from "node:path";
import type { ChunkingContext } from "rolldown";

/**
 * The library is three chunks, because each file that Node loads takes time. Each is listed with the entries that load it. A module
 * is in the first chunk whose entries need it.
 */
const CHUNKS = {
  base: ["cli/main.ts", ...["ai-sdk", "anthropic", "gemini", "llxprt", "openai"].map((name) => `adapters/${name}.ts`)],
  schemas: ["mcp/server.ts", "imports/import-thread.ts"],
  store: ["index.ts"],
};

/** Matches a part of zod that every module imports with it. Only the MCP server and Gemini call it, so it is in no chunk. */
const JSON_SCHEMA = /\/zod\/.*\bjson-schema/;

/** Returns a function that names the chunk of a module: the first one that needs it, or null for modules outside the library. */
export function chunkOf(source: string): (module: string, context: ChunkingContext) => string | null {
  let chunks: [name: string, modules: Set<string>][] | undefined;
  return (module, context) => {
    chunks ??= Object.entries(CHUNKS).map(([name, users]) => [name, loadedBy(users, source, context)]);
    const [, library] = chunks.at(-1)!;
    if (!library.has(module) || JSON_SCHEMA.test(module)) return null;
    return chunks.find(([, modules]) => modules.has(module))![0];
  };
}

/** Returns the modules that loading these files loads. */
function loadedBy(files: readonly string[], source: string, context: ChunkingContext): Set<string> {
  const loaded = new Set(files.map((file) => join(source, file)));
  // A set also yields what is added meanwhile.
  for (const module of loaded)
    for (const imported of context.getModuleInfo(module)?.importedIds ?? []) loaded.add(imported);
  return loaded;
}
