import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { CHROMIUM_FOLDER, findChromium } from "../test/support/chromium.ts";

/**
 * `npm run chromium` brings the browser that the tests of `coppice view` need, and installs nothing: on Debian it unpacks the
 * packages into a folder of the user's cache. Anywhere else, set COPPICE_TEST_CHROMIUM to a browser.
 */
const BROWSER = "chromium-headless-shell";

const found = findChromium();
if (found !== undefined) console.log(`Chromium: ${found.executablePath}`);
else {
  try {
    bringChromium();
    console.log(`Chromium: ${findChromium()!.executablePath}`);
  } catch (error) {
    console.log(`No Chromium could be brought, so the tests of the view's page are skipped: ${reasonOf(error)}`);
  }
}

function bringChromium(): void {
  mkdirSync(dirname(CHROMIUM_FOLDER), { recursive: true });
  const work = mkdtempSync(`${CHROMIUM_FOLDER}-`);
  try {
    // Lists and archives of its own, so that this needs no root and changes nothing of the machine.
    const [lists, cache, root] = ["lists/partial", "cache/archives/partial", "root"].map((name) => join(work, name));
    for (const folder of [lists!, cache!, root!]) mkdirSync(folder, { recursive: true });
    const options = [
      `Dir::State::Lists=${join(work, "lists")}`,
      `Dir::Cache=${join(work, "cache")}`,
      "APT::Sandbox::User=root",
      "Debug::NoLocking=1",
    ].flatMap((option) => ["-o", option]);
    const apt = (...args: string[]): string =>
      execFileSync("apt-get", [...options, ...args], { cwd: work, encoding: "utf8", stdio: "pipe", timeout: 300_000 });
    apt("update");
    const planned = apt("install", "--simulate", "--no-install-recommends", BROWSER);
    const packages = [...planned.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name!);
    apt("download", ...packages);
    for (const file of readdirSync(work).filter((name) => name.endsWith(".deb")))
      execFileSync("dpkg", ["-x", join(work, file), root!], { stdio: "pipe" });
    rmSync(CHROMIUM_FOLDER, { recursive: true, force: true });
    renameSync(root!, CHROMIUM_FOLDER);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function reasonOf(error: unknown): string {
  const { message, stderr } = error as Error & { stderr?: string };
  return stderr?.trim().split("\n").at(-1) || message;
}
