import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { SOURCES } from "../support/children.ts";
import { TEST_KEY } from "../support/gemini-faults.ts";
import { type GeminiServer, geminiServer } from "../support/gemini-server.ts";
import { calling, streamed, words } from "../support/gemini-stream.ts";
import { openedStore, temporaryFolder } from "../support/temporary-store.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const EXAMPLE = join(ROOT, "scripts", "examples", "chat.ts");

interface Talk {
  child: ChildProcessWithoutNullStreams;
  shown(): string;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
}

function talk(path: string, server: GeminiServer): Talk {
  const env = { ...process.env, GEMINI_API_KEY: TEST_KEY, GOOGLE_API_KEY: "", GOOGLE_GEMINI_BASE_URL: server.url };
  const child = spawn(process.execPath, [`--import=${SOURCES}`, EXAMPLE, path, "plans"], { cwd: ROOT, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
  }
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("close", (code, signal) => resolve(signal ?? code!));
  });
  return { child, shown: () => shown, ended };
}

test("a chat killed during a reply loses nothing that was said, and the next run answers with the tools' results", async () => {
  const path = join(temporaryFolder(), "agent.db");
  const server = await geminiServer({ pieces: [words("half"), "hang"] });
  const killed = talk(path, server);
  killed.child.stdin.write("Why did the deploy fail?\n");
  await expect.poll(killed.shown, { timeout: 30_000 }).toBe("half");
  killed.child.kill("SIGKILL");
  expect(await killed.ended).toBe("SIGKILL");
  const store = openedStore(path);
  expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
  expect(
    store
      .resume("plans")
      .messages()
      .map(({ text }) => text),
  ).toEqual(["Why did the deploy fail?"]);

  server.script(calling("recall", { query: "deploy" }), streamed("The key ", "had expired."), streamed("Tomorrow."));
  const next = talk(path, server);
  next.child.stdin.end("When is the next one?\n");
  expect(await next.ended).toBe(0);
  expect(next.shown()).toBe("The key had expired.\nTomorrow.\n");
  const messages = store.resume("plans").messages();
  expect(
    messages.map(({ role, parts }) => [role, ...parts.map((part) => (part.type === "text" ? part.text : part.type))]),
  ).toEqual([
    ["user", "Why did the deploy fail?"],
    ["assistant", "tool_call"],
    ["tool", "tool_result"],
    ["assistant", "The key ", "had expired."],
    ["user", "When is the next one?"],
    ["assistant", "Tomorrow."],
  ]);
  const [, , answered] = server.requests;
  const contents = answered!.body.contents!;
  expect(contents.map(({ role }) => role)).toEqual(["user", "model", "user"]);
  expect(contents[1]!.parts).toMatchObject([{ functionCall: { name: "recall" }, thoughtSignature: "c2lnbmVk" }]);
  expect(contents[2]!.parts).toMatchObject([{ functionResponse: { name: "recall" } }]);
  expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
});
