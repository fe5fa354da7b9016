import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MockLanguageModelV3 } from "ai/test";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openStore } from "../../src/index.ts";
import { TESTS_ALL } from "../support/effort.ts";
import { type GeminiServer, startGeminiServer } from "../support/gemini-server.ts";
import { type ProviderServer, startAnthropicServer, startOpenaiServer } from "../support/provider-servers.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = readFileSync(join(ROOT, "src/adapters/README.md"), "utf8");
const snippets = [...PAGE.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code]) => code!);

let folder: string;
let openai: ProviderServer;
let anthropic: ProviderServer;
let gemini: GeminiServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "coppice-adapters-"));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  [openai, anthropic, gemini] = await Promise.all([startOpenaiServer(), startAnthropicServer(), startGeminiServer()]);
  const call = { functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: "c2ln" };
  const says = (part: object) => ({
    status: 200,
    body: { candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }] },
  });
  gemini.script(says(call), says({ text: "Rain in Oslo." }));
  for (const [name, value] of Object.entries({
    OPENAI_API_KEY: "readme",
    OPENAI_BASE_URL: openai.url,
    ANTHROPIC_API_KEY: "readme",
    ANTHROPIC_BASE_URL: anthropic.url,
    GEMINI_API_KEY: "readme",
    GOOGLE_GEMINI_BASE_URL: gemini.url,
  })) {
    vi.stubEnv(name, value);
  }
  vi.stubGlobal("yourModel", modelOfTheSdk());
});
afterAll(async () => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  await Promise.all([openai.close(), anthropic.close(), gemini.close()]);
  rmSync(folder, { recursive: true });
});

/** The SDK's own, for tests: it asks for the weather once and then tells it. */
function modelOfTheSdk(): MockLanguageModelV3 {
  const usage = {
    inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 3, text: 3, reasoning: 0 },
  };
  const input = '{"city":"Oslo"}';
  return new MockLanguageModelV3({
    doGenerate: [
      {
        content: [{ type: "tool-call", toolCallId: "c1", toolName: "weather", input }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "Rain in Oslo." }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
}

/** As a reader runs it, but for the package's place and the file's. */
async function run(code: string, index: number): Promise<void> {
  const source = code
    .replaceAll(/"coppice(\/adapters\/[a-z-]+)?"/g, (_, path: string | undefined) => {
      return JSON.stringify(pathToFileURL(join(ROOT, "src", `${path ?? "/index"}.ts`)).href);
    })
    .replaceAll('"agent.db"', JSON.stringify(join(folder, "agent.db")));
  const file = join(folder, `snippet-${index}.ts`);
  writeFileSync(file, `${source}\nexport const done = true;\n`);
  expect(await import(file)).toMatchObject({ done: true });
}

/** What a session holds, in a few words a message. */
function said(sessionId: string): string[] {
  const store = openStore(join(folder, "agent.db"), { readonly: true });
  const messages = store.resume(sessionId).messages();
  store.close();
  return messages.map(({ role, parts }) => `${role}: ${parts.map(({ type }) => type).join(" ")}`);
}

describe("the loops of the page", () => {
  test("are there", () => expect(snippets.length).toBe(5));

  if (TESTS_ALL) {
    test("compile against the types of the SDKs", () => {
      const sources = mkdtempSync(join(folder, "types-"));
      writeFileSync(join(sources, "package.json"), '{ "type": "module" }');
      const paths = { coppice: [join(ROOT, "src/index.ts")], "coppice/adapters/*": [join(ROOT, "src/adapters/*.ts")] };
      const compilerOptions = { paths, typeRoots: [join(ROOT, "node_modules/@types")] };
      const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
      writeFileSync(join(sources, "tsconfig.json"), JSON.stringify(config));
      const declared = 'declare const yourModel: import("ai").LanguageModel;\n';
      snippets.forEach((code, index) => {
        writeFileSync(join(sources, `snippet-${index}.ts`), code.includes("yourModel") ? declared + code : code);
      });
      const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
      const { stdout } = spawnSync(process.execPath, [compiler, "--noEmit", "--listFiles", "-p", sources]);
      const lines = String(stdout).split("\n");
      expect(lines.filter((line) => line.includes("error TS"))).toEqual([]);
      expect(lines.filter((line) => line.includes("snippet-")).length).toBe(5);
    });
  }

  test.each([
    ["openai", ["user: text", "assistant: tool_call", "tool: tool_result", "assistant: text"]],
    ["anthropic", ["user: text", "assistant: reasoning tool_call", "tool: tool_result", "assistant: text"]],
    ["gemini", ["user: text", "assistant: tool_call", "tool: tool_result", "assistant: text"]],
    ["ai-sdk", ["user: text", "assistant: tool_call", "tool: tool_result", "assistant: text"]],
    ["llxprt", ["user: text", "assistant: tool_call", "tool: tool_result"]],
  ] as const)("that with %s runs as it stands, and leaves what was said in the store", async (name, expected) => {
    const index = snippets.findIndex((code) => code.includes(`coppice/adapters/${name}"`));
    await run(snippets[index]!, index);
    expect(said(name)).toEqual(expected);
  });

  test("send back what the model said as it said it", () => {
    expect(openai.requests.length).toBe(2);
    expect((openai.requests[1]!.messages as unknown[])[1]).toEqual({
      role: "assistant",
      content: null,
      refusal: null,
      annotations: [],
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city": "Oslo"}' } }],
    });
    expect(anthropic.requests.length).toBe(2);
    expect((anthropic.requests[1]!.messages as { content: unknown }[])[1]!.content).toEqual([
      { type: "thinking", thinking: "Which city?", signature: "c2ln" },
      { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
    ]);
    expect(gemini.requests.length).toBe(2);
    expect(gemini.requests[1]!.body.contents!.slice(1)).toEqual([
      {
        role: "model",
        parts: [{ functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: "c2ln" }],
      },
      { role: "user", parts: [{ functionResponse: { name: "weather", response: { output: "Rain, 7 °C" } } }] },
    ]);
  });
});
