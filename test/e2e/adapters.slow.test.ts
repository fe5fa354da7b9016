import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

// The built package alone: neither SQLite nor an SDK, nor anything else, is installed beside it.
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "coppice-alone-"));
  cpSync(inject("packageFolder"), join(folder, "node_modules", "coppice"), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

function load(specifier: string): { names: string; error: string } {
  const code = `import(${JSON.stringify(specifier)}).then((module) => console.log(Object.keys(module).join()))`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder });
  return { names: String(stdout).trim(), error: String(stderr) };
}

test.each([
  ["coppice/adapters/ai-sdk", "fromAiSdk,fromUiMessages,toAiSdk,toUiMessages"],
  ["coppice/adapters/anthropic", "fromAnthropic,toAnthropic"],
  ["coppice/adapters/gemini", "fromGemini,toGemini"],
  ["coppice/adapters/llxprt", "fromLlxprt,toLlxprt"],
  ["coppice/adapters/openai", "fromOpenai,toOpenai"],
])("%s loads where nothing is installed beside the package", (specifier, names) => {
  expect(load(specifier)).toEqual({ names, error: "" });
});

test("the library itself does not, so that this can be seen", () => {
  expect(load("coppice").error).toContain("ERR_MODULE_NOT_FOUND");
});

test.each(["coppice/adapters/shared/own", "coppice/adapters/openai/to"])("%s is nobody's business", (specifier) => {
  expect(load(specifier).error).toContain("ERR_PACKAGE_PATH_NOT_EXPORTED");
});
