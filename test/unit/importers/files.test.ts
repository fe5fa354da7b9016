import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, symlinkSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";

import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { newestFirst, walkFiles } from "../../../src/importers/files.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect } from "./read.ts";

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function put(name: string, content = name): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

async function namesIn(...paths: string[]): Promise<string[]> {
  const files = await collect(walkFiles(paths.map((path) => join(folder, path))));
  return files.map(({ path }) => path.slice(folder.length + 1));
}

async function contentOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await collect(chunks)).toString();
}

describe("walkFiles", () => {
  test("finds the transcripts below a folder: sessions, then their subagents, then the folders", async () => {
    for (const name of ["b.jsonl", "agent-a1.jsonl", "f.jsonl", "notes.txt", "b/tool-results/x.txt"]) put(name);
    for (const name of ["b/subagents/agent-z.jsonl", ".hidden/c.jsonl", "empty/x.json"]) put(name);
    expect(await namesIn("")).toEqual([
      "b.jsonl",
      "f.jsonl",
      "agent-a1.jsonl",
      ".hidden/c.jsonl",
      "b/subagents/agent-z.jsonl",
      "empty/x.json",
    ]);
  });

  test("of which the newest come first, and those that may be of one session in their order", () => {
    const id = "3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f";
    const files: [path: string, writtenAtMs?: number][] = [
      ["logs/2026-01-01.jsonl", 1],
      ["logs/2026-01-02.jsonl", 5],
      [`projects/${id}.jsonl`, 6],
      [`projects/${id}/subagents/agent-a7.jsonl`, 7],
      ["tmp/session-2026-03-04T10-00-5d0c7e1a.json", 8],
      ["tmp/session-2026-03-05T10-00-6d0c7e1a.json", 9],
      ["named-2.jsonl"],
      ["named-1.jsonl"],
    ];
    const found = files.map(([path, writtenAtMs]) => ({ path, ...(writtenAtMs !== undefined && { writtenAtMs }) }));
    expect(newestFirst(found).map(({ path }) => path)).toEqual([
      "named-2.jsonl",
      "named-1.jsonl",
      "tmp/session-2026-03-05T10-00-6d0c7e1a.json",
      "tmp/session-2026-03-04T10-00-5d0c7e1a.json",
      `projects/${id}.jsonl`,
      `projects/${id}/subagents/agent-a7.jsonl`,
      "logs/2026-01-01.jsonl",
      "logs/2026-01-02.jsonl",
    ]);
  });

  test("passes over what agents keep beside their transcripts, unless it is named", async () => {
    const kept = [
      ".gemini/antigravity-ide/brain/9e77/.system_generated/logs/transcript.jsonl",
      ".grok/sessions/%2Fwork/0199/chat_history.jsonl",
      ".openclaw/agents/main/sessions/a.jsonl",
      "antigravity/brain/src/chat.jsonl",
      "moved/sessions/C%3A%5Cwork/notes.jsonl",
      "moved/sessions/C%3A%5Cwork/0199/chat_history.jsonl",
      "runs/a.trajectory.jsonl",
    ];
    const others = [
      ".grok/sessions/%2Fwork/prompt_history.jsonl",
      ".grok/sessions/%2Fwork/0199/updates.jsonl",
      ".grok/sessions/%2Fwork/0199/compaction_checkpoints/1.json",
      ".openclaw/agents/main/agent/models.json",
      ".openclaw/agents/main/sessions/a.trajectory.jsonl",
      ".openclaw/agents/main/sessions/a.checkpoint.1.jsonl",
      ".gemini/antigravity-ide/brain/9e77/data.jsonl",
      ".gemini/antigravity-ide/brain/9e77/.system_generated/messages/1.json",
      "moved/sessions/C%3A%5Cwork/0199/summary.json",
    ];
    for (const name of [...kept, ...others]) put(name);
    expect(await namesIn("")).toEqual(kept);
    expect(await namesIn(...others)).toEqual(others);
  });

  test("marks what may be something else by its name, unless it is named", async () => {
    for (const name of ["session-1.json", "opencode.db", "rollout.jsonl.zst", "a.jsonl"]) put(name);
    const files = await collect(walkFiles([folder]));
    expect(files.map(({ path, isUncertain }) => [path.slice(folder.length + 1), isUncertain])).toEqual([
      ["a.jsonl", false],
      ["opencode.db", true],
      ["rollout.jsonl.zst", false],
      ["session-1.json", true],
    ]);
    const [named] = await collect(walkFiles([join(folder, "session-1.json")]));
    expect(named?.isUncertain).toBe(false);
  });

  test("says that a file is over which nobody has written to for a while", async () => {
    for (const name of ["new.jsonl", "old.jsonl"]) put(name);
    const anHourAgo = Date.now() / 1_000 - 3_600;
    utimesSync(join(folder, "old.jsonl"), anHourAgo, anHourAgo);
    const files = await collect(walkFiles([folder]));
    expect(files.map(({ path, isFinished }) => [path.slice(folder.length + 1), isFinished])).toEqual([
      ["new.jsonl", false],
      ["old.jsonl", true],
    ]);
  });

  test("reads what a pattern matches, and a file whose name looks like one", async () => {
    for (const name of ["a/1.jsonl", "a/2.jsonl", "b/1.jsonl", "odd[1].jsonl"]) put(name);
    expect(await namesIn("*/1.jsonl", "odd[1].jsonl")).toEqual(["a/1.jsonl", "b/1.jsonl", "odd[1].jsonl"]);
    const [missing] = await collect(walkFiles([join(folder, "none-*.jsonl")]));
    await expect(contentOf(missing!.chunks)).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });

  test("reads a named file whatever it is called, and the subagents beside a named session", async () => {
    put("history.log");
    put("s.jsonl");
    put("s/subagents/agent-1.jsonl");
    put("other.jsonl");
    expect(await namesIn("history.log", "s.jsonl")).toEqual(["history.log", "s.jsonl", "s/subagents/agent-1.jsonl"]);
  });

  test("gives each file once, however often it is named or linked, and ends in a loop of links", async () => {
    put("a/s.jsonl");
    symlinkSync(folder, join(folder, "a/loop"));
    symlinkSync(join(folder, "a/s.jsonl"), join(folder, "a/t.jsonl"));
    symlinkSync(join(folder, "a"), join(folder, "b"));
    expect(await namesIn("a", "a/s.jsonl", "b", "")).toEqual(["a/s.jsonl"]);
  });

  test("passes over what is no file behind a link, where nobody may ever write or it may never end", async () => {
    put("a/s.jsonl");
    execFileSync("mkfifo", [join(folder, "pipe")]);
    symlinkSync(join(folder, "pipe"), join(folder, "a/pipe.jsonl"));
    symlinkSync("/dev/zero", join(folder, "a/zero.json"));
    expect(await namesIn("a")).toEqual(["a/s.jsonl"]);
  });

  test("reads a pipe that is named, and leads to no name, as shells hand them on", () => {
    const files = fileURLToPath(new URL("../../../src/importers/files.ts", import.meta.url));
    const program = `
      const { walkFiles } = await import(${JSON.stringify(files)});
      for await (const { chunks } of walkFiles(["/dev/fd/0"])) for await (const chunk of chunks) console.log(chunk.toString());
    `;
    const args = ["-c", 'echo typed | "$0" --import tsx --input-type=module --eval "$1"', process.execPath, program];
    expect(execFileSync("sh", args, { encoding: "utf8" }).trim()).toBe("typed");
  });

  test("refuses a pipe that nobody writes to, and a device, and waits for neither", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const path of [pipe, "/dev/zero"]) {
      const [file] = await collect(walkFiles([path]));
      await expect(contentOf(file!.chunks)).rejects.toMatchObject({ code: "IMPORT_UNREADABLE" });
    }
  });

  test("reads a pipe to its end, and can be stopped while its writer is silent", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const writer = openSync(pipe, "r+");
    writeSync(writer, "typed");
    const [file] = await collect(walkFiles([pipe]));
    const chunks = file!.chunks[Symbol.asyncIterator]();
    expect(Buffer.from((await chunks.next()).value).toString()).toBe("typed");
    const next = chunks.next();
    expect(await Promise.race([next, sleep(100, "silent")])).toBe("silent");
    closeSync(writer);
    expect(await next).toMatchObject({ done: true });
  });

  test("gives the bytes of a file, and standard input for -", async () => {
    const path = put("s.jsonl", "x".repeat(300_000));
    const [file, stdin] = await collect(walkFiles([path, "-"]));
    expect(await contentOf(file!.chunks)).toBe("x".repeat(300_000));
    expect(stdin).toEqual({ path: "-", chunks: process.stdin, isFinished: true });
  });

  test("leaves it to each file's reader to say that it is missing, gone or a folder meanwhile", async () => {
    const gone = put("gone.jsonl");
    const swapped = put("swapped.jsonl");
    put("z-good.jsonl", "good");
    symlinkSync(join(folder, "nowhere"), join(folder, "dangling.jsonl"));
    const files = await collect(walkFiles([join(folder, "missing.jsonl"), folder]));
    rmSync(gone);
    rmSync(swapped);
    mkdirSync(swapped);
    const outcomes = await Promise.all(files.map(({ chunks }) => contentOf(chunks).catch((error) => error.message)));
    expect(outcomes).toEqual([
      `There is no file ${join(folder, "missing.jsonl")}.`,
      `There is no file ${join(folder, "dangling.jsonl")}.`,
      `There is no file ${gone}.`,
      `Cannot import ${swapped}: illegal operation on a directory.`,
      "good",
    ]);
  });

  test("reports what cannot be opened at all, and goes on", async () => {
    symlinkSync("self.jsonl", join(folder, "self.jsonl"));
    put("z-good.jsonl", "good");
    const [self, good] = await collect(walkFiles([folder]));
    await expect(contentOf(self!.chunks)).rejects.toThrow(/self\.jsonl: too many symbolic links encountered\.$/);
    expect(await contentOf(good!.chunks)).toBe("good");
  });
});
