import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { importFiles } from "../../../src/imports/import-files.ts";
import { writeTranscript } from "../../support/claude-lines.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../../support/temporary-store.ts";

let home = "";
let number = 0;

beforeEach(() => {
  home = realpathSync(temporaryFolder());
  vi.stubEnv("HOME", home);
});

function git(folder: string, ...words: string[]): void {
  const options = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"];
  execFileSync("git", ["-C", folder, ...options, ...words], { stdio: "ignore" });
}

function folder(...names: string[]): string {
  const path = join(home, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A repository with a commit. */
function repository(...names: string[]): string {
  const path = folder(...names);
  git(path, "init");
  git(path, "commit", "--allow-empty", "-m", "begin");
  return path;
}

function worktree(of: string, ...names: string[]): string {
  const path = join(home, ...names);
  git(of, "worktree", "add", path);
  return path;
}

/** A transcript of a session in a folder. */
function transcriptOf(cwd: string, at = folder("transcripts")): string {
  const path = join(at, `session-${++number}.jsonl`);
  writeTranscript(path, `session-${number}`, [{ number: 0, text: "The vault opens with a brass key." }], cwd);
  return path;
}

/** The number of sessions that an import stores. */
async function storedOf(excluded: { paths?: string[]; projects?: string[] }, ...transcripts: string[]) {
  const store = openedStore(temporaryPath());
  store.exclude(excluded);
  await importFiles(store, transcripts, { summarize: false });
  return store.sessions().length;
}

describe("an excluded folder that is a repository leaves out", () => {
  test("its worktrees elsewhere: there already, added later, and what is deeper in one", async () => {
    const client = repository("work", "client");
    const early = worktree(client, "work", "early");
    const excluded = { paths: [client] };
    expect(await storedOf(excluded, transcriptOf(early))).toBe(0);
    const late = worktree(client, "other", "late");
    expect(await storedOf(excluded, transcriptOf(folder("other", "late", "src", "api")))).toBe(0);
    expect(await storedOf(excluded, transcriptOf(folder("other", "late-not"))), late).toBe(1);
  });

  test("a worktree whose folder is gone", async () => {
    const client = repository("work", "client");
    const gone = worktree(client, "work", "gone");
    rmSync(gone, { recursive: true });
    expect(await storedOf({ paths: [client] }, transcriptOf(join(gone, "src")))).toBe(0);
    expect(await storedOf({ projects: [client] }, transcriptOf(gone))).toBe(0);
  });

  test("a submodule, also in a worktree, and a worktree of a submodule", async () => {
    const library = repository("work", "library");
    const client = repository("work", "client");
    git(client, "submodule", "add", library, "vendor/library");
    git(client, "commit", "-m", "library");
    const tree = worktree(client, "trees", "client");
    git(tree, "submodule", "update", "--init");
    const excluded = { paths: [client] };
    expect(await storedOf(excluded, transcriptOf(join(client, "vendor", "library")))).toBe(0);
    expect(await storedOf(excluded, transcriptOf(join(tree, "vendor", "library")))).toBe(0);
    const ofSubmodule = worktree(join(client, "vendor", "library"), "trees", "library");
    expect(await storedOf(excluded, transcriptOf(ofSubmodule))).toBe(0);
    expect(await storedOf(excluded, transcriptOf(library))).toBe(1);
  });

  test("the transcripts in a worktree, whatever they say", async () => {
    const client = repository("work", "client");
    const tree = worktree(client, "trees", "client");
    expect(await storedOf({ paths: [client] }, transcriptOf(folder("elsewhere"), tree))).toBe(0);
  });

  test("by every link to it", async () => {
    const client = repository("work", "client");
    const tree = worktree(client, "trees", "client");
    symlinkSync(join(home, "trees"), join(home, "link"));
    symlinkSync(join(home, "work"), join(home, "works"));
    expect(await storedOf({ paths: [join(home, "works", "client")] }, transcriptOf(tree))).toBe(0);
    expect(await storedOf({ paths: [client] }, transcriptOf(join(home, "link", "client")))).toBe(0);
    expect(await storedOf({ paths: [client] }, transcriptOf(join(home, "works", "client", "gone", "deep")))).toBe(0);
  });
});

test("an excluded folder leaves out the worktrees of each repository in it", async () => {
  const tree = worktree(repository("work", "clients", "one"), "trees", "one");
  expect(await storedOf({ paths: [join(home, "work", "clients")] }, transcriptOf(tree))).toBe(0);
});

test("a repository that names a folder of others does not leave it out", async () => {
  const client = repository("work", "client");
  const other = repository("work", "other");
  for (const [name, named] of [
    ["one", other],
    ["two", home],
    ["three", dirname(home)],
  ] as const) {
    mkdirSync(join(client, ".git", "worktrees", name), { recursive: true });
    writeFileSync(join(client, ".git", "worktrees", name, "gitdir"), `${join(named, ".git")}\n`);
  }
  expect(await storedOf({ paths: [client] }, transcriptOf(other))).toBe(1);
});
