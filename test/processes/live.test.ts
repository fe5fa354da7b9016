import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { failure, geminiServer } from "../support/gemini-server.ts";

const LIVE = fileURLToPath(new URL("../../scripts/live.ts", import.meta.url));

/** `npm run live` in an environment without keys but those given. */
function live(env: NodeJS.ProcessEnv): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const { GOOGLE_API_KEY: _, GEMINI_API_KEY: __, ...rest } = process.env;
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [...process.execArgv, LIVE],
      { env: { ...rest, ...env } },
      (_error, stdout, stderr) => done({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

test("without a key the live test says so and is done", async () => {
  expect(await live({})).toEqual({
    exitCode: 0,
    stdout: "There is no key: set GEMINI_API_KEY or GOOGLE_API_KEY. Nothing was sent.\n",
    stderr: "",
  });
});

test("with a key it makes requests of each kind, and shows what came and what it cost", async () => {
  const server = await geminiServer("good");
  const { exitCode, stdout } = await live({ GEMINI_API_KEY: "live", GOOGLE_GEMINI_BASE_URL: server.url });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^gemini-3\.1-flash-lite answered in \d+ ms: 7 \+ 3 tokens, 0\.000006 US dollars\.\n\n/);
  expect(stdout).toContain("LOGIN_DB_URL in config/production.yaml points at db1");
  expect(stdout).toMatch(/gemini-embedding-2-768 answered in \d+ ms: \d+ \+ 0 tokens/);
  expect(stdout).toMatch(/with what answers it and with something else: 0\.\d{3} and 0\.\d{3}/);
  expect(server.requests.map(({ method }) => method)).toEqual([
    "generateContent",
    "batchEmbedContents",
    "batchEmbedContents",
    "streamGenerateContent",
  ]);
});

test("a refusal is told with its code and its hint", async () => {
  const server = await geminiServer(failure(403, "PERMISSION_DENIED", "The API is switched off."));
  const { exitCode, stdout, stderr } = await live({ GEMINI_API_KEY: "live", GOOGLE_GEMINI_BASE_URL: server.url });
  expect(exitCode).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain(
    "MODEL_REFUSED: gemini-3.1-flash-lite refused the request (403): The API is switched off. The same request",
  );
});
