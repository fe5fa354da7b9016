import { spawnSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openStore, type Store } from "../../src/index.ts";
import { fileFindings } from "../../src/store/file/file-findings.ts";
import { talk, user } from "../support/said.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../support/temporary-store.ts";
import { WorkerPool } from "../support/worker-pool.ts";

const mayMount = process.platform === "linux" && spawnSync("unshare", ["-m", "true"]).status === 0;

const workers = new WorkerPool(1);

function storeWithTen(path = temporaryPath()): { path: string; store: Store } {
  const store = openedStore(path);
  store.session("s").append(talk(10));
  return { path, store };
}

const refused = (path: string, reason: string) =>
  expect.objectContaining({
    code: "FILE_NOT_USABLE",
    message: expect.stringContaining(`Cannot use ${path}: ${reason}`),
  });

describe("a file with two names", () => {
  const TWO = "it has 2 names (hard links), and each name would have a write-ahead log of its own.";

  test.each([true, false])("is refused by either name, until one of them is gone (readonly: %s)", (readonly) => {
    const { path, store } = storeWithTen();
    store.close();
    const link = join(temporaryFolder(), "link.db");
    linkSync(path, link);
    for (const name of [path, link]) {
      expect(() => openStore(name, { readonly })).toThrow(refused(name, TWO));
      expect(existsSync(`${name}-wal`)).toBe(false);
      expect(fileFindings(name, false).filter(({ level }) => level === "problem")).toEqual([
        {
          check: "file",
          level: "problem",
          text: `Cannot use ${name}: ${TWO}`,
          fix: `Keep one name, and copy the file instead of linking it. To list the names: find '${dirname(name)}' -xdev -samefile '${name}'`,
        },
      ]);
    }
    unlinkSync(path);
    expect(openedStore(link, { readonly }).sessions()).toHaveLength(1);
  });

  test("is refused to others where it got the second name while in use, and goes on there", async () => {
    const { path, store } = storeWithTen();
    const link = `${path}.link`;
    linkSync(path, link);
    const [worker] = workers.first(1);
    await expect(worker!.do({ do: "open", path: link })).rejects.toMatchObject({ code: "FILE_NOT_USABLE" });
    expect(store.session("s").append(user("more")).seq).toBe(10);
  });
});

test("a symbolic link is no second name: the log is beside the file", async () => {
  const { path, store } = storeWithTen();
  const link = join(temporaryFolder(), "link.db");
  symlinkSync(path, link);
  const [worker] = workers.first(1);
  await worker!.do({ do: "open", path: link });
  await worker!.do({ do: "append", session: "s", messages: [user("by the link")] });
  expect(store.session("s").messages()).toHaveLength(11);
  expect(fileFindings(link, false).filter(({ level }) => level === "problem")).toEqual([]);
});

describe("a file that another process has open under another name", () => {
  const ELSEWHERE = "another process has it open under another name, so its write-ahead log is not beside this one.";

  test.each([true, false])("is refused (readonly: %s)", async (readonly) => {
    const { path, store } = storeWithTen();
    store.close();
    const [worker] = workers.first(1);
    await worker!.do({ do: "open", path });
    const moved = join(temporaryFolder(), "moved.db");
    renameSync(path, moved);
    expect(() => openStore(moved, { readonly })).toThrow(refused(moved, ELSEWHERE));
    if (process.platform === "linux") {
      const about = fileFindings(moved, false).find(({ check }) => check === "processes");
      expect(about).toMatchObject({ level: "problem", text: expect.stringContaining("under another name") });
    }
    renameSync(moved, path);
    expect(openedStore(path, { readonly }).sessions()).toHaveLength(1);
    expect(fileFindings(path, false).find(({ check }) => check === "processes")).toMatchObject({ level: "ok" });
  });
});

/** Open a store and append to it where `target` is a mount of `source`. Returns what the process said of it. */
function openMounted(source: string, target: string, path: string): string {
  const script = `import { openStore } from ${JSON.stringify(fileURLToPath(new URL("../../src/index.ts", import.meta.url)))};
    try {
      const store = openStore(${JSON.stringify(path)});
      store.session("s").append({ role: "user", content: "from within" });
      console.log("appended");
    } catch (error) {
      console.log(error.message, error.hint);
    }`;
  const within = [process.execPath, ...process.execArgv, "--input-type=module", "-e", script];
  const args = ["-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', source, target, ...within];
  return spawnSync("unshare", args, { encoding: "utf8" }).stdout.trim();
}

describe.skipIf(!mayMount)("in a container", () => {
  test("a store that is mounted as a single file is refused", () => {
    const { path, store } = storeWithTen();
    const target = join(temporaryFolder(), "the agent's.db");
    writeFileSync(target, "");
    expect(openMounted(path, target, target)).toBe(
      `Cannot use ${target}: it is mounted as a single file, so its write-ahead log would stay on this side of the mount. ` +
        "Mount the folder of the store, not the file.",
    );
    expect(store.session("s").messages()).toHaveLength(10);
  });

  test("a store in a folder that is mounted is one store", () => {
    const { path, store } = storeWithTen();
    const target = join(temporaryFolder(), "data");
    mkdirSync(target);
    expect(openMounted(dirname(path), target, join(target, "agent.db"))).toBe("appended");
    expect(store.session("s").messages()).toHaveLength(11);
    expect(store.session("s").append(user("outside")).seq).toBe(11);
    expect(store.verify().ok).toBe(true);
  });
});
