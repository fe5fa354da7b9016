import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { DerivedRedactor } from "../../src/imports/redaction/derived-texts.ts";
import { openStore, type Store } from "../../src/index.ts";
import { readAssets } from "../../src/view/assets.ts";
import { logAnswer } from "../../src/view/forest.ts";
import { writePageFile } from "../../src/view/page-file.ts";
import { findChromium, launchChromium } from "../support/chromium.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { bundledPage, demoStore, hasChromium } from "../support/view-page.ts";

// The page as a file, without a server, on the demonstration's store.
const PRUNE = "b39cfd4b-8abe-4d78-8520-10116895cea8";
const LONG = `${"A line that goes on. ".repeat(1_200)}The end of it.`;
const folder = scratchFolder();
const path = join(folder, "demo.html");

describe.skipIf(!hasChromium)("the page in a file", () => {
  let store: Store;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    await demoStore(join(folder, "demo.db"));
    store = openStore(join(folder, "demo.db"));
    const summary = { role: "user", content: "Nothing to tell.", metadata: { isCompactSummary: true } } as const;
    const image = { type: "file", mediaType: "image/png", name: "dot.png", data: "iVBORw0KGgo=" } as const;
    const told = { role: "user", content: "Never touch the east oven." } as const;
    store.session("oven").append([told, summary, { role: "user", content: LONG }, { role: "user", parts: [image] }]);
    store.resume(PRUNE).fork({ id: "fork", toSeq: 152 }).append({ role: "user", content: "Only the fork has this." });
    const assets = readAssets(await bundledPage());
    await writePageFile(store, path, { redactor: new DerivedRedactor(), assets });
    browser = await launchChromium(findChromium()!);
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
    page.on("console", (message) => message.type() === "error" && faults.push(`logged: ${message.text()}`));
    page.on("request", (request) => {
      if (!/^(file|data|blob):/.test(request.url())) faults.push(`asked ${request.url()}`);
    });
    await page.goto(pathToFileURL(path).href);
  });
  afterAll(async () => {
    await browser?.close();
    store?.close();
  });
  beforeEach(() => {
    faults.length = 0;
  });

  const go = async (query: string): Promise<void> => {
    await page.evaluate(
      (hash) => {
        location.hash = hash;
      },
      query === "" ? "" : `?${query}`,
    );
    await page.locator("main h1, main h2").first().waitFor();
  };

  test("lists the sessions, filters them, and reads one after a reload and on the way back", async () => {
    await go("");
    await page.getByRole("complementary").filter({ hasText: "of the whole store. Secrets" }).waitFor();
    expect(await page.locator("main .row").count()).toBe(store.sessions().length);
    expect(await page.locator(".timeline a").count()).toBeGreaterThan(3);
    await page.getByLabel("Title, first words or id").fill("prune deleted");
    await expect.poll(() => page.locator("main .row").count()).toBe(2);
    await page.locator("main .row", { hasText: "343 messages" }).click();
    await page.locator(".message").first().waitFor();
    expect(await page.locator("details.menu, .needs-server").filter({ visible: true }).count()).toBe(0);
    await page.getByLabel("Message", { exact: false }).first().fill("200");
    await page.keyboard.press("Enter");
    await page.getByLabel(/message 200$/).waitFor();
    await page.reload();
    await page.getByLabel(/message 200$/).waitFor();
    await page.keyboard.press("3");
    await page.getByRole("button", { name: "Play the growth" }).waitFor();
    await page.goBack();
    await page.getByLabel(/message 200$/).waitFor();
    await page.getByText("Skip to the content").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toMatch(/#main$/);
    await page.getByRole("heading", { level: 1, name: /Prune deleted packs/ }).waitFor();
    expect(faults).toEqual([]);
  });

  test("shows the forest at each position, with the messages behind a theme and a cluster", async () => {
    for (const id of [PRUNE, "fork"]) {
      const { root } = store
        .resume(id)
        .roots()
        .reduce((most, one) => (one.clusters.length > most.clusters.length ? one : most));
      const [name] = /\d+/.exec(root)!;
      const { positions } = logAnswer(store, id, 0, 10_000);
      for (const level of ["theme", "cluster"]) {
        for (const position of [positions.at(Math.floor(positions.length / 2))!, positions.at(-1)!]) {
          const handle = `${level}:${name}@${position}`;
          await go(`view=forest&session=${id}&at=${position}&root=${level}:${name}`);
          await page.locator("code", { hasText: handle }).waitFor();
          const { members } = store.expand(handle, { limit: 20 });
          const labels = () => page.locator(".sources .message").evaluateAll((all) => all.map((one) => one.ariaLabel));
          await expect.poll(labels).toEqual(members.map(({ role, seq }) => `${role}, message ${seq}`));
        }
      }
    }
    await page.getByRole("button", { name: "Close" }).click();
    await page
      .locator(".why")
      .getByText(/cluster|goes on/)
      .first()
      .waitFor();
    expect(faults).toEqual([]);
  });

  test("shows Work, usage, long texts, what a summary left out, and no pictures", async () => {
    await go("view=work");
    await page.locator(".counts .row").first().click();
    await page.locator(".work-lines a").first().click();
    await page.locator(".message.is-marked").waitFor();
    await go("view=health");
    await page.getByRole("button", { name: "By model" }).click();
    await page.locator(".heat a").last().click();
    await page.locator("main .row").first().waitFor();
    expect(await page.getByLabel("Time").inputValue()).toBe("2026-03-12");
    await go("view=session&session=oven");
    await page.getByText("What this summary left out").click();
    await page.locator(".work-lines", { hasText: "east oven" }).waitFor();
    await page.getByText(/Show all 2\d,\d+ characters/).click();
    await page.getByText("The end of it.").waitFor();
    await page.locator("figcaption", { hasText: "dot.png" }).waitFor();
    expect(await page.locator("img, figcaption button").count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test("finds words, and leads to where they stand", async () => {
    await go("view=search&q=east+oven");
    await page.locator(".hit mark", { hasText: "east" }).waitFor();
    await page.getByLabel("Search", { exact: true }).fill('"touch the east"');
    await page.locator(".hit .row").click();
    await page.locator(".message.is-marked", { hasText: "Never touch the east oven." }).waitFor();
    await page.getByText("1 of 1").waitFor();
    await go("view=search&q=lock&role=user");
    const hits = () => page.locator(".hit .role").allTextContents();
    await expect.poll(async () => [...new Set(await hits())]).toEqual(["user"]);
    await go("view=search&q=nowordisthis");
    await page.getByText("Nothing found").waitFor();
    expect(faults).toEqual([]);
  });

  test("has an answer wherever a link leads", async () => {
    const seen = new Set([""]);
    for (const query of seen) {
      await go(query);
      await expect.poll(() => page.locator(".loading, .is-waiting").count()).toBe(0);
      expect(await page.locator("main .failure").allTextContents(), query).toEqual([]);
      const links = await page
        .locator("a[href^='#?']")
        .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
      for (const link of links) {
        const wanted = new URLSearchParams(link!.slice(2));
        wanted.delete("seq");
        if (wanted.get("view") !== "whole" && wanted.get("on") === null) seen.add(String(wanted));
      }
    }
    expect(seen.size).toBeGreaterThan(40);
    expect(faults).toEqual([]);
  });

  test("can send nothing", async () => {
    expect(await page.evaluate(() => fetch("http://127.0.0.1:9/").catch(({ message }) => message))).toBe(
      "Failed to fetch",
    );
    expect(faults.join()).toContain("Content Security Policy");
  });
});
