import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { bundlePage } from "../../scripts/build/page.ts";
import { importFiles } from "../../src/imports/index.ts";
import { openStore } from "../../src/index.ts";
import { Asking } from "../../src/view/ask.ts";
import { readAssets } from "../../src/view/assets.ts";
import type { ViewOptions } from "../../src/view/index.ts";
import { Routes } from "../../src/view/routes.ts";
import { ViewServer } from "../../src/view/server.ts";
import { ViewStore } from "../../src/view/view-store.ts";
import { findChromium, launchChromium } from "./chromium.ts";

const PAGE = fileURLToPath(new URL("../../src/view/page", import.meta.url));
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

/** A store with the demonstration's transcripts, as `npm run demo` makes it. */
export async function demoStore(file: string): Promise<void> {
  const store = openStore(file);
  await importFiles(store, [TRANSCRIPTS]);
  await store.upkeep();
  store.close();
}

let pageFolder: string | undefined;

/** Bundles the page. Returns the folder of its files. */
export async function bundledPage(): Promise<string> {
  if (pageFolder === undefined) {
    pageFolder = mkdtempSync(join(tmpdir(), "coppice-page-"));
    await bundlePage(PAGE, pageFolder);
  }
  return pageFolder;
}

/** Serves a store, and opens its page. */
export async function openView(
  file: string,
  { write = false, agent }: Pick<ViewOptions, "write" | "agent"> = {},
): Promise<OpenView> {
  const store = new ViewStore(() => openStore(file, { readonly: !write }), write);
  const server = new ViewServer(new Routes(store, new Asking(store, agent), null), readAssets(await bundledPage()));
  const url = await server.listen(0);
  const { origin } = new URL(url);
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
  writeFileSync(launcher, `<meta http-equiv="refresh" content="0;url=${url}">`);
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
      const other = await browser.newContext({ ...options, storageState: await context.storageState() });
      return watched(await other.newPage());
    },
    close: async () => {
      await browser.close();
      await server.close();
      store.close();
    },
  };
}
