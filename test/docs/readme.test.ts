import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { type Model, setDefaultModelProvider, setTracingDisabled, Usage } from "@openai/agents-core";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { readPages } from "../../scripts/docs/pages.ts";
import { generateSections } from "../../scripts/docs/sections.ts";
import { CoppiceSessionStore } from "../../src/frameworks/claude-agent-sdk.ts";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";
import { type GeminiServer, startGeminiServer } from "../support/gemini-server.ts";
import { talk } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGES = readPages();
const README = PAGES[0]!.text;

/** Their TypeScript needs servers or packages that are not here. That of the adapters runs in a test of its own. */
const RUN_ELSEWHERE = ["src/adapters/README.md", "src/frameworks/claude-agent-sdk/README.md"];

/** The files behind the package's entries that snippets import. */
const ENTRIES: Readonly<Record<string, string>> = {
  coppice: "index.ts",
  "coppice/import": "imports/index.ts",
  "coppice/ai-sdk": "frameworks/ai-sdk.ts",
  "coppice/adk": "frameworks/adk.ts",
  "coppice/langgraph": "frameworks/langgraph.ts",
  "coppice/openai-agents": "frameworks/openai-agents.ts",
  "coppice/schema": "store/sql/schema.ts",
  "coppice/tools": "session/aids/tools.ts",
  "coppice/view": "view/index.ts",
};

/** Code blocks of one language, page by page. */
function blocks(language: string): string[] {
  const block = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm");
  return PAGES.filter(({ path }) => language !== "ts" || !RUN_ELSEWHERE.includes(path)).flatMap(({ text }) =>
    [...text.matchAll(block)].map(([, code]) => code!),
  );
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "coppice-readme-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("every generated part is what the code says now", () => {
  expect(generateSections(PAGES)).toEqual(PAGES);
});

/** Links to files of the repository that the package does not have. */
const REPOSITORY = /\]\(https:\/\/github\.com\/coppice-memory\/coppice\/(?:blob|tree)\/main\/([^)#]*)/g;

test("every link leads somewhere", () => {
  const links = PAGES.flatMap(({ path, text }) =>
    [
      ...text
        .replaceAll(REPOSITORY, (_, target) => `](${relative(dirname(path), target)}`)
        .matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g),
    ].map(([link, to, anchor]) => ({
      link: `${path}: ${link}`,
      target: to === "" ? path : join(dirname(path), to!),
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(40);
  for (const { link, target, anchor } of links) {
    expect(existsSync(join(ROOT, target)), link).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor);
  }
});

/** A model for the OpenAI Agents SDK. */
const answering: Model = {
  async getResponse() {
    const content = [{ type: "output_text" as const, text: "At nine." }];
    return { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content }] };
  },
  getStreamedResponse() {
    throw new Error("no snippet streams");
  },
};

/** What headings are linked by. */
function anchorsOf(path: string): string[] {
  const headings = readFileSync(join(ROOT, path), "utf8").matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** The AI SDK's own, for tests. */
function modelOfTheSdk(): MockLanguageModelV3 {
  const usage = {
    inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 3, text: 3, reasoning: 0 },
  };
  const chunks = [
    { type: "stream-start" as const, warnings: [] },
    { type: "text-start" as const, id: "1" },
    { type: "text-delta" as const, id: "1", delta: "At 04:12." },
    { type: "text-end" as const, id: "1" },
    { type: "finish" as const, finishReason: { unified: "stop" as const, raw: undefined }, usage },
  ];
  return new MockLanguageModelV3({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });
}

describe("the snippets in TypeScript", () => {
  const snippets = blocks("ts");
  const byGemini = snippets.findIndex((code) => code.includes("geminiSummarizer("));

  // A service at hand, and a session of a length that needs it.
  let gemini: GeminiServer;
  beforeAll(async () => {
    setTracingDisabled(true);
    setDefaultModelProvider({ getModel: () => answering });
    gemini = await startGeminiServer();
    vi.stubGlobal("yourModel", modelOfTheSdk());
    vi.stubEnv("GEMINI_API_KEY", "readme");
    vi.stubEnv("GOOGLE_GEMINI_BASE_URL", gemini.url);
    const store = openStore(join(folder, `agent-${byGemini}.db`));
    const session = store.session("support-42", { resolveTokensMin: 200 });
    for (const message of talk(100)) {
      session.append({ ...message, content: `${message.content} The key is sk-0123456789abcdefghij.` });
    }
    store.close();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
    await gemini.close();
  });

  test("are there", () => expect(snippets.length).toBe(34));

  test.each(snippets.map((code, index) => [index, code] as const))(
    "snippet %i runs as it stands",
    async (index, code) => {
      // As a reader runs it, but for the package's name, the file's place, and a model that is at hand.
      const source = code
        .replaceAll(/"(coppice(?:\/[a-z-]+)?)"/g, (name, entry: string) => {
          const file = ENTRIES[entry];
          return file === undefined ? name : JSON.stringify(pathToFileURL(join(ROOT, "src", file)).href);
        })
        .replaceAll('"@openai/agents"', '"@openai/agents-core"')
        .replaceAll('"agent.db"', JSON.stringify(join(folder, `agent-${index}.db`)))
        .replaceAll(/"([\w-]+\.(?:db|rows))"/g, (_, name: string) => JSON.stringify(join(folder, name)));
      const file = join(folder, `snippet-${index}.ts`);
      const model =
        'const callYourModel = async (messages: unknown[]) => ["an answer to", messages.length, "messages"].join(" ");\n';
      writeFileSync(file, `${model}${source}\nexport const done = true;\n`);
      expect(await import(file)).toMatchObject({ done: true });
    },
  );

  test("the one with Gemini leaves summaries by it in the store, and has sent no key", () => {
    const store = openStore(join(folder, `agent-${byGemini}.db`), { readonly: true });
    const summarizers = store.query("SELECT DISTINCT status, summarizer_id FROM summaries");
    store.close();
    expect(summarizers).toEqual([{ status: "done", summarizer_id: "gemini-3.1-flash-lite" }]);
    const sent = gemini.requests.map(({ text }) => text).join("\n");
    expect(sent).toContain("The key is [key].");
    expect(sent).not.toContain("sk-0123");
  });

  test("the chat of the AI SDK has its question and its answer", () => {
    const index = snippets.findIndex((code) => code.includes("contextSteps("));
    const store = openStore(join(folder, `agent-${index}.db`), { readonly: true });
    const messages = store.resume("chat-7").messages();
    store.close();
    expect(messages.map(({ parts }) => parts.find(({ type }) => type === "text"))).toMatchObject([
      { text: "When is high water?" },
      { text: "At 04:12." },
    ]);
  });

  test("the first one leaves a question and its answer in the store", async () => {
    const store = openStore(join(folder, "agent-0.db"), { readonly: true });
    const [question, answer] = store.resume("support-42").messages();
    store.close();
    expect(question).toMatchObject({ role: "user", parts: [{ type: "text", text: "Why did the deploy fail?" }] });
    expect(answer).toMatchObject({ role: "assistant", parts: [{ type: "text", text: "an answer to 1 messages" }] });
  });
});

test("the example of recall prints what it says", async () => {
  const code = blocks("ts").find((block) => block.includes("// monday"))!;
  const said = code.split("\n").filter((line) => line.startsWith("// "));
  expect(said.length).toBe(2);
  const store = openStore(join(folder, `agent-${blocks("ts").indexOf(code)}.db`), { readonly: true });
  const hits = await store.recall("why did we pick eu-west for the deploy?", { project: "web", limit: 2 });
  store.close();
  const lines = hits.map(
    ({ sessionId, seq, snippet, neighbors }) =>
      `// ${sessionId} ${seq} ${snippet} [ ${neighbors.map((neighbor) => neighbor.seq).join(", ")} ]`,
  );
  expect(lines).toEqual(said);
});

describe("the queries in SQL", () => {
  const queries = blocks("sql");

  test("are there", () => expect(queries.length).toBe(24));

  test.each(queries.map((query) => [query.split("\n")[0]!, query] as const))("%s", async (_, query) => {
    const path = join(folder, "sql.db");
    const store = openStore(path, { summarizer: scriptedSummarizer("good") });
    for (const id of ["a", "b"]) {
      // One with a summary, and one without.
      const resolveTokensMin = id === "a" ? 1 : 200;
      const session = store.session(id, { hotSize: 2, overlap: 1, evictBatch: 2, resolveTokensMin });
      if (session.messages().length > 0) continue;
      const createdAt = Date.UTC(2026, 0, 1); // long ago, so that it rests
      for (let turn = 0; turn < 6; turn++) {
        const toolCallId = `c${turn}`;
        const args = { path: `src/${turn}.ts` };
        session.append([
          { role: "user", content: `Read the file number ${turn}, please.`, createdAt },
          {
            ...{ role: "assistant", parts: [{ type: "tool_call", toolCallId, name: "read_file", args }], createdAt },
            metadata: { model: "sol", usage: { input_tokens: 9, output_tokens: 1 } },
          },
          { role: "tool", parts: [{ type: "tool_result", toolCallId, content: `contents of ${turn}` }], createdAt },
        ]);
      }
      await session.resolveDirty();
      session.fork({ toSeq: 2, id: `${id}-again` });
    }
    const corrected = store.session("corrected");
    corrected.append({ role: "user", content: "Deploy to Frankfurt." });
    corrected.rewind({ toSeq: -1 });
    corrected.append({ role: "user", content: "Deploy to Dublin." });
    const [said] = store.session("a").messages({ limit: 1 });
    if (store.remembered().length === 0) store.remember("Deploy to Oslo.", { replaces: said!.id });
    store.session("gone").append({ role: "user", content: "Nobody needs this." });
    store.forget("gone");
    await store.upkeep();
    const thread = { configurable: { thread_id: "t" } };
    await new CoppiceSaver(store).put(thread, emptyCheckpoint(), { source: "input", step: -1, parents: {} }, {});
    await new CoppiceSessionStore(store).append({ projectKey: "p", sessionId: "mirrored" }, [{ type: "summary" }]);
    store.close();
    const reader = openStore(path, { readonly: true });
    const rows = reader.query(query);
    reader.close();
    expect(rows.length).toBeGreaterThan(0);
  });
});

const cli = new CliFolder();

test("the commands of its examples exist", async () => {
  const names = new Set([...README.matchAll(/(?:^|`)coppice ([a-z]+)/gm)].map(([, name]) => name!));
  expect(names.size).toBeGreaterThan(5);
  const { stdout } = await cli.run(["--help"]);
  for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
});
