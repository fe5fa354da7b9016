import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateSections } from "../../scripts/docs/sections.ts";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** Code blocks of one language, in order. */
function blocks(language: string): string[] {
  return [...README.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, code]) => code!);
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "coppice-readme-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("every generated part is what the code says now", () => {
  expect(generateSections(README)).toBe(README);
});

test("every link into the repository leads somewhere", () => {
  const links = [...README.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(([, path]) => path!);
  expect(links.length).toBeGreaterThan(8);
  expect(links.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

describe("the snippets in TypeScript", () => {
  const snippets = blocks("ts");

  test("are there", () => expect(snippets.length).toBe(2));

  test.each(snippets.map((code, index) => [index, code] as const))(
    "snippet %i runs as it stands",
    async (index, code) => {
      // As a reader runs it, but for the package's name, the file's place, and a model that is at hand.
      const source = code
        .replaceAll('"coppice"', JSON.stringify(pathToFileURL(join(ROOT, "src/index.ts")).href))
        .replaceAll('"agent.db"', JSON.stringify(join(folder, `agent-${index}.db`)));
      const file = join(folder, `snippet-${index}.ts`);
      const model =
        'const callYourModel = async (messages: unknown[]) => ["an answer to", messages.length, "messages"].join(" ");\n';
      writeFileSync(file, `${model}${source}\nexport const done = true;\n`);
      expect(await import(file)).toMatchObject({ done: true });
    },
  );

  test("the first one leaves a question and its answer in the store", async () => {
    const store = openStore(join(folder, "agent-0.db"), { readonly: true });
    const [question, answer] = store.resume("support-42").messages();
    store.close();
    expect(question).toMatchObject({ role: "user", parts: [{ type: "text", text: "Why did the deploy fail?" }] });
    expect(answer).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "an answer to 1 messages" }] });
  });
});

describe("the queries in SQL", () => {
  const queries = blocks("sql");

  test("are there", () => expect(queries.length).toBe(5));

  test.each(queries.map((query) => [query.split("\n")[0]!, query] as const))("%s", (_, query) => {
    const path = join(folder, "sql.db");
    const store = openStore(path);
    const session = store.session("a", { hotSize: 2, overlap: 1, evictBatch: 2 });
    if (session.messages().length === 0) {
      for (let turn = 0; turn < 6; turn++) {
        const toolCallId = `c${turn}`;
        session.append({ role: "user", content: `Read the file number ${turn}, please.` });
        session.append({
          role: "assistant",
          parts: [{ type: "tool_call", toolCallId, name: "read_file", args: { path: `src/${turn}.ts` } }],
        });
        session.append({ role: "tool", parts: [{ type: "tool_result", toolCallId, content: `contents of ${turn}` }] });
      }
    }
    const rows = store.query(query);
    store.close();
    expect(rows.length).toBeGreaterThan(0);
  });
});

const cli = new CliFolder();

test("the commands of its examples exist", async () => {
  const names = new Set([...README.matchAll(/^coppice ([a-z]+)/gm)].map(([, name]) => name!));
  expect(names.size).toBeGreaterThan(5);
  for (const name of names) expect((await cli.run([name, "--help"])).exitCode, name).toBe(0);
});
