import { join } from "node:path";
import { type InputOptions, rolldown } from "rolldown";

/**
 * The library is a few chunks, because each file that Node loads takes time, and so does each line that it reads. Each chunk is listed
 * with the entries that load it. A module is in the first chunk whose entries need it.
 */
const CHUNKS = {
  base: ["cli/main.ts", ...["ai-sdk", "anthropic", "gemini", "llxprt", "openai"].map((name) => `adapters/${name}.ts`)],
  hook: ["hooks/run-hook.ts"],
  reading: ["hooks/from-store.ts"],
  schemas: ["mcp/server.ts", "imports/import-thread.ts"],
  store: ["index.ts", "hooks/run-hook.ts", "hooks/from-store.ts"],
};

/** Matches a part of zod that every module imports with it. Only the MCP server and Gemini call it, so it is in no chunk. */
const JSON_SCHEMA = /\/zod\/.*\bjson-schema/;

/** Returns a function that names the chunk of a module: the first one that needs it, or null for modules outside the library. */
export async function chunkOf(source: string, options: InputOptions): Promise<(module: string) => string | null> {
  const chunks: [name: string, modules: Set<string>][] = [];
  for (const [name, users] of Object.entries(CHUNKS)) chunks.push([name, await loadedBy(users, source, options)]);
  const [, library] = chunks.at(-1)!;
  return (module) => {
    if (!library.has(module) || JSON_SCHEMA.test(module)) return null;
    return chunks.find(([, modules]) => modules.has(module))![0];
  };
}

/** Returns the modules of which these files use something before they call anything. */
async function loadedBy(files: readonly string[], source: string, options: InputOptions): Promise<Set<string>> {
  const later = { name: "later", resolveDynamicImport: () => ({ id: "node:later", external: true }) };
  const input = files.map((file) => join(source, file));
  const bundle = await rolldown({ ...options, input, plugins: [options.plugins, later] });
  const { output } = await bundle.generate();
  const modules = output.flatMap((chunk) => (chunk.type === "chunk" ? Object.entries(chunk.modules) : []));
  return new Set(modules.flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : [])));
}
