import { join } from "node:path";
import type { ChunkingContext } from "rolldown";

/**
 * The chunks of the library, in the order in which programs come to need them, and the modules that need them. Each file that
 * Node loads takes time, so the library is these three.
 */
const CHUNKS = {
  base: ["cli/main.ts", ...["ai-sdk", "anthropic", "gemini", "llxprt", "openai"].map((name) => `adapters/${name}.ts`)],
  schemas: ["mcp/server.ts", "imports/import-thread.ts"],
  store: ["index.ts"],
};

/** Every module that uses zod imports this with it, and only the MCP server and Gemini call it. */
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
