import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filesIn, filesLine, parseFilesLine, WorkingSet } from "../../../src/core/working-set.ts";
import { runs } from "../../support/effort.ts";

describe("filesIn", () => {
  test("finds paths and bare file names, each once, as written", () => {
    expect(filesIn("Read src/a.ts and src/a.ts, then `README.md`, (lib/b.test.js) and ~/.config/app.toml.")).toEqual([
      "src/a.ts",
      "README.md",
      "lib/b.test.js",
      "~/.config/app.toml",
    ]);
  });

  test("leaves out line numbers, revisions and the letters a diff adds", () => {
    expect(filesIn("at src/a.ts:12:5, HEAD:src/b.ts")).toEqual(["src/a.ts", "src/b.ts"]);
    expect(filesIn("diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts")).toEqual(["src/a.ts"]);
  });

  test("knows the files that have no extension", () => {
    expect(filesIn("Makefile docker/Dockerfile .env")).toEqual(["Makefile", "docker/Dockerfile", ".env"]);
  });

  test("takes no links, addresses, patterns, calls, products or variables for files", () => {
    expect(
      filesIn("https://example.org/a.ts me@example.rs **/*.ts *_test.go fmt.Errorf e.g. Node.js $dir/x/a.ts and/or"),
    ).toEqual([]);
  });

  test("reads bold names, JSON within text and drives", () => {
    expect(filesIn("**src/a.ts**: done")).toEqual(["src/a.ts"]);
    expect(filesIn('{"text":"see\\nsrc/a.ts\\nsrc/b.ts"}')).toEqual(["src/a.ts", "src/b.ts"]);
    expect(filesIn("C:\\work\\new\\a.ts")).toEqual(["C:\\work\\new\\a.ts"]);
  });
});

describe("WorkingSet", () => {
  test("puts the heaviest first, and the newest of equals", () => {
    const files = new WorkingSet();
    files.add("a.ts", 1);
    files.add("b.ts", 1);
    files.add("c.ts", 3);
    files.add("a.ts", 1);
    files.add("d.ts", 1);
    expect(files.ranked()).toEqual(["c.ts", "a.ts", "d.ts", "b.ts"]);
  });

  test("knows a file by the end of its path, and keeps the longest", () => {
    const files = new WorkingSet();
    files.add("/srv/cli/src/a.ts", 1);
    files.add("a.ts", 1);
    files.add("src/a.ts", 1);
    files.add("b.ts", 2);
    expect(files.ranked()).toEqual(["/srv/cli/src/a.ts", "b.ts"]);
  });

  test("gives a name that fits several to the heaviest of them", () => {
    const files = new WorkingSet();
    files.add("x/a.ts", 1);
    files.add("y/a.ts", 2);
    files.add("a.ts", 5);
    expect(files.ranked()).toEqual(["y/a.ts", "x/a.ts"]);
  });
});

describe("filesLine", () => {
  test("writes each folder once", () => {
    expect(filesLine(["src/a.ts", "b.ts", "src/c.ts"])).toBe("files: src/{a.ts, c.ts}, b.ts");
  });

  test("writes what absolute paths share once", () => {
    expect(filesLine(["/srv/cli/src/a.ts", "x.md", "/srv/cli/b.ts", "/srv/cli/src/c.ts"])).toBe(
      "files: /srv/cli/{src/{a.ts, c.ts}, b.ts}, x.md",
    );
    expect(filesLine(["/srv/a.ts", "/srv/b.ts"])).toBe("files: /srv/{a.ts, b.ts}");
    expect(filesLine(["/srv/a.ts"])).toBe("files: /srv/a.ts");
  });

  test("is read back by parseFilesLine, and nothing else is", () => {
    expect(parseFilesLine("files: /srv/{src/{a.ts, c.ts}, b.ts}, x.md")).toEqual([
      "/srv/src/a.ts",
      "/srv/src/c.ts",
      "/srv/b.ts",
      "x.md",
    ]);
    expect(parseFilesLine("user: files: a.ts")).toBeUndefined();
    expect(parseFilesLine("files: {{a.ts, }}}, b.ts")).toEqual(["a.ts", "b.ts"]);
  });

  /**
   * Goal: no list of files is changed by writing it shorter.
   * Method: write and read back random lists of paths over few folders; they must hold the same paths.
   */
  test("loses and invents no path", () => {
    const name = fc.constantFrom("a", "b", "src", "lib", "x-y");
    const path = fc
      .tuple(fc.constantFrom("", "/", "~/", "../", "C:\\"), fc.array(name, { maxLength: 2 }), name)
      .map(([start, folders, base]) => `${start}${folders.map((folder) => `${folder}/`).join("")}${base}.ts`);
    let sharedCount = 0;
    fc.assert(
      fc.property(fc.uniqueArray(path, { minLength: 4, maxLength: 12, size: "max" }), (paths) => {
        const line = filesLine(paths);
        expect(parseFilesLine(line)?.toSorted()).toEqual(paths.toSorted());
        if (line.includes("{")) sharedCount++;
      }),
      { numRuns: runs(200) },
    );
    expect(sharedCount).toBeGreaterThan(runs(25));
  });
});

test("a list with the seqs behind each file is read back without them", () => {
  expect(parseFilesLine("files: config/production.yaml [3,7-9], src/auth/login.ts [1], README.md")).toEqual([
    "config/production.yaml",
    "src/auth/login.ts",
    "README.md",
  ]);
});
