import { join } from "node:path";
import { expect, test } from "vitest";
import { hookLine } from "../../../src/setup/hook-lines.ts";
import { ownProgram, shellLine } from "../../../src/setup/own-command.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { put } from "../importers/read.ts";

const NPX = ["npx", "-y", "--allow-scripts=better-sqlite3", "coppice"];

function folderWith(...paths: string[]): string {
  const folder = temporaryFolder();
  for (const path of paths) put(join(folder, path), "");
  return folder;
}

test("a global installation is called by its name", () => {
  const folder = folderWith("v20.1.0/bin/coppice");
  const program = join(folder, "v20.1.0/lib/node_modules/coppice/dist/coppice.cjs");
  expect(ownProgram(program, `/none:${join(folder, "v20.1.0/bin")}`)).toEqual(["coppice"]);
});

test("npx is called again, because its cache does not last", () => {
  const folder = folderWith(".npm/_npx/1a2b/node_modules/.bin/coppice");
  const bin = join(folder, ".npm/_npx/1a2b/node_modules/.bin");
  expect(ownProgram(join(bin, "../coppice/dist/coppice.cjs"), `${bin}:/none`)).toEqual(NPX);
});

test("an installation in a project is called by the link of the project", () => {
  const link = "web/node_modules/.bin/coppice";
  const folder = folderWith(link, "web/node_modules/.pnpm/coppice@0.1.0/node_modules/.bin/coppice");
  const path = join(folder, "web/node_modules/.bin");
  for (const program of [
    "web/node_modules/coppice/dist/coppice.cjs",
    "web/node_modules/.pnpm/coppice@0.1.0/node_modules/coppice/dist/coppice.cjs",
    link,
  ]) {
    expect(ownProgram(join(folder, program), path)).toEqual([join(folder, link)]);
  }
});

test("a build of the source is called by its file", () => {
  const program = join(folderWith("dist/coppice.cjs"), "dist/coppice.cjs");
  expect(ownProgram(program, "")).toEqual(["node", program]);
});

test("a line for a shell quotes what needs it", () => {
  expect(shellLine(["/a b/it's", "hook", "--agent=x"])).toBe("'/a b/it'\\''s' hook --agent=x");
});

test.each([
  ["claude-code", "'C:/Web Apps/bin/coppice'", "'D:\\it'\\''s mine\\a.db'"],
  ["gemini-cli", "& 'C:\\Web Apps\\bin\\coppice.cmd'", "'D:\\it''s mine\\a.db'"],
  ["codex", '"C:\\Web Apps\\bin\\coppice.cmd"', '"D:\\it\'s mine\\a.db"'],
])("on Windows, the hook of %s is quoted for the shell that runs it", (agent, program, store) => {
  const command = { program: ["C:\\Web Apps\\bin\\coppice.cmd"], store: ["--db", "D:\\it's mine\\a.db"] };
  const line = `${program} hook prompt --agent ${agent} --db ${store}`;
  expect(hookLine(command, "prompt", agent, "win32")).toBe(line);
  const plain = { program: ["coppice"], store: ["--db", "D:\\a.db"] };
  const db = agent === "claude-code" ? "'D:\\a.db'" : "D:\\a.db";
  expect(hookLine(plain, "prompt", agent, "win32")).toBe(`coppice hook prompt --agent ${agent} --db ${db}`);
});
