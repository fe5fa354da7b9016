import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { demoStore, hasChromium, type OpenView, openView } from "../support/view-page.ts";

// What by-hand.slow.test.ts does not do, in a real browser, on the demonstration's store.
const folder = scratchFolder();
const file = join(folder, "demo.db");
const PRUNE = "b39cfd4b-8abe-4d78-8520-10116895cea8";

describe.skipIf(!hasChromium)("the page", () => {
  let view: OpenView;

  beforeAll(async () => {
    await demoStore(file);
    const store = openStore(file);
    const summary = { content: "Nothing to tell.", metadata: { isCompactSummary: true } };
    const said = [{ content: "Never touch the east oven." }, summary];
    store.session("oven").append(said.map((message) => ({ role: "user", createdAt: 1_000, ...message })));
    store.close();
    view = await openView(file, { write: true });
  }, 120_000);
  afterAll(() => view?.close());

  test("takes the token out of its address, and needs it no more", async () => {
    await expect.poll(() => view.page.url()).toBe(`${view.origin}/`);
    await view.page.reload();
    await view.page.getByRole("heading", { name: "Sessions" }).waitFor();
    const stranger = await view.another({});
    await stranger.goto(view.origin);
    await stranger.evaluate(() => localStorage.clear());
    await stranger.reload();
    await stranger.getByText("needs the link that was printed").waitFor();
    await stranger.close();
    view.faults.length = 0; // the refusal is logged
  });

  test("works after a reload, going back, and in another tab, which needs the first one no more", async () => {
    const { page, go } = view;
    await go(`view=session&session=${PRUNE}`);
    await page.getByRole("heading", { level: 1, name: /Prune deleted packs/ }).waitFor();
    await go("view=health");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: /Prune deleted packs/ }).waitFor();
    await page.locator("summary", { hasText: "Data" }).click();
    const [whole] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("link", { name: "Open the JSON" }).click(),
    ]);
    await go("");
    for (const show of [() => whole.locator("pre").waitFor(), () => whole.reload()]) {
      await show();
      expect(JSON.parse((await whole.locator("pre").textContent())!)).toHaveProperty("seqEnd");
    }
    await whole.goto(view.origin);
    await whole.getByRole("heading", { name: "Sessions" }).waitFor();
    expect(await whole.context().cookies()).toEqual([]);
    await whole.close();
    await page.bringToFront();
  });

  test("asks no other address that a link names", async () => {
    const tab = await view.another({});
    for (const url of ["//127.0.0.1:9/api/about", "http://127.0.0.1:9/api/about", "/\\127.0.0.1:9/api/about"]) {
      await tab.goto(`${view.origin}/?view=whole&url=${encodeURIComponent(url)}`);
      await tab.getByRole("heading", { name: "Sessions" }).waitFor();
    }
    await tab.close();
  });

  test("opens a session from the list with the keyboard, and goes through its turns", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /Prune deleted packs/ }).waitFor();
    await page.getByText("Please stop me from doing anything else stupid").waitFor();
    await expect.poll(() => page.locator(".place").textContent()).toContain("turn 1 of 22");
    await page.keyboard.press("j");
    await page.keyboard.press("]");
    await expect.poll(() => page.locator(".place").textContent()).toContain("turn 2 of 22");
    expect(Number(new URL(page.url()).searchParams.get("seq"))).toBeGreaterThan(0);
    await page.keyboard.press("[");
    await expect.poll(() => page.locator(".place").textContent()).toContain("turn 1 of 22");
  });

  test("steps from hit to hit in a session that a search opened, also on a narrow screen", async () => {
    const { page, go } = view;
    await go(`view=search&session=${PRUNE}&q=lock`);
    const hits = page.locator(".hit");
    await hits.first().waitFor();
    const listed = await hits.count();
    expect(listed).toBeGreaterThan(2);
    await hits.first().locator("a").click();
    const place = page.getByRole("group", { name: "Hits of the search" });
    const shown = async () => /(\d+) of (\d+)/.exec((await place.textContent()) ?? "") ?? [];
    const at = async () => Number((await shown())[1]);
    await place.getByText(/\d+ of \d+/).waitFor();
    const hitCount = Number((await shown())[2]);
    expect(hitCount, "a question above its answer is a place of its own").toBeGreaterThanOrEqual(listed);
    const first = await at();
    const next = (first % hitCount) + 1;
    await page.keyboard.press("n");
    await expect.poll(at).toBe(next);
    await page.keyboard.press("Shift+N");
    await expect.poll(at).toBe(first);
    const entries = await page.evaluate("history.length");
    await page.keyboard.press("1");
    await page.keyboard.press("n");
    await expect.poll(at).toBe(next);
    await page.keyboard.press("Shift+N");
    await expect.poll(at).toBe(first);
    expect(await page.evaluate("history.length")).toBe(entries);
    await page.setViewportSize({ width: 390, height: 800 });
    await place.getByRole("button", { name: "Next hit" }).click();
    await expect.poll(at).toBe(next);
    await page.locator(".message.is-marked").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("says that a session may have more hits than the search lists", async () => {
    const { page, go } = view;
    await go(`view=session&session=${PRUNE}&q=git+packs+files+lock+delete`);
    await page.getByRole("group", { name: "Hits of the search" }).getByText("30+ hits").waitFor();
  });

  test("unfolds below an agent's summary what it left out", async () => {
    const { page, go } = view;
    await go("view=session&session=oven");
    await page.getByText("What this summary left out").click();
    await page.getByRole("link", { name: "Never touch the east oven." }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("seq")).toBe("0");
  });

  test("shows what the model saw at a place of the log", async () => {
    const { page, go } = view;
    await go(`view=forest&session=${PRUNE}`);
    await page.getByLabel("Place in the log").press("Home");
    await page.getByRole("link", { name: "What the model saw then" }).click();
    await page.getByText(/when message \d+ was the newest/).waitFor();
    expect(page.url()).toMatch(/moment=%40\d+/);
  });

  test("says what a budget that is too small needs", async () => {
    const { page, go } = view;
    await go(`view=context&session=${PRUNE}&tokens=5`);
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("BUDGET_TOO_SMALL");
    view.faults.length = 0; // the refusal is logged
  });

  test("shows the nodes of the forest as a list, too, with the exact messages behind them", async () => {
    const { page, go } = view;
    await go(`view=forest&session=${PRUNE}`);
    await page.getByRole("heading", { name: /^\d+ themes, \d+ clusters$/ }).waitFor();
    await page.locator(".tree-row").nth(3).focus();
    await page.keyboard.press("Enter");
    await page.locator(".tree ul .tree-row").first().waitFor();
    await page.locator(".tree ul .tree-row").first().press("Enter");
    expect(page.url()).toMatch(/root=cluster%3A\d+/);
    await page.locator("section[aria-labelledby=behind] .sources .message").first().waitFor();
  });

  test("follows the store while an agent writes", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    const store = openStore(file);
    const session = store.session("live", { title: "Written just now" });
    session.append({ role: "user", content: "Is anybody looking?" });
    await page.getByText("Written just now").waitFor();
    await page.getByText(/1 new message in 1 session since you looked/).waitFor();
    await page.getByRole("link", { name: /Written just now/ }).click();
    await page.locator("[data-index]").getByText("Is anybody looking?").waitFor();
    session.append({ role: "assistant", content: "Yes." });
    store.close();
    await page.getByRole("button", { name: /1 new message/ }).click();
    await page.getByText("Yes.").waitFor();
  });

  test("forgets one message, from its own button", async () => {
    const { page, go } = view;
    await go("view=session&session=live");
    await page.locator(".message").last().hover();
    await page.locator(".message").last().getByRole("button", { name: "Forget" }).click();
    await page.getByRole("button", { name: "Show what would go" }).click();
    await page.getByText("1 message with").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
  });

  test("helps with its keys", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await go(`view=session&session=${PRUNE}`);
    await page.locator(".message:not(.is-waiting)").first().waitFor();
    await page.keyboard.press("3");
    await page.getByLabel("Place in the log").waitFor();
  });

  test("asks nothing of other machines, and logs no error", () => {
    expect(view.faults).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("a page that only reads", () => {
  test("offers nothing that changes the store", async () => {
    const other = join(folder, "reading.db");
    const store = openStore(other);
    store.session("s").append({ role: "user", content: "Only to be read." });
    store.close();
    const view = await openView(other);
    onTestFinished(() => view.close());
    await view.go("view=session&session=s");
    await view.page.getByText("Only to be read.").first().waitFor();
    await view.page.locator("summary", { hasText: "Actions" }).click();
    await view.page.getByText("This page only reads").waitFor();
    expect(await view.page.getByRole("button", { name: /Forget|Rename|Pin/ }).count()).toBe(0);
  });

  test("lists every session once, also while they are used, and reads one that no prompt begins", async () => {
    const other = join(folder, "many.db");
    const store = openStore(other);
    for (let index = 0; index < 130; index++) {
      store
        .session(`s${index}`, { title: `Session ${index}` })
        .append({ role: "assistant", content: `Began ${index}` });
    }
    const view = await openView(other);
    onTestFinished(async () => {
      await view.close();
      store.close();
    });
    const { page } = view;
    const titles = async () => new Set(await page.locator(".row-title").allTextContents()).size;
    await page.getByRole("button", { name: "More sessions" }).click();
    await expect.poll(titles).toBe(130);
    store.session("s3").append({ role: "user", content: "Used again." });
    await expect.poll(() => page.locator(".row").first().textContent()).toContain("Session 3");
    await expect.poll(async () => [await titles(), await page.locator(".row").count()]).toEqual([130, 130]);
    await view.go("view=session&session=s7");
    await page.getByText("Began 7").first().waitFor();
    await page.getByText("Turn 1", { exact: true }).waitFor();
    expect(view.faults).toEqual([]);
  });

  test("says what to do with an empty store", async () => {
    const other = join(folder, "empty.db");
    openStore(other).close();
    const view = await openView(other);
    onTestFinished(() => view.close());
    await view.page.getByText("coppice watch --once").waitFor();
    await view.go("view=subjects");
    await view.page.getByText("No subjects yet").waitFor();
    await view.go("view=session&session=nowhere");
    await view.page.getByRole("alert").waitFor();
  });
});
