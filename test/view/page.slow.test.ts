import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { scratchFolder } from "../support/packed.ts";
import { demoStore, hasChromium, libraryOf, type OpenView, openView } from "../support/view-page.ts";

// Each view by mouse and by keyboard, in a real browser, on the demonstration's store.
const folder = scratchFolder();
const file = join(folder, "demo.db");
const PRUNE = "b39cfd4b-8abe-4d78-8520-10116895cea8";

describe.skipIf(!hasChromium)("the page", () => {
  let view: OpenView;

  beforeAll(async () => {
    await demoStore(inject("packageFolder"), file);
    view = await openView(inject("packageFolder"), file, { write: true });
  }, 120_000);
  afterAll(() => view?.close());

  test("takes the token out of its address, and needs it no more", async () => {
    await expect.poll(() => view.page.url()).toBe(`${view.origin}/`);
    await view.page.reload();
    await view.page.getByRole("heading", { name: "Sessions" }).waitFor();
    const stranger = await view.another({});
    await stranger.context().clearCookies();
    await stranger.goto(view.origin);
    await stranger.getByText("needs the link that was printed").waitFor();
    await stranger.close();
    view.faults.length = 0; // the refusal is logged
  });

  test("lists sessions by day, and filters them", async () => {
    const { page, go } = view;
    await go("");
    await expect.poll(() => page.locator(".row").count()).toBe(7);
    await page.getByRole("searchbox").fill("restore");
    await expect.poll(() => page.locator(".row").count()).toBe(1);
    expect(page.url()).toContain("text=restore");
    await page.getByRole("searchbox").fill("");
    await page.locator(".timeline a").first().click();
    await expect.poll(() => page.locator(".row").count()).toBe(1);
    expect(new URL(page.url()).searchParams.get("on")).toBe("2026-03-02");
    await page.getByLabel("Project").selectOption("ferry");
    expect(page.url()).toContain("project=ferry");
    await page.goBack();
    await page.goBack();
    await expect.poll(() => page.locator(".row").count()).toBe(7);
  });

  test("opens a session from the list with the keyboard, and reads it", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /Prune deleted packs/ }).waitFor();
    await page.getByText("Please stop me from doing anything else stupid").waitFor();
    // Markdown and code.
    expect(await page.locator(".message-user pre.code").first().textContent()).toContain("404: NoSuchKey");
    expect(await page.locator(".turn").first().textContent()).toContain("tokens");
    // Tool output is folded, and unfolds.
    const result = page.locator("details.result").first();
    expect(await result.locator("pre").isVisible()).toBe(false);
    await result.locator("summary").click();
    expect(await result.locator("pre").first().isVisible()).toBe(true);
    // j and ] move on.
    await page.keyboard.press("j");
    await page.keyboard.press("]");
    await expect.poll(() => page.locator(".place").textContent()).toContain("turn 2 of 22");
    expect(Number(new URL(page.url()).searchParams.get("seq"))).toBeGreaterThan(0);
    await page.keyboard.press("[");
    await expect.poll(() => page.locator(".place").textContent()).toContain("turn 1 of 22");
  });

  test("shows edits as differences, and jumps to any message", async () => {
    const { page, go } = view;
    await go(`view=session&session=${PRUNE}&seq=60`);
    await page.locator(".message.is-marked").waitFor();
    expect(await page.locator(".message.is-marked").getAttribute("aria-label")).toBe("tool, message 60");
    expect(await page.locator(".diff .diff-added").count()).toBeGreaterThan(5);
    await page.getByRole("button", { name: "Newest" }).click();
    await page.locator('[aria-label="assistant, message 342"], [aria-label="user, message 342"]').waitFor();
    await page.getByRole("spinbutton").fill("100");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".message[aria-label$='message 100']").isVisible()).toBe(true);
  });

  test("nests a subagent where it was started", async () => {
    const { page, go } = view;
    const { openStore } = await libraryOf(inject("packageFolder"));
    const store = openStore(file, { readonly: true });
    const child = store.sessions().find(({ parentSessionId }) => parentSessionId !== null)!;
    store.close();
    await go(`view=session&session=${child.parentSessionId}`);
    const { forkSeq } = await page.evaluate(async (session) => {
      const answer = await fetch(`/api/session?session=${session}`);
      return (await answer.json()).children[0];
    }, child.parentSessionId!);
    await go(`view=session&session=${child.parentSessionId}&seq=${forkSeq ?? 0}`);
    const nested = page.locator("details.child").first();
    await nested.waitFor();
    await nested.locator("summary").first().click();
    await nested.locator(".message").first().waitFor();
    expect(await nested.locator(".message").count()).toBeGreaterThan(3);
    await nested.getByRole("link", { name: "Open it by itself" }).click();
    await page.getByRole("heading", { level: 1, name: child.title! }).waitFor();
    await page.getByRole("link", { name: /↖/ }).waitFor();
  });

  test("searches as you type, from anywhere, and explains its scores", async () => {
    const { page, go } = view;
    await go("view=health");
    await page.keyboard.press("Control+k");
    await page.locator("#search-box:focus").waitFor();
    await page.keyboard.type("which lock replaces flock");
    await page.locator(".hit mark").first().waitFor();
    await expect.poll(() => page.locator(".hit").first().textContent()).toContain("replaces");
    expect(page.url()).toContain("q=which+lock+replaces+flock");
    await page.getByLabel("Explain the scores").check();
    await page.locator(".parts").first().waitFor();
    // The parts of the best hit add up to its score.
    const numbers = (await page.locator(".hit").first().locator(".parts dd").allTextContents()).map(Number.parseFloat);
    expect(numbers.slice(1).reduce((sum, part) => sum + part, 0)).toBeCloseTo(numbers[0]!, 1);
    await page.getByRole("searchbox").press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".message.is-marked").waitFor();
    await page.goBack();
    await page.getByRole("searchbox").press("Escape");
    await page.getByRole("heading", { name: "Health" }).waitFor();
  });

  test("shows what the model sees, for a budget and a question, and what it does not", async () => {
    const { page, go } = view;
    await go(`view=context&session=${PRUNE}`);
    const budget = page.getByLabel("Budget in tokens");
    await page.locator(".measure").waitFor();
    await budget.focus();
    const before = await page.locator(".measure strong").textContent();
    await budget.press("Home");
    await budget.press("ArrowRight");
    await budget.press("ArrowRight");
    await budget.press("ArrowRight");
    await expect.poll(() => page.locator(".measure strong").textContent()).toMatch(/ of 2,000 tokens/);
    expect(await page.locator(".measure strong").textContent()).not.toBe(before);
    expect(page.url()).toContain("tokens=2000");
    await page.locator(".stable").waitFor();
    await page.getByLabel("Question").fill("If-None-Match");
    await page.locator(".stretch", { hasText: "If-None-Match" }).first().waitFor();
    // From a stretch to its exact messages.
    const source = page.locator(".stretch-facts button[aria-expanded]").first();
    await source.click();
    await page.locator(".stretch .sources .message").first().waitFor();
    // And from what is not there.
    await go(`view=context&session=${PRUNE}&tokens=2000`);
    const missing = page.locator("section[aria-labelledby=missing] details").first();
    await missing.locator("summary").click();
    await missing.locator(".message").first().waitFor();
  });

  test("compares two budgets", async () => {
    const { page, go } = view;
    await go(`view=context&session=${PRUNE}&tokens=16000`);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("heading", { name: /there in another way/ }).waitFor();
    expect(await page.locator(".measure").count()).toBe(2);
    await page.getByLabel("Second budget, exactly").fill("16000");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Both show every message in the same way" }).waitFor();
  });

  test("compares two moments, by message and by log position", async () => {
    const { page, go } = view;
    await go(`view=context&session=${PRUNE}&tokens=6000&compare=1&moment2=60`);
    await page.getByText("when message 60 was the newest").waitFor();
    expect(await page.locator(".changes").textContent()).toMatch(/Messages 61–\d+ came in between/);
    await page.getByLabel("Second moment, as the newest message").press("ArrowRight");
    await page.getByText("when message 61 was the newest").waitFor();
    expect(page.url()).toContain("moment2=61");
    await page.getByLabel("Second moment, exactly").fill("now");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /Both show|there in another way/ }).waitFor();
    await expect.poll(() => page.locator(".changes").textContent()).not.toContain("in between");
    // From a place of the forest's log to what the model saw then.
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

  test("shows the forest, and the exact messages behind a node", async () => {
    const { page, go } = view;
    await go(`view=forest&session=${PRUNE}`);
    await page.getByRole("heading", { name: "10 themes, 17 clusters" }).waitFor();
    // By mouse: a click into the row of themes.
    const picture = page.locator(".icicle canvas").first();
    await picture.click({ position: { x: 60, y: 60 } });
    await page.locator("section[aria-labelledby=behind] .sources .message").first().waitFor();
    expect(page.url()).toMatch(/root=theme%3A\d+/);
    await page.getByRole("button", { name: "Show the whole forest" }).click();
    // By keyboard: the same nodes as a list.
    await page.locator(".tree-row").nth(3).focus();
    await page.keyboard.press("Enter");
    await page.locator(".tree ul .tree-row").first().waitFor();
    await page.locator(".tree ul .tree-row").first().press("Enter");
    expect(page.url()).toMatch(/root=cluster%3A\d+/);
    await page.locator("section[aria-labelledby=behind] .sources .message").first().waitFor();
  });

  test("plays the growth of the forest, and says why a step joined", async () => {
    const { page, go } = view;
    await go(`view=forest&session=${PRUNE}`);
    const slider = page.getByLabel("Place in the log");
    await slider.waitFor();
    await slider.focus();
    await slider.press("Home");
    await page.getByRole("heading", { name: "1 theme, 1 cluster" }).waitFor();
    await slider.press("ArrowRight");
    await expect.poll(() => page.locator(".why").textContent(), { timeout: 10_000 }).toMatch(/similar by \d\.\d+/);
    expect(page.url()).toContain("at=");
    const at = Number(await slider.inputValue());
    await page.getByRole("button", { name: "Play the growth" }).click();
    await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(at + 5);
    await page.getByRole("button", { name: "Pause" }).click();
    const paused = await slider.inputValue();
    await page.reload();
    await expect.poll(() => page.getByLabel("Place in the log").inputValue()).toBe(paused);
  });

  test("shows subjects across sessions, and what was decided last", async () => {
    const { page, go } = view;
    await go("view=subjects");
    await page.locator(".row").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Decided last" }).waitFor();
    expect(await page.locator(".line-of-time > li").count()).toBeGreaterThan(1);
    await page.locator(".line-of-time summary").first().click();
    await page.locator(".line-of-time .message").first().waitFor();
  });

  test("shows the health of the store, and runs its checks when asked", async () => {
    const { page, go } = view;
    await go("view=health");
    await expect.poll(() => page.locator(".tiles").textContent()).toContain("1.3K");
    await page.getByRole("button", { name: "Verify the store" }).click();
    await page.locator(".is-good").waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Look for problems" }).click();
    await page.locator(".findings li").first().waitFor({ timeout: 60_000 });
  });

  test("gives its JSON and its SQL", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    await page.locator("summary", { hasText: "Data" }).click();
    const query = await page.locator("pre.sql").textContent();
    expect(query).toMatch(/SELECT/);
    const rows = await page.evaluate(async (sql) => {
      const answer = await fetch(`/api/sql?${new URLSearchParams({ query: sql! })}`);
      return (await answer.json()).rows.length;
    }, query);
    expect(rows).toBe(7);
  });

  test("follows the store while an agent writes", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    const { openStore } = await libraryOf(inject("packageFolder"));
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
    await go("");
    await page.getByRole("button", { name: "Mark as seen" }).click();
    await expect.poll(() => page.getByText("since you looked").count()).toBe(0);
  });

  test("renames, pins, exports and forgets, each after a question", async () => {
    const { page, go } = view;
    await go("view=session&session=live");
    const act = async (name: string): Promise<void> => {
      await page.locator("summary", { hasText: "Actions" }).click();
      await page.getByRole("button", { name }).click();
    };
    await act("Rename…");
    await page.getByLabel("New title").fill("Renamed by hand");
    await page.getByRole("button", { name: "Rename it" }).click();
    await page.getByRole("heading", { level: 1, name: "Renamed by hand" }).waitFor();

    await act("Export…");
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Save the file" }).click();
    expect((await download).suggestedFilename()).toMatch(/\.jsonl$/);

    await page.locator(".message").first().hover();
    await page.getByRole("button", { name: "Pin" }).first().click();
    await page.getByRole("button", { name: "Pin it" }).click();
    await page.locator(".message .badge", { hasText: "pinned" }).waitFor();

    // One message, from its own button.
    await page.locator(".message").last().hover();
    await page.locator(".message").last().getByRole("button", { name: "Forget" }).click();
    await page.getByRole("button", { name: "Show what would go" }).click();
    await page.getByText("1 message with").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();

    await act("Forget…");
    await page.getByRole("button", { name: "Cancel" }).click();
    await act("Forget…");
    await page.getByRole("button", { name: "Show what would go" }).click();
    await page.getByText("2 messages with").waitFor();
    const button = page.getByRole("button", { name: "Forget it" });
    expect(await button.isDisabled()).toBe(true);
    const word = await page.locator("dialog .field code").textContent();
    await page.locator("dialog input").fill(word!);
    await button.click();
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    await expect.poll(() => page.getByText("Renamed by hand").count()).toBe(0);
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
    const { openStore } = await libraryOf(inject("packageFolder"));
    const store = openStore(other);
    store.session("s").append({ role: "user", content: "Only to be read." });
    store.close();
    const view = await openView(inject("packageFolder"), other);
    try {
      await view.go("view=session&session=s");
      await view.page.getByText("Only to be read.").first().waitFor();
      await view.page.locator("summary", { hasText: "Actions" }).click();
      await view.page.getByText("This page only reads").waitFor();
      expect(await view.page.getByRole("button", { name: /Forget|Rename|Pin/ }).count()).toBe(0);
    } finally {
      await view.close();
    }
  });

  test("lists every session once, also while they are used, and reads one that no prompt begins", async () => {
    const other = join(folder, "many.db");
    const { openStore } = await libraryOf(inject("packageFolder"));
    const store = openStore(other);
    for (let index = 0; index < 130; index++) {
      store
        .session(`s${index}`, { title: `Session ${index}` })
        .append({ role: "assistant", content: `Began ${index}` });
    }
    const view = await openView(inject("packageFolder"), other);
    try {
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
    } finally {
      await view.close();
      store.close();
    }
  });

  test("says what to do with an empty store", async () => {
    const other = join(folder, "empty.db");
    const { openStore } = await libraryOf(inject("packageFolder"));
    openStore(other).close();
    const view = await openView(inject("packageFolder"), other);
    try {
      await view.page.getByText("coppice watch --once").waitFor();
      await view.go("view=subjects");
      await view.page.getByText("No subjects yet").waitFor();
      await view.go("view=session&session=nowhere");
      await view.page.getByRole("alert").waitFor();
    } finally {
      await view.close();
    }
  });
});
