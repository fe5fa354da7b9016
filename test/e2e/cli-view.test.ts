import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "../support/cli.ts";
import { TESTS_ALL } from "../support/effort.ts";
import { user } from "../support/said.ts";

const folder = new CliFolder();
/** A process starts slowly while others run. */
const WAIT = { timeout: 20_000 };

test("the command serves the store, and ends with Ctrl-C", async () => {
  const store = openStore(folder.db);
  store.session("monday").append(user("Which region do we deploy to?"));
  store.close();
  const { child, stdout, ended } = folder.start(["view", "--no-open", "--json", "mon"]);
  await expect.poll(stdout, WAIT).toContain("\n");
  const { event, url } = JSON.parse(stdout());
  expect(event).toBe("serving");
  const [base, token] = url.split("/#t=");
  const headers = { "content-type": "application/json" };
  const entered = await fetch(`${base}/api/enter`, { method: "POST", headers, body: JSON.stringify({ token }) });
  const { key } = await entered.json();
  const get = async (path: string) => (await fetch(`${base}${path}`, { headers: { "coppice-key": key } })).json();
  expect(await get("/api/about")).toMatchObject({ session: "monday", isWritable: false, path: folder.db });
  expect(await get("/api/sql?query=SELECT+count(*)+AS+n+FROM+messages")).toMatchObject({ columns: ["n"], rows: [[1]] });
  expect(await get("/api/verify")).toMatchObject({ ok: true });
  const writer = openStore(folder.db);
  writer.resume("monday").append(user("eu-west"));
  writer.close();
  expect(await get("/api/sessions")).toMatchObject({ sessions: [{ messageCount: 2 }] });
  child.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(JSON.parse(stdout().trim().split("\n").at(-1)!)).toEqual({ event: "stopped" });
});

test("the browser gets a private file that leads to the page, so that no argument holds the token", async () => {
  openStore(folder.db).close();
  const bin = join(folder.path, "bin");
  const seen = join(folder.path, "seen");
  mkdirSync(bin);
  // Stands for the program that opens the browser.
  const script = `#!/bin/sh\nprintf '%s' "$*" > "${seen}.part" && mv "${seen}.part" "${seen}"\n`;
  for (const name of ["xdg-open", "open"]) writeFileSync(join(bin, name), script, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}`, TMPDIR: folder.path };
  const { child, stdout, ended } = folder.start(["view"], { env });
  await expect.poll(stdout, WAIT).toContain("\n");
  const url = stdout().trim();
  await expect.poll(() => existsSync(seen), WAIT).toBe(true);
  const file = readFileSync(seen, "utf8");
  expect(file).toMatch(/coppice-open-\w+\/coppice\.html$/);
  expect(file).not.toContain(url.split("#t=")[1]);
  expect(readFileSync(file, "utf8")).toContain(`content="0;url=${url}"`);
  expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
  child.kill("SIGINT");
  await ended;
  expect(existsSync(dirname(file))).toBe(false);
});

test("a store that is not there, a session that is not there and a port that is taken are said", async () => {
  expect(await folder.refusal(1, "view", "--no-open", "--db", "nowhere.db")).toContain("nowhere.db");
  openStore(folder.db).close();
  expect((await folder.run(["view", "nobody", "--no-open"])).stderr).toContain("nobody");
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  expect(await folder.refusal(2, "view", "--no-open", "--port", String(port))).toContain("EADDRINUSE");
});

test("an export needs no session, keeps a file that is there, and knows the store's projects", async () => {
  openStore(folder.db).close();
  const file = join(folder.path, "page.html");
  writeFileSync(file, "mine");
  expect(await folder.refusal(1, "view", "--export", file)).toContain("Give another path, or --overwrite.");
  expect(await folder.refusal(2, "view", "mon", "--export", file)).toContain("coppice export <session> --format html");
  expect(await folder.refusal(1, "view", "--export", file, "--project", "nowhere")).toContain("`coppice projects`");
  expect(await folder.refusal(2, "view", "--export", file, "--port", "8421")).toContain("--port");
  expect(await folder.refusal(2, "view", "--project", "nowhere")).toContain("need --export");
  expect(readFileSync(file, "utf8")).toBe("mine");
});

// The page is built for the package alone.
test.runIf(TESTS_ALL)("the store or a project is exported as a page, without its secrets", async () => {
  const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
  const store = openStore(folder.db);
  store.session("key", { project: "web", title: `Use ${secret.slice(0, 16)}` }).append(user(`Use ${secret}.`));
  store.session("oven", { project: "bakery" }).append(user("The oven is warm."));
  store.close();
  const file = join(folder.path, "page.html");
  const { stdout } = await folder.run(["view", "--export", file, "--overwrite"]);
  expect(stdout).toMatch(/^\d sessions and \d messages in .+page\.html \([\d.]+ kB\)\.\n$/);
  const [whole, ofProject] = [readFileSync(file, "utf8"), join(folder.path, "web.html")];
  expect(whole).toContain("The oven is warm.");
  expect(whole).not.toContain(secret.slice(0, 14));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await folder.json("view", "--export", ofProject, "--project", "web")).toMatchObject({ sessionCount: 1 });
  expect(readFileSync(ofProject, "utf8")).not.toContain("oven");
});
