import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { openStore } from "../src/index.ts";
import { serveView } from "../src/view/index.ts";
import { type Chromium, findChromium, launchChromium } from "../test/support/chromium.ts";
import { drawTerminal } from "./screenshots/terminal.ts";

/**
 * `npm run screenshots` writes the pictures of the pages: what two commands print about the demo's store, and each view of it in a
 * browser. `npm run screenshots -- terminal` writes the first one only, and needs no browser.
 */
const OUT = fileURLToPath(new URL("./screenshots", import.meta.url));
const CLI = fileURLToPath(new URL("../dist/coppice.cjs", import.meta.url));
const TRANSCRIPTS = fileURLToPath(new URL("./demo/transcripts", import.meta.url));
const QUALITY = 80;

interface Shot {
  name: string;
  query: (session: string) => string;
  ready: string;
  isDark?: boolean;
  before?: (page: Page) => Promise<void>;
}

const SHOTS: Shot[] = [
  { name: "sessions", query: () => "", ready: ".row" },
  { name: "search", query: () => "view=search&q=which+lock+replaces+flock&explain=1", ready: ".parts" },
  { name: "session", query: (session) => `view=session&session=${session}&seq=36`, ready: ".message.is-marked" },
  { name: "context", query: (session) => `view=context&session=${session}&tokens=8000`, ready: ".stretch" },
  {
    name: "forest",
    query: (session) => `view=forest&session=${session}`,
    ready: ".log .tree-row",
    before: async (page) => {
      // Back to an entry that says why a step joined.
      const slider = page.getByLabel("Place in the log");
      await slider.press("PageDown");
      while (!/^message \S+ joins/.test((await page.locator(".log [aria-current] .tree-label").textContent())!)) {
        await slider.press("ArrowLeft");
      }
      await page.locator(".why .facts", { hasText: "score" }).waitFor();
    },
  },
  { name: "forest-dark", query: (session) => `view=forest&session=${session}&color=age`, ready: ".why", isDark: true },
  {
    name: "subject",
    query: () => "view=subjects",
    ready: ".row",
    before: async (page) => {
      await page.locator(".row").first().click();
      await page.getByRole("heading", { name: "Decided last" }).waitFor();
    },
  },
  {
    name: "health",
    query: () => "view=health",
    ready: ".tiles",
    before: async (page) => {
      await page.getByRole("button", { name: "Verify the store" }).click();
      await page.locator(".is-good").waitFor();
    },
  },
];

const isTerminalOnly = process.argv[2] === "terminal";
const chromium = findChromium();
if (chromium === undefined && !isTerminalOnly)
  throw new Error("No Chromium. Run `npm run chromium`, or set COPPICE_TEST_CHROMIUM.");
const folder = mkdtempSync(join(tmpdir(), "coppice-"));
const file = join(folder, "agent.db");
try {
  execFileSync(process.execPath, [CLI, "--db", file, "import", TRANSCRIPTS], { stdio: "ignore" });
  const store = openStore(file);
  await store.upkeep();
  const longest = store.sessions().reduce((left, right) => (right.messageCount > left.messageCount ? right : left)).id;
  store.close();
  const terminal = drawTerminal(CLI, [
    { words: ["--db", file, "recall", "which lock replaces flock?", "--limit", "3", "--neighbors", "0"], headMax: 14 },
    { words: ["--db", file, "forest", longest.slice(0, 8)], headMax: 14 },
  ]);
  writeFileSync(join(OUT, "terminal.svg"), terminal);
  if (!isTerminalOnly) await takeScreenshots(chromium!, longest);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function takeScreenshots(executable: Chromium, longest: string): Promise<void> {
  const view = await serveView(file);
  const browser = await launchChromium(executable);
  const { origin } = new URL(view.url);
  mkdirSync(OUT, { recursive: true });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 820 },
    deviceScaleFactor: 1.5,
    timezoneId: "Europe/Berlin",
    locale: "en",
  });
  const page = await context.newPage();
  await page.goto(view.url);
  await page.locator(".row").first().waitFor();
  for (const { name, query, ready, isDark = false, before } of SHOTS) {
    await page.emulateMedia({ colorScheme: isDark ? "dark" : "light" });
    await page.goto(`${origin}/?${query(longest)}`);
    await page.locator(ready).first().waitFor();
    await before?.(page);
    await page.mouse.move(0, 0);
    await page.waitForTimeout(500);
    const client = await context.newCDPSession(page);
    const { data } = await client.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
    writeFileSync(join(OUT, `${name}.webp`), Buffer.from(data, "base64"));
  }
  await browser.close();
  await view.close();
}
