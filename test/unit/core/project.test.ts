import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { baseNameOf, projectAt, projectNamed, projectNames, remoteAt } from "../../../src/core/project.ts";
import { processorMsSince } from "../../support/processor-time.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";

/** The home folder, which everything else is in. */
let home = "";

beforeEach(() => {
  home = realpathSync(temporaryFolder());
  vi.stubEnv("HOME", home);
});

function folder(...names: string[]): string {
  const path = join(home, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Makes what git needs to see a repository. */
function gitFolder(...names: string[]): string {
  const path = folder(...names);
  mkdirSync(join(path, "objects"));
  writeFileSync(join(path, "HEAD"), "ref: refs/heads/main\n");
  return path;
}

function repository(...names: string[]): string {
  gitFolder(...names, ".git");
  return join(home, ...names);
}

/** What `git worktree add` writes. */
function addWorktree(common: string, worktree: string, name = "fox"): void {
  const own = join(common, "worktrees", name);
  for (const path of [own, worktree]) mkdirSync(path, { recursive: true });
  writeFileSync(join(own, "commondir"), "../..\n");
  writeFileSync(join(own, "gitdir"), `${join(worktree, ".git")}\n`);
  writeFileSync(join(worktree, ".git"), `gitdir: ${own}\n`);
}

describe("a folder's project", () => {
  test("is the repository that it is in, else the folder", () => {
    const shop = repository("work", "shop");
    expect(projectAt(shop)).toBe(shop);
    expect(projectAt(`${shop}/`)).toBe(shop);
    expect(projectAt(folder("work", "shop", "packages", "api"))).toBe(shop);
    expect(projectAt(join(shop, ".git", "objects"))).toBe(shop);
    expect(projectAt(folder("work", "notes"))).toBe(join(home, "work", "notes"));
    expect(projectAt(folder("work"))).toBe(join(home, "work"));
  });

  test("is the same by every link to it, and another one for another folder of its name", () => {
    const shop = repository("work", "shop");
    const other = repository("client", "shop");
    symlinkSync(shop, join(home, "link"));
    symlinkSync(join(home, "work"), join(home, "works"));
    expect(projectAt(join(home, "link"))).toBe(shop);
    expect(projectAt(join(home, "works", "shop", "src"))).toBe(join(shop, "src")); // what is gone has the rest of its path
    expect(projectAt(other)).toBe(other);
    renameSync(join(home, "client"), join(home, "client-archived"));
    expect(projectAt(other)).toBe(other);
    expect(projectAt(join(home, "client-archived", "shop"))).not.toBe(other);
  });

  test("is a clone of its own if a repository was cloned into another", () => {
    const shop = repository("work", "shop");
    const clone = repository("work", "shop", "vendor", "tools");
    expect(projectAt(clone)).toBe(clone);
    expect(projectAt(folder("work", "shop", "vendor", "tools", "src"))).toBe(clone);
    rmSync(clone, { recursive: true });
    expect(projectAt(clone)).not.toBe(shop); // nothing tells any more that it was none
  });

  test("a folder called .git that is no repository does not count", () => {
    const shop = repository("work", "shop");
    expect(projectAt(folder("work", "shop", "empty", ".git", ".."))).toBe(shop);
  });

  test("is the home folder or the root only in these themselves, even if they are repositories", () => {
    repository();
    expect(projectAt(home)).toBe(home);
    expect(projectAt(folder("notes"))).toBe(join(home, "notes"));
    expect(projectAt("/")).toBe("/");
    const shop = repository("shop");
    expect(projectAt(shop)).toBe(shop);
  });

  test.runIf(process.getuid?.() === 0)("a repository of another user above it does not count", () => {
    const shared = repository("tmp");
    chownSync(join(shared, ".git"), 4_001, 4_001);
    expect(projectAt(folder("tmp", "shop"))).toBe(join(shared, "shop"));
  });

  test("is not known for what is no full path, or cannot be stored as a name", () => {
    for (const path of ["", "shop", "./shop", "/a\nb", `/${"long/".repeat(120)}`, "/\ud83d"]) {
      expect(projectAt(path), path).toBeUndefined();
    }
  });
});

describe("a worktree", () => {
  test("is of the repository that names it, wherever it is", () => {
    const shop = repository("work", "shop");
    const fox = join(home, "elsewhere", "fox");
    addWorktree(join(shop, ".git"), fox);
    expect(projectAt(fox)).toBe(shop);
    expect(projectAt(folder("elsewhere", "fox", "src"))).toBe(shop);
    writeFileSync(join(shop, ".git", "worktrees", "fox", "gitdir"), "../../../../../elsewhere/fox/.git\n"); // as git can write it
    expect(projectAt(fox)).toBe(shop);
  });

  test("of a bare repository is the repository's", () => {
    const bare = gitFolder("git", "shop.git");
    addWorktree(bare, join(home, "fox"));
    expect(projectAt(join(home, "fox"))).toBe(bare);
    expect(projectAt(bare)).toBe(bare);
    const hidden = gitFolder("both", ".bare");
    writeFileSync(join(home, "both", ".git"), "gitdir: ./.bare\n");
    addWorktree(hidden, join(home, "both", "main"));
    expect(projectAt(join(home, "both", "main"))).toBe(join(home, "both"));
    expect(projectAt(join(home, "both"))).toBe(join(home, "both"));
  });

  test("cannot name a repository that does not name it", () => {
    const shop = repository("work", "shop");
    addWorktree(join(shop, ".git"), join(home, "fox"));
    const evil = folder("evil");
    const lies = [
      `gitdir: ${join(shop, ".git")}`,
      `gitdir: ${join(shop, ".git", "worktrees", "fox")}`,
      `gitdir: ${join(evil, "own")}`,
      "gitdir: ",
      "no words of git",
    ];
    mkdirSync(join(evil, "own"));
    writeFileSync(join(evil, "own", "commondir"), join(shop, ".git"));
    writeFileSync(join(evil, "own", "gitdir"), join(evil, ".git"));
    for (const lie of lies) {
      writeFileSync(join(evil, ".git"), `${lie}\n`);
      expect(projectAt(evil), lie).toBe(evil);
    }
    rmSync(join(evil, ".git"));
    symlinkSync(join(shop, ".git"), join(evil, ".git"));
    expect(projectAt(evil)).toBe(evil);
  });

  test("of a stranger holds up nobody, whatever is in the place of its files", () => {
    const evil = folder("evil");
    const own = folder("evil", "own");
    writeFileSync(join(evil, ".git"), "gitdir: own\n");
    execFileSync("mkfifo", [join(own, "commondir")]);
    expect(projectAt(evil)).toBe(evil);
  });

  test("cannot name a repository by its remote", () => {
    const [shop, evil] = [repository("work", "shop"), repository("evil")];
    for (const path of [shop, evil]) {
      writeFileSync(join(path, ".git", "config"), '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n');
    }
    expect([projectAt(shop), projectAt(evil)]).toEqual([shop, evil]);
  });

  test("of an agent is the project's, with or without git, and when it is gone", () => {
    const shop = repository("work", "shop");
    expect(projectAt(folder("work", "shop", ".claude", "worktrees", "fox"))).toBe(shop);
    addWorktree(join(shop, ".git"), join(shop, ".worktrees", "owl"), "owl");
    expect(projectAt(join(shop, ".worktrees", "owl"))).toBe(shop);
    rmSync(join(shop, ".git", "worktrees"), { recursive: true }); // as `git worktree prune` in a container does
    expect(projectAt(join(shop, ".worktrees", "owl"))).toBe(shop);
    expect(projectAt(join(shop, ".worktrees", "gone", "src"))).toBe(shop);
    expect(projectAt(folder("notes", ".claude", "worktrees", "fox"))).toBe(join(home, "notes"));
    expect(projectAt("/none/shop/.claude/worktrees/fox/src")).toBe("/none/shop");
    const clone = repository("work", "shop", ".worktrees", "evil");
    expect(projectAt(clone)).toBe(clone);
  });

  test("of other agents is the project's, too, and git's own folder is none", () => {
    for (const made of [".gemini/worktrees/fox", ".kilocode/worktrees/fox", ".conductor/oslo"]) {
      expect(projectAt(`/none/shop/${made}/src`), made).toBe("/none/shop");
    }
    expect(projectAt("/none/shop/.git/worktrees/fox")).toBe("/none/shop/.git/worktrees/fox");
    expect(projectAt(join(home, ".codex", "worktrees", "3f2a"))).toBe(join(home, ".codex", "worktrees", "3f2a"));
  });

  test("that is gone is the project's if the repository beside it names it", () => {
    const shop = repository("work", "shop");
    const fox = join(home, "work", "shop-fox");
    addWorktree(join(shop, ".git"), fox);
    rmSync(fox, { recursive: true });
    expect(projectAt(join(fox, "src", "api"))).toBe(shop);
    expect(projectAt(join(home, "work", "shop-owl"))).toBe(join(home, "work", "shop-owl"));
    rmSync(join(shop, ".git", "worktrees"), { recursive: true });
    expect(projectAt(fox)).toBe(fox);
  });

  test("of an agent does not belong to a home folder, in which there are many", () => {
    for (const path of [join(home, ".claude", "worktrees", "fox"), "/home/nobody/.worktrees/fox"]) {
      expect(projectAt(path)).toBe(path);
    }
    expect(projectAt("C:\\Users\\Ada\\.claude\\worktrees\\fox")).toBe("c:\\users\\ada\\.claude\\worktrees\\fox");
  });

  test("a submodule, and a repository with its data elsewhere, are themselves", () => {
    repository("work", "shop");
    gitFolder("work", "shop", ".git", "modules", "lib");
    const lib = folder("work", "shop", "lib");
    writeFileSync(join(lib, ".git"), "gitdir: ../.git/modules/lib\n");
    expect(projectAt(folder("work", "shop", "lib", "src"))).toBe(lib);
    const apart = folder("apart");
    writeFileSync(join(apart, ".git"), `gitdir: ${gitFolder("data.git")}\n`);
    expect(projectAt(apart)).toBe(apart);
  });
});

test("a path of Windows is told by its letters, whatever their case and slashes", () => {
  for (const path of ["C:\\Work\\Shop", "c:/work/shop/", "/c:/Work/shop", "\\\\?\\C:\\work\\.\\Shop\\"]) {
    expect(projectAt(path), path).toBe("c:\\work\\shop");
  }
  expect(projectAt("C:\\Work\\Shop\\.claude\\worktrees\\fox\\src")).toBe("c:\\work\\shop");
  expect(projectAt("C:\\Work\\Shop\\.worktrees\\fox")).toBe("c:\\work\\shop");
  expect(projectAt("C:\\Work\\shop\\packages\\api")).toBe("c:\\work\\shop\\packages\\api"); // nothing tells where the project begins
  expect(projectAt("\\\\server\\Share\\Shop\\")).toBe("\\\\server\\share\\shop");
  expect(projectAt("C:\\")).toBe("c:\\");
});

test("a name is a project of its own, and a path names the project of its folder", () => {
  const shop = repository("work", "shop");
  folder("work", "shop", "src");
  expect(projectNamed("shop")).toBe("shop");
  expect(projectNamed("acme/shop")).toBe("acme/shop");
  expect(projectNamed("shop (client)")).toBe("shop (client)");
  expect(projectNamed(join(shop, "src"))).toBe(shop);
  expect(projectNamed("~/work/shop/src")).toBe(shop);
  expect(projectNamed(".")).toBe(projectAt(process.cwd()));
  expect(projectNamed(".shop")).toBe(".shop");
});

describe("names for people", () => {
  test("are short, and no two are equal", () => {
    const projects = ["/work/shop", "/client/shop", "shop", "/srv/api", "c:\\work\\api", "/old/client/shop", "web"];
    expect(Object.fromEntries(projectNames(projects))).toEqual({
      shop: "shop",
      web: "web",
      "/work/shop": "shop (work)",
      "/client/shop": "/client/shop",
      "/old/client/shop": "shop (old/client)",
      "/srv/api": "api (srv)",
      "c:\\work\\api": "api (work)",
    });
    expect([...projectNames(["/work/shop", "/srv/api"]).values()].sort()).toEqual(["api", "shop"]);
  });

  test("cannot be taken by a folder or a name that looks like one", () => {
    const projects = [
      "/work/shop",
      "/client/shop",
      "/x/shop (work)",
      "shop (client)",
      "/",
      "/__proto__",
      "constructor",
    ];
    const names = projectNames(projects, new Map([["/x/shop (work)", "shop"]]));
    expect(names.size).toBe(projects.length);
    expect(new Set(names.values()).size).toBe(projects.length);
    expect(names.get("shop (client)")).toBe("shop (client)");
  });

  test("are those that the user gave, if these tell them apart", () => {
    const given = new Map([
      ["/work/shop", "store"],
      ["/client/shop", "web"],
    ]);
    expect(Object.fromEntries(projectNames(["/work/shop", "/client/shop", "web"], given))).toEqual({
      web: "web",
      "/work/shop": "store",
      "/client/shop": "web (client)",
    });
  });

  test("of bare repositories have no ending", () => {
    expect(["/git/shop.git", "/work/.git", "/", "web.git"].map(baseNameOf)).toEqual(["shop", ".git", "/", "web.git"]);
  });
});

test.each([
  ["git@github.com:acme/shop.git"],
  ["https://ada:token@GitHub.com/acme/shop"],
  ["ssh://git@github.com:22/acme/shop.git/"],
])("the remote %s is shown without user, password and port", (url) => {
  const shop = repository("work", "shop");
  writeFileSync(
    join(shop, ".git", "config"),
    `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n\tfetch = +x\n`,
  );
  expect(remoteAt(shop)).toBe("github.com/acme/shop");
  expect(remoteAt(home)).toBeUndefined();
});

test.each([
  ["\n", 900_000],
  ['[remote "origin"]\n', 50_000],
  ['[remote "origin"]\nurl = a.', 30_000],
  ["a.", 400_000],
  ["/", 900_000],
])("a configuration of %j, repeated, is soon read", (text, count) => {
  const shop = repository("work", "shop");
  writeFileSync(join(shop, ".git", "config"), `[remote "origin"]\n\turl = ${text.repeat(count)}\n`);
  const from = process.cpuUsage();
  remoteAt(shop);
  expect(processorMsSince(from)).toBeLessThan(1_000);
});

test("a remote is that of its section, which a configuration may have twice", () => {
  const shop = repository("work", "shop");
  const config = (text: string): void => writeFileSync(join(shop, ".git", "config"), text);
  config(
    '[remote "other"]\nurl = git@a.example:x/y\n[remote "origin"]\nfetch = +x\n[branch "a.b:c"]\nurl = b.example:x/y\n',
  );
  expect(remoteAt(shop)).toBeUndefined();
  config(
    '[remote "origin"]\nfetch = +x\n[core]\nx = y\n[remote "origin"]\n\tpushurl = c.example:x/y\n\turl=d.example:x/y\n',
  );
  expect(remoteAt(shop)).toBe("d.example/x/y");
});
