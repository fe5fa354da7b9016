import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder, MAIN } from "../support/cli.ts";
import { user } from "../support/said.ts";

const folder = new CliFolder();

/** Starts `coppice view` and enters it, as the page does. */
async function viewed(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, "view", "--no-open", "--json", ...args], {
    env: { PATH: process.env.PATH, HOME: folder.path, COPPICE_DB: folder.db },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  await once(child.stdout, "data");
  const { event, url } = JSON.parse(stdout);
  expect(event).toBe("serving");
  const [base, token] = url.split("/#t=");
  const headers = { "content-type": "application/json" };
  const entered = await fetch(`${base}/api/enter`, { method: "POST", headers, body: JSON.stringify({ token }) });
  const cookie = entered.headers.get("set-cookie")!.split(";")[0]!;
  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  const get = async (path: string): Promise<any> => (await fetch(`${base}${path}`, { headers: { cookie } })).json();
  return { child, base, get, stdout: () => stdout };
}

test("the built command serves the page and the store, and ends with Ctrl-C", async () => {
  const store = openStore(folder.db);
  store.session("monday").append(user("Which region do we deploy to?"));
  store.close();
  const { child, base, get, stdout } = await viewed("mon");
  const page = await fetch(`${base}/`);
  expect(await page.text()).toContain('<script type="module" src=');
  expect((await fetch(`${base}/page.js`)).headers.get("content-type")).toContain("text/javascript");
  expect(await get("/api/about")).toMatchObject({ session: "monday", isWritable: false, path: folder.db });
  expect(await get("/api/sql?query=SELECT+count(*)+AS+n+FROM+messages")).toMatchObject({ columns: ["n"], rows: [[1]] });
  expect(await get("/api/verify")).toMatchObject({ ok: true });
  const writer = openStore(folder.db);
  writer.resume("monday").append(user("eu-west"));
  writer.close();
  expect((await get("/api/sessions")).sessions).toMatchObject([{ messageCount: 2 }]);
  child.kill("SIGINT");
  expect(await once(child, "close")).toEqual([0, null]);
  expect(JSON.parse(stdout().trim().split("\n").at(-1)!)).toEqual({ event: "stopped" });
});

test("the browser gets a private file that leads to the page, so that no argument holds the token", async () => {
  openStore(folder.db).close();
  const bin = join(folder.path, "bin");
  const seen = join(folder.path, "seen");
  mkdirSync(bin);
  // Stands for the program that opens the browser.
  const script = `#!/bin/sh\nprintf '%s' "$*" > '${seen}.part' && mv '${seen}.part' '${seen}'\n`;
  for (const name of ["xdg-open", "open"]) writeFileSync(join(bin, name), script, { mode: 0o755 });
  const child = spawn(process.execPath, [MAIN, "view"], {
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: folder.path, COPPICE_DB: folder.db, TMPDIR: folder.path },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [printed] = await once(child.stdout, "data");
  const url = String(printed).trim();
  await expect.poll(() => existsSync(seen)).toBe(true);
  const file = readFileSync(seen, "utf8");
  expect(file).toMatch(/coppice-open-\w+\/coppice\.html$/);
  expect(file).not.toContain(url.split("#t=")[1]);
  expect(readFileSync(file, "utf8")).toContain(`content="0;url=${url}"`);
  expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
  child.kill("SIGINT");
  await once(child, "close");
  expect(existsSync(dirname(file))).toBe(false);
});

test("a store that is not there, a session that is not there and a port that is taken are said", async () => {
  const missing = await folder.run(["view", "--no-open", "--db", "nowhere.db"]);
  expect([missing.exitCode, missing.stdout]).toEqual([1, ""]);
  expect(missing.stderr).toContain("nowhere.db");
  openStore(folder.db).close();
  expect((await folder.run(["view", "nobody", "--no-open"])).stderr).toContain("nobody");
  const { base } = await viewed();
  const taken = await folder.run(["view", "--no-open", "--port", new URL(base).port]);
  expect(taken.stderr).toContain("EADDRINUSE");
  expect(taken.exitCode).not.toBe(0);
});
