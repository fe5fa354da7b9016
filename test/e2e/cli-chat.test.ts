import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { breachesOf, linesOf } from "../support/chat.ts";
import { CliFolder } from "../support/cli.ts";
import { slow } from "../support/effort.ts";
import { TEST_KEY } from "../support/gemini-faults.ts";
import { failure, type GeminiServer, geminiServer, retryIn } from "../support/gemini-server.ts";
import { calling, streamed, words } from "../support/gemini-stream.ts";
import { PROGRAM } from "../support/program.ts";
import { hasTerminals, onTerminal } from "../support/real-terminal.ts";
import { talk } from "../support/said.ts";

const folder = new CliFolder();
/** A process starts slowly while others run. */
const WAIT = { timeout: 20_000 };

const envOf = (server: GeminiServer) => ({ GEMINI_API_KEY: TEST_KEY, GOOGLE_GEMINI_BASE_URL: server.url });

async function messagesOf(session: string): Promise<{ role: "user"; parts: []; metadata?: Record<string, unknown> }[]> {
  return (await folder.json("show", session)).messages;
}

/** Starts a chat as a process of its own. */
function start(session: string, server: GeminiServer) {
  const chat = folder.start(["chat", session], { env: envOf(server) });
  return { ...chat, shown: () => chat.stdout() + chat.stderr() };
}

test("without a key nothing is opened, created or sent", async () => {
  const db = join(folder.path, "none.db");
  const { exitCode, stdout, stderr } = await folder.run(["chat", "--db", db], { stdin: "Hello.\n" });
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^coppice: There is no key for gemini-3.1-flash-lite\.\nSet GEMINI_API_KEY/);
  expect(existsSync(db)).toBe(false);
});

test("lines in a pipe are turns of one session, which the next call continues", async () => {
  const server = await geminiServer(
    streamed("The key ", "had expired."),
    calling("recall", { query: "deploy" }),
    streamed("It was the key."),
  );
  const first = await folder.run(["chat", "piped"], { env: envOf(server), stdin: "Why did the deploy fail?\n" });
  expect(first).toEqual({ exitCode: 0, stdout: "The key had expired.\n", stderr: "" });
  const second = await folder.run(["chat", "piped"], { env: envOf(server), stdin: "Say it again.\n" });
  expect([second.exitCode, second.stdout]).toEqual([0, "It was the key.\n"]);
  expect(second.stderr).toBe('→ recall {"query":"deploy"}\n');
  const sent = server.requests.at(-1)!;
  expect(sent.text).toContain("The key had expired.");
  expect(breachesOf(sent.body)).toEqual([]);
  expect(linesOf(await messagesOf("piped"))).toEqual([
    "user: Why did the deploy fail?",
    "assistant: The key had expired.",
    "user: Say it again.",
    "assistant: call recall",
    "tool: result",
    "assistant: It was the key.",
  ]);
});

test("--json is one value, and a failure one object on stderr, without the key", async () => {
  const fault = failure(429, "RESOURCE_EXHAUSTED", `Quota of ${TEST_KEY} exceeded.`, retryIn("7s"));
  const server = await geminiServer(streamed("One."), fault);
  const { exitCode, stdout, stderr } = await folder.run(["chat", "json", "--json"], {
    env: envOf(server),
    stdin: "1\n2\n3\n",
  });
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    sessionId: "json",
    model: "gemini-3.1-flash-lite",
    turns: [
      { said: "1", reply: "One." },
      { said: "2", reply: "", interrupted: "MODEL_UNAVAILABLE" },
    ],
    pressure: { tokensMax: 16_000 },
  });
  expect(JSON.parse(stderr)).toEqual({
    error: {
      code: "MODEL_UNAVAILABLE",
      message: "gemini-3.1-flash-lite did not answer (429): Quota of [key] exceeded.",
      hint: "Try again in 7 seconds.",
      details: {
        model: "gemini-3.1-flash-lite",
        reason: "Quota of [key] exceeded",
        status: 429,
        retryAfterMs: 7_000,
      },
    },
  });
  expect(readFileSync(folder.db).includes(TEST_KEY)).toBe(false);
});

test.each(["SIGINT", "SIGTERM"] as const)("%s during a reply keeps what arrived and ends the chat", async (signal) => {
  const server = await geminiServer({ pieces: [words("half"), "hang"] });
  const { child, shown, ended } = start(signal, server);
  child.stdin.write("Go.\nNever said.\n");
  await expect.poll(shown, WAIT).toBe("half");
  child.kill(signal);
  expect(await ended).toBe(1);
  expect(shown()).toBe("half\ncoppice: The reply was interrupted.\nThe part that arrived is stored.\n");
  const messages = await messagesOf(signal);
  expect(linesOf(messages)).toEqual(["user: Go.", "assistant: half"]);
  expect(messages[1]!.metadata).toMatchObject({ interrupted: "aborted" });
});

test("kill -9 during a reply leaves the store intact, and the next call answers the question", async () => {
  const server = await geminiServer({ pieces: [words("half"), "hang"] }, streamed("Whole."));
  const { child, shown, ended } = start("killed", server);
  child.stdin.write("Go.\n");
  await expect.poll(shown, WAIT).toBe("half");
  child.kill("SIGKILL");
  expect(await ended).toBe("SIGKILL");
  expect((await folder.json("verify")).ok).toBe(true);
  expect(linesOf(await messagesOf("killed"))).toEqual(["user: Go."]);
  const next = await folder.run(["chat", "killed"], { env: envOf(server) });
  expect(next).toEqual({ exitCode: 0, stdout: "Whole.\n", stderr: "" });
  expect(breachesOf(server.requests.at(-1)!.body)).toEqual([]);
});

slow(test)("leaving does not wait for running summaries", async () => {
  const store = openStore(folder.db);
  store.session("long", { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 1, resolveTokensMin: 50 }).append(talk(60));
  store.close();
  const server = await geminiServer(streamed("Yes."), "hang");
  const { child, shown, ended } = start("long", server);
  child.stdin.write("Is the bucket there?\n");
  await expect.poll(shown, WAIT).toBe("Yes.\n");
  await server.arrived(2);
  expect(server.requests[1]!.method).toBe("generateContent");
  const leavingAt = performance.now();
  child.stdin.end();
  expect(await ended).toBe(0);
  expect(performance.now() - leavingAt).toBeLessThan(5_000);
});

test("no session is created if nothing is said or an option is refused", async () => {
  const server = await geminiServer();
  const db = join(folder.path, "unsaid.db");
  const run = (...args: string[]) => folder.run(["chat", ...args, "--db", db], { env: envOf(server), stdin: "\n" });
  expect((await run("unsaid")).exitCode).toBe(0);
  expect(JSON.parse((await run("--json")).stdout)).toMatchObject({ sessionId: null, turns: [], pressure: null });
  const refused = await run("unsaid", "--tokens-max", "2000000");
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    expect.stringContaining("the window of gemini-3.1-flash-lite"),
  ]);
  expect(await folder.json("sessions", "--db", db)).toEqual([]);
});

test("a handle or @last never names a new session", async () => {
  const server = await geminiServer();
  const db = join(folder.path, "taken.db");
  for (const name of ["@last", "theme:12@40"]) {
    const { exitCode, stderr } = await folder.run(["chat", name, "--db", db], { env: envOf(server), stdin: "Go.\n" });
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/coppice (import|expand)/)]);
  }
  expect(await folder.json("sessions", "--db", db)).toEqual([]);
  expect(server.requests).toHaveLength(0);
});

test.skipIf(!hasTerminals)("on a real terminal: a prompt, Ctrl-C, a slash command, Ctrl-D", async () => {
  const server = await geminiServer({ pieces: [words("half"), "hang"] }, streamed("Whole."));
  const line = [process.execPath, PROGRAM, "chat", "terminal"].map((word) => `'${word}'`).join(" ");
  const env = folder.env({ ...envOf(server), TERM: "xterm" });
  const { type, shown, ended } = onTerminal(line, { cwd: folder.path, env });
  await expect.poll(shown, WAIT).toContain("> ");
  type("Go.\r");
  await expect.poll(shown, WAIT).toContain("half");
  type("\x03");
  await expect.poll(shown, WAIT).toContain("The reply was interrupted.");
  type("Again.\r");
  await expect.poll(shown, WAIT).toMatch(/Whole\.\r\n.*0 % of 16,000 tokens/s);
  type("/sesions\r");
  await expect.poll(shown, WAIT).toContain("Did you mean sessions?");
  type("\x04");
  expect(await ended).toBe(0);
  expect(shown()).toContain("Continue with: coppice chat terminal");
  expect(linesOf(await messagesOf("terminal"))).toEqual([
    "user: Go.",
    "assistant: half",
    "user: Again.",
    "assistant: Whole.",
  ]);
});
