import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { importFiles } from "../../../src/imports/import-files.ts";
import { ImportRun } from "../../../src/imports/import-run.ts";
import { FollowedFiles } from "../../../src/imports/watch/followed-files.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import type { Store } from "../../../src/session/store.ts";
import { type Said, writeTranscript } from "../../support/claude-lines.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../../support/temporary-store.ts";
import { jsonLines } from "../importers/read.ts";

let home = "";
let store: Store;

beforeEach(() => {
  home = realpathSync(temporaryFolder());
  vi.stubEnv("HOME", home);
  store = openedStore(temporaryPath());
});

/** Prompts and replies, each in a folder below the home folder. */
function talk(...said: [folder: string, text: string][]): string {
  const lines = said.map(([folder, text], number): Said => ({ number, text, cwd: join(home, folder) }));
  return writeTranscript(join(home, "transcripts", "moved.jsonl"), "moved", lines);
}

function read(file: string, options: { project?: string } = {}) {
  return importFiles(store, file, { summarize: false, ...options });
}

/** What was said, by project. */
function saidIn(): Record<string, string[]> {
  const said: Record<string, string[]> = {};
  for (const { id, project } of store.sessions().toReversed()) {
    const texts = store
      .resume(id)
      .messages()
      .map(({ text }) => text);
    const name = project?.slice(home.length + 1) ?? "";
    said[name] = [...(said[name] ?? []), ...texts];
  }
  return said;
}

const MOVED: [string, string][] = [
  ["umbrella", "Start in the umbrella folder."],
  ["umbrella", "Ready."],
  ["lens", "Grind the lens with cerium."],
  ["lens", "The lens is ground."],
  ["umbrella", "Back to the umbrella."],
  ["umbrella", "Back."],
];

describe("of a session that moved to another project", () => {
  test("each message belongs to the project it was said in", async () => {
    const file = talk(...MOVED);
    expect((await read(file)).newCount).toBe(6);
    expect(saidIn()).toEqual({
      umbrella: ["Start in the umbrella folder.", "Ready.", "Back to the umbrella.", "Back."],
      lens: ["Grind the lens with cerium.", "The lens is ground."],
    });
    const [hit] = await store.recall("cerium", { project: join(home, "lens") });
    expect(hit?.text).toContain("cerium");
    expect(await store.recall("cerium", { project: join(home, "umbrella") })).toEqual([]);
    expect(store.recap({ sinceMs: 0 }).sessionCount).toBe(2);
    expect((await read(file)).newCount).toBe(0);
  });

  test("a file that grows and a file read at once give the same", async () => {
    for (let end = 1; end <= MOVED.length; end++) await read(talk(...MOVED.slice(0, end)));
    const grown = saidIn();
    store = openedStore(temporaryPath());
    await read(talk(...MOVED));
    expect(grown).toEqual(saidIn());
  });

  test("a watch that follows the file gives the same, too, and another one adds nothing", async () => {
    const path = talk(...MOVED.slice(0, 1));
    const follow = (): FollowedFiles => {
      const run = new ImportRun(store, { format: "auto", onProgress: (report) => files.note(report) });
      const files = new FollowedFiles(run, internalsOf(store));
      files.add(path, false);
      return files;
    };
    const files = follow();
    for (let end = 1; end <= MOVED.length; end++) await files.visit(talk(...MOVED.slice(0, end)), Date.now());
    const followed = saidIn();
    expect(await follow().visit(path, Date.now())).toMatchObject({ newCount: 0, warnings: [] });
    store = openedStore(temporaryPath());
    await read(talk(...MOVED));
    expect(followed).toEqual(saidIn());
  });

  test("a folder within the project makes no other one, unless it is a repository", async () => {
    mkdirSync(join(home, "shop", "vendor", ".git", "objects"), { recursive: true });
    mkdirSync(join(home, "shop", "vendor", "src"));
    writeFileSync(join(home, "shop", "vendor", ".git", "HEAD"), "ref: refs/heads/main\n");
    await read(talk(["shop", "One."], ["shop/src/api", "Two."], ["shop/vendor/src", "Three."]));
    expect(saidIn()).toEqual({ shop: ["One.", "Two."], "shop/vendor": ["Three."] });
  });

  test("what was said in an excluded folder is not stored, nor is what may quote it", async () => {
    store.exclude({ paths: [join(home, "lens")] });
    const file = talk(...MOVED);
    const about = { sessionId: "moved", cwd: join(home, "umbrella"), isSidechain: false };
    const summary = { role: "user", content: "This session: the lens was ground with cerium." };
    const last = "7a3c5e10-4b2d-4f68-9c01-000000000005";
    const line = { ...about, type: "user", uuid: "s", parentUuid: last, isCompactSummary: true, message: summary };
    const title = { type: "ai-title", sessionId: "moved", aiTitle: "Grinding with cerium" };
    writeFileSync(file, jsonLines([line, title]).replace(/^/, execFileSync("cat", [file], { encoding: "utf8" })));
    expect((await read(file)).files[0]).toMatchObject({ excludedCount: 1 });
    expect(Object.keys(saidIn())).toEqual(["umbrella"]);
    const words = JSON.stringify([store.query("SELECT text, parts FROM messages"), store.sessions()]);
    expect(words).not.toMatch(/cerium|ground/);
    expect(words).toContain("Back to the umbrella.");
  });

  test("what was said elsewhere stays in if the session began in an excluded folder", async () => {
    store.exclude({ paths: [join(home, "umbrella")] });
    await read(talk(...MOVED));
    expect(saidIn()).toEqual({ lens: ["Grind the lens with cerium.", "The lens is ground."] });
  });

  test("a named project has all of it, and nothing of an excluded folder", async () => {
    store.exclude({ paths: [join(home, "lens")] });
    await read(talk(...MOVED), { project: "optics" });
    expect(store.sessions()).toMatchObject([{ project: "optics", messageCount: 4 }]);
  });

  test("a folder that is deleted between two imports brings nothing twice", async () => {
    for (const name of ["umbrella", "lens"]) {
      mkdirSync(join(home, name, "src", ".."), { recursive: true });
      execFileSync("git", ["-C", join(home, name), "init"], { stdio: "ignore" });
    }
    const file = talk(["umbrella", "One."], ["lens/src", "Two."], ["umbrella/src", "Three."]);
    await read(file);
    rmSync(join(home, "lens"), { recursive: true });
    rmSync(join(home, "umbrella"), { recursive: true });
    expect((await read(file)).newCount).toBe(0);
    expect(store.stats().sessionCount).toBe(2);
  });

  test("a folder that is deleted brings nothing twice if the session began in an excluded one", async () => {
    mkdirSync(join(home, "lens", ".git", "objects"), { recursive: true });
    mkdirSync(join(home, "lens", "src"));
    writeFileSync(join(home, "lens", ".git", "HEAD"), "ref: refs/heads/main\n");
    store.exclude({ paths: [join(home, "umbrella")] });
    const file = talk(["umbrella", "One."], ["lens/src", "Two."], ["lens/src", "Three."]);
    await read(file);
    rmSync(join(home, "lens"), { recursive: true });
    expect((await read(file)).newCount).toBe(0);
    expect(store.sessions()).toMatchObject([{ project: join(home, "lens"), messageCount: 2 }]);
  });

  test("a project that is named later brings nothing twice", async () => {
    const file = talk(...MOVED);
    await read(file);
    expect((await read(file, { project: "optics" })).newCount).toBe(0);
    await read(talk(...MOVED, ["lens", "Polish it."], ["workshop", "Sweep the floor."]), { project: "optics" });
    expect(saidIn()).toEqual({
      umbrella: ["Start in the umbrella folder.", "Ready.", "Back to the umbrella.", "Back.", "Sweep the floor."],
      lens: ["Grind the lens with cerium.", "The lens is ground.", "Polish it."],
    });
  });

  test("each part can be forgotten, and stays forgotten", async () => {
    await read(talk(...MOVED));
    const grown = talk(...MOVED, ["lens", "Polish the lens."], ["umbrella", "Close it."]);
    for (const forgotten of ["lens", "umbrella"]) {
      const id = store.sessions().find(({ project }) => project === join(home, forgotten))!.id;
      store.forget(id);
      await read(grown);
      expect(Object.keys(saidIn())).toEqual(forgotten === "lens" ? ["umbrella"] : []);
    }
  });

  test("a subagent belongs to the part that started it", async () => {
    const file = talk(...MOVED);
    const said: Said[] = [
      { number: 50, text: "Measure the lens.", agentId: "a1", cwd: join(home, "lens") },
      { number: 51, text: "It is round.", agentId: "a1", cwd: join(home, "lens"), after: 50 },
    ];
    const agent = writeTranscript(join(home, "transcripts", "moved", "subagents", "agent-a1.jsonl"), "moved", said);
    await read(file);
    await read(agent);
    const { topics, sessionCount } = store.recap({ sinceMs: 0, project: join(home, "lens") });
    const part = store.sessions().find(({ externalId }) => externalId?.startsWith("moved/in-"))!;
    expect(sessionCount).toBe(1);
    expect(topics).toMatchObject([{ sessionIds: [part.id], messageCount: 4 }]);
  });

  test("a way back leaves the other project, too", async () => {
    const [at, elsewhere] = [join(home, "umbrella"), join(home, "lens")];
    const said: Said[] = [
      { number: 0, text: "Begin.", cwd: at },
      { number: 1, text: "Begun.", cwd: at },
      { number: 2, text: "Grind the lens.", cwd: elsewhere },
      { number: 3, text: "Ground.", cwd: elsewhere },
      { number: 4, text: "Grind it anew.", cwd: elsewhere, after: 1 },
      { number: 5, text: "Ground anew.", cwd: elsewhere },
    ];
    await read(writeTranscript(join(home, "transcripts", "moved.jsonl"), "moved", said));
    expect(saidIn()).toEqual({ umbrella: ["Begin.", "Begun."], lens: ["Grind it anew.", "Ground anew."] });
  });

  test("Codex tells the folder by turn", async () => {
    const item = (role: string, text: string, second: number) => ({
      timestamp: `2026-03-05T09:00:0${second}.000Z`,
      type: "response_item",
      payload: { type: "message", role, content: [{ type: role === "user" ? "input_text" : "output_text", text }] },
    });
    const context = (folder: string) => ({
      timestamp: "2026-03-05T09:00:00.000Z",
      type: "turn_context",
      payload: { cwd: join(home, folder), model: "m" },
    });
    const meta = { id: "moved", cwd: join(home, "umbrella"), timestamp: "2026-03-05T09:00:00.000Z" };
    const lines = [
      { timestamp: meta.timestamp, type: "session_meta", payload: meta },
      ...[context("umbrella"), item("user", "One.", 1), item("assistant", "Two.", 2)],
      ...[context("lens"), item("user", "Three.", 3), item("assistant", "Four.", 4)],
      ...[context("umbrella"), item("user", "Five.", 5), item("assistant", "Six.", 6)],
    ];
    const file = join(home, "rollout-moved.jsonl");
    writeFileSync(file, jsonLines(lines));
    await read(file);
    expect(saidIn()).toEqual({ umbrella: ["One.", "Two.", "Five.", "Six."], lens: ["Three.", "Four."] });
  });
});
