import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { findChromium, launchChromium } from "./chromium.ts";

const TRANSCRIPTS = fileURLToPath(new URL("../../scripts/demo/transcripts", import.meta.url));

const chromium = findChromium();
export const hasChromium = chromium !== undefined;
if (!hasChromium)
  console.log("Skipped: no Chromium for the view's page. Run `npm run chromium`, or set COPPICE_TEST_CHROMIUM.");

/** The view of a store, open in a browser. */
export interface OpenView {
  page: Page;
  origin: string;
  /** What the page logged as an error, and what it threw. */
  faults: string[];
  /** Opens a state of the page, such as `view=health`. */
  go(query: string): Promise<void>;
  /** Another page of the same browser, let in as well. */
  another(options: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** Imports the demonstration's transcripts, as `npm run demo` does. */
export async function demoStore(packageFolder: string, file: string): Promise<void> {
  const cli = join(packageFolder, "dist", "coppice.cjs");
  execFileSync(process.execPath, [cli, "--db", file, "import", TRANSCRIPTS], { stdio: "pipe" });
  const { openStore } = await libraryOf(packageFolder);
  const store = openStore(file);
  await store.upkeep();
  store.close();
}

export function libraryOf(packageFolder: string): Promise<typeof import("../../src/index.ts")> {
  return import(pathToFileURL(join(packageFolder, "dist", "index.js")).href);
}

/** Serves a store with the built package, and opens its page. */
export async function openView(packageFolder: string, file: string, { write = false } = {}): Promise<OpenView> {
  const { serveView } = (await import(
    pathToFileURL(join(packageFolder, "dist", "view.js")).href
  )) as typeof import("../../src/view/index.ts");
  const view = await serveView(file, { write });
  const { origin } = new URL(view.url);
  const browser: Browser = await launchChromium(chromium!);
  const faults: string[] = [];
  const watched = (page: Page): Page => {
    page.setDefaultTimeout(60_000); // a busy machine takes its time to start a process
    page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && faults.push(`logged: ${message.text()}`));
    page.on("request", (request) => {
      const { protocol, origin: to } = new URL(request.url());
      if (protocol.startsWith("http") && to !== origin) faults.push(`asked ${request.url()}`);
    });
    return page;
  };
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = watched(await context.newPage());
  // As `coppice view` opens a browser.
  const launcher = `${file}.html`;
  writeFileSync(launcher, `<meta http-equiv="refresh" content="0;url=${view.url}">`);
  await page.goto(pathToFileURL(launcher).href);
  await page.locator("main h1").first().waitFor();
  return {
    page,
    origin,
    faults,
    go: async (query) => {
      await page.goto(`${origin}/?${query}`);
      await page.locator("main h1, main h2").first().waitFor();
    },
    another: async (options) => {
      const other = await browser.newContext(options);
      await other.addCookies(await context.cookies());
      return watched(await other.newPage());
    },
    close: async () => {
      await browser.close();
      await view.close();
    },
  };
}
