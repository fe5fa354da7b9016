import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { sessionIds } from "../../src/session/aids/session-ids.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { costing, scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { demoStore, hasChromium, type OpenView, openView } from "../support/view-page.ts";

// What a person does with each view, by mouse and keyboard alone, on the demonstration's store. No address is typed.
const TITLE = "The session that is read";
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Store = Awaited<ReturnType<typeof storeFor>>;

async function storeFor(file: string) {
  await demoStore(file);
  const usage = { inputTokens: 1_200, outputTokens: 80, costUsd: 0.004 };
  const store = openStore(file, { summarizer: costing(scriptedSummarizer(), usage) });
  const { id } = store.sessions().reduce((left, right) => (right.messageCount > left.messageCount ? right : left));
  const read = store.resume(id);
  read.update({ title: TITLE });
  // A fork from the middle, from the end of a turn.
  const forkSeq =
    read
      .messages({ seqFrom: Math.floor(read.info().messageCount / 2), limit: 200 })
      .find(({ role }) => role === "user")!.seq - 1;
  const fork = read.fork({ title: "Another way", toSeq: forkSeq });
  fork.append({ role: "user", content: "Let us try it in another way." });
  fork.append({ role: "assistant", content: "Only the fork has this." });
  const parts = store.session("parts", { title: "All kinds of parts", project: "atelier" });
  parts.append({
    role: "user",
    content: "## Plan\n\n- **first** `code`\n- second\n\n```ts\nconst a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
  });
  parts.append({
    role: "assistant",
    parts: [
      { type: "reasoning", text: "The quiet part of the answer." },
      { type: "text", text: "An edit:" },
      {
        type: "tool_call",
        toolCallId: "e",
        name: "Edit",
        args: { file_path: "a.ts", old_string: "const a = 1;", new_string: "const a = 2;" },
      },
    ],
  });
  parts.append({
    role: "tool",
    parts: [{ type: "tool_result", toolCallId: "e", content: "line one\nline two\nline three" }],
  });
  parts.append({
    role: "user",
    parts: [
      { type: "file", mediaType: "image/png", name: "dot.png", data: PIXEL },
      {
        type: "file",
        mediaType: "application/pdf",
        name: "plan.pdf",
        data: Buffer.from("%PDF-1.4").toString("base64"),
      },
    ],
  });
  await store.resume(store.sessions({ project: "/home/mira/src/ferry" }).at(-1)!.id).resolveDirty();
  return { store, id, forkSeq, count: read.info().messageCount };
}

const folder = scratchFolder();

describe.skipIf(!hasChromium)("by hand", () => {
  const file = join(folder, "by-hand.db");
  let made: Store;
  let view: OpenView;
  let page: Page;
  /** The addresses to which the hand has led, with the heading of each. */
  const states = new Map<string, string>();

  beforeAll(async () => {
    made = await storeFor(file);
    view = await openView(file, { write: true });
    page = view.page;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: view.origin });
  }, 900_000);
  afterAll(async () => {
    await view?.close();
    made?.store.close();
  });

  const heading = (): Promise<string | null> => page.locator("main h1").first().textContent();
  const remember = async (): Promise<void> => void states.set(page.url(), (await heading())!);

  async function openSession(title: string): Promise<void> {
    await page.getByRole("link", { name: "Coppice, all sessions" }).click();
    await page.getByLabel("Title, first words or id").fill(title);
    await page.locator(".row", { hasText: title }).first().click();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
  }
  async function openTab(name: string): Promise<void> {
    await openSession(TITLE);
    await page.getByRole("navigation", { name: "Views of the session" }).getByRole("link", { name }).click();
  }
  /** Drags the handle of a slider from one share of its width to another. */
  async function drag(slider: Locator, from: number, to: number): Promise<void> {
    await slider.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await slider.boundingBox())!;
    const at = (share: number): number => x + 8 + share * (width - 16);
    await page.mouse.move(at(from), y + height / 2);
    await page.mouse.down();
    for (let step = 1; step <= 8; step++) await page.mouse.move(at(from + ((to - from) * step) / 8), y + height / 2);
    await page.mouse.up();
  }
  /** Copies the JSON and the SQL of the view, and runs the SQL. @param index  Health has a second menu, of what agents used. */
  async function copyData(index = 0): Promise<{ json: Record<string, unknown>; sql: string }> {
    const menu = page.locator("details.menu", { has: page.locator("summary", { hasText: "Data" }) }).nth(index);
    await menu.locator("summary").click();
    const copied = async (name: string): Promise<string> => {
      await page.evaluate(() => navigator.clipboard.writeText("nothing"));
      await menu.getByRole("button", { name }).click();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).not.toBe("nothing");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const json = JSON.parse(await copied("Copy the JSON"));
    const sql = await copied("Copy the SQL");
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      menu.getByRole("link", { name: "Run the SQL" }).click(),
    ]);
    const answer = JSON.parse((await popup.locator("pre").textContent())!);
    expect(answer.rows.length, sql).toBeGreaterThan(0);
    await popup.close();
    await menu.locator("summary").click();
    return { json, sql };
  }

  describe("sessions and search", () => {
    test("search as one types, with the parts of each score on demand", async () => {
      await page.getByRole("link", { name: "Health" }).click();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("lock");
      await page.locator(".hit mark").first().waitFor();
      const before = await page.locator(".hits").textContent();
      await page.keyboard.type(" that ssh inherited");
      await expect.poll(() => page.locator(".hits").textContent()).not.toBe(before);
      await expect.poll(() => page.locator(".hit").first().textContent()).toContain("unix.Open");
      expect(await page.locator(".parts").count()).toBe(0);
      await page.getByLabel("Explain the scores").click();
      await page.locator(".parts").first().waitFor();
      await remember();
      expect((await copyData()).json).toHaveProperty("sessions.0.hits.0.parts.words");
      await page.getByRole("searchbox").press("ArrowDown");
      await page.keyboard.press("j");
      await page.keyboard.press("k");
      await page.keyboard.press("Enter");
      await page.locator(".message.is-marked").waitFor();
      await remember();
    });

    test("filters by project, agent, role and time", async () => {
      await page.keyboard.press("/");
      await page.keyboard.type("lock");
      await page.locator(".hit").first().waitFor();
      const facts = () => page.locator(".session-hits .row-facts").allTextContents();
      const roles = () => page.locator(".hit .role").allTextContents();
      await page.getByLabel("Role").selectOption("user");
      await expect.poll(async () => new Set(await roles())).toEqual(new Set(["user"]));
      await page.getByLabel("Project").selectOption({ label: "ferry" });
      await expect.poll(async () => (await facts()).every((fact) => fact.startsWith("ferry"))).toBe(true);
      await page.getByLabel("Agent").selectOption("claude-code");
      await page.locator(".hit").first().waitFor();
      await remember();
      await page.getByLabel("Time").selectOption({ label: "Last 7 days" }); // the demonstration is older
      await page.getByText("Nothing found").waitFor();

      await page.getByRole("link", { name: "Coppice, all sessions" }).click();
      const rows = page.locator(".row");
      await rows.first().waitFor();
      const all = await rows.count();
      await page.getByLabel("Project").selectOption("atelier");
      await expect.poll(() => rows.count()).toBe(1);
      await page.getByLabel("Project").selectOption({ label: "All projects" });
      await expect.poll(() => rows.count()).toBe(all);
      await page.getByLabel("Agent").selectOption("claude-code");
      await expect.poll(() => rows.count()).toBeLessThan(all);
      expect(await rows.count()).toBeGreaterThan(2);
      await page.getByLabel("Agent").selectOption({ label: "All agents" });
      await page.getByLabel("Time").selectOption({ label: "Last 7 days" });
      await expect.poll(() => rows.count()).toBe(2);
      await remember();
    });

    test("a day of the timeline shows its sessions", async () => {
      await page.getByRole("link", { name: "Coppice, all sessions" }).click();
      const bar = page.locator(".timeline a", { has: page.locator("span") }).first();
      await bar.hover();
      const [, date, sessions] = /^(\S+): .* in (\d+) session/.exec((await bar.getAttribute("aria-label"))!)!;
      await bar.click();
      await expect.poll(() => page.locator(".row").count()).toBe(Number(sessions));
      expect(page.url()).toContain(`on=${date}`);
      await remember();
      expect((await copyData()).json).toHaveProperty("sessions");
      await page.locator(".timeline a").first().click();
      await expect.poll(() => page.locator(".row").count()).toBeGreaterThan(Number(sessions));
    });

    test("tells what is new since one looked, and goes to it", async () => {
      made.store.session("parts").append({ role: "user", content: "Just now." });
      await page.getByText(/1 new message in 1 session since you looked/).waitFor();
      await page.locator(".row", { has: page.getByText("1 new", { exact: true }) }).click();
      await page.locator(".message.is-marked", { hasText: "Just now." }).waitFor();
      await page.goBack();
      await page.getByRole("button", { name: "Mark as seen" }).click();
      await expect.poll(() => page.getByText("since you looked").count()).toBe(0);
    });
  });

  describe("a session read", () => {
    test("shows Markdown, code, differences, folded output, pictures, files and folded reasoning", async () => {
      await openSession("All kinds of parts");
      const first = page.locator(".message").first();
      await first.locator("li strong", { hasText: "first" }).waitFor();
      await expect.poll(() => first.locator("table td").count()).toBe(2);
      expect(await first.locator("pre.code").textContent()).toContain("const a = 1;");
      const second = page.locator(".message").nth(1);
      expect(await second.locator(".diff-removed").textContent()).toContain("const a = 1;");
      expect(await second.locator(".diff-added").textContent()).toContain("const a = 2;");
      const reasoning = second.locator("details", { hasText: "Reasoning" });
      expect(await reasoning.locator(".prose").isVisible()).toBe(false);
      await reasoning.locator("summary").click();
      expect(await reasoning.locator(".prose").textContent()).toContain("The quiet part");
      const output = page.locator("details.result");
      expect(await output.locator("pre").isVisible()).toBe(false);
      await output.locator("summary").focus();
      await page.keyboard.press("Enter");
      expect(await output.locator("pre").textContent()).toContain("line three");
      await page.locator("figure.file img").scrollIntoViewIfNeeded();
      await expect
        .poll(() => page.locator("figure.file img").evaluate((image) => (image as HTMLImageElement).naturalWidth))
        .toBe(1);
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "plan.pdf" }).click(),
      ]);
      expect(file.suggestedFilename()).toBe("plan.pdf");
      expect(await page.locator(".turn").first().textContent()).toMatch(/Turn 1.*tokens/);
    });

    test("nests a subagent where it was started", async () => {
      await openSession("Restore drill");
      const child = page.locator("details.child");
      for (let turns = 0; turns < 60 && (await child.count()) === 0; turns++) await page.keyboard.press("]");
      await child.first().scrollIntoViewIfNeeded();
      await child.first().locator("summary").first().click();
      await child.first().locator(".message").nth(2).waitFor();
    });

    test("shows a fork in its parent, and its shared past in the fork", async () => {
      await openSession(TITLE);
      const place = page.getByRole("spinbutton");
      await place.fill(String(made.forkSeq));
      // What is typed stays while the list moves.
      await page.mouse.move(600, 500);
      await page.mouse.wheel(0, 2_000);
      await page.locator('.message[aria-label$="message 0"]').waitFor({ state: "detached" });
      expect(await place.inputValue()).toBe(String(made.forkSeq));
      // Nothing typed, and typing that is given up, go nowhere.
      const before = page.url();
      await page.keyboard.press("Escape");
      await place.fill("");
      await page.keyboard.press("Enter");
      expect(page.url()).toBe(before);
      await place.fill(await place.inputValue());
      const here = await place.inputValue();
      await page.mouse.wheel(0, 2_000);
      await expect.poll(() => page.locator(`.message[aria-label$="message ${here}"]`).count()).toBe(0);
      await page.keyboard.press("Enter");
      await page.locator(`.message[aria-label$="message ${here}"]`).waitFor();
      await place.fill(String(made.forkSeq));
      await page.keyboard.press("Enter");
      const fork = page.locator("details.child", { hasText: "Fork from here" });
      await fork.locator("summary").first().click();
      await fork.getByText("Only the fork has this.").waitFor();
      expect(await fork.locator(".message").count()).toBe(2);
      await fork.getByRole("link", { name: "Open it by itself" }).click();
      await page.getByRole("heading", { level: 1, name: "Another way" }).waitFor();
      await page.getByText("The fork begins here").waitFor();
      await remember();
      const own = page.locator(`[aria-label="user, message ${made.forkSeq + 1}"]`);
      await own.waitFor();
      expect(await own.evaluate((message) => message.classList.contains("is-shared"))).toBe(false);
      const shared = page.locator(`.message.is-shared[aria-label$="shared message ${made.forkSeq}"]`);
      await shared.waitFor();
      // What is shared cannot be changed here, so it has no buttons; its number stays in the fork.
      expect(await shared.getByRole("button", { name: "Forget" }).count()).toBe(0);
      expect(await own.getByRole("button", { name: "Forget" }).count()).toBe(1);
      await page.getByRole("button", { name: "First" }).click();
      await page.locator('.message.is-shared[aria-label$=" message 0"]').waitFor();
      await page.getByRole("button", { name: "To its own messages" }).click();
      await own.waitFor();
      await page.getByRole("button", { name: "First" }).click();
      await page.locator(".fork-note").getByRole("link", { name: TITLE }).click();
      await page.getByRole("heading", { level: 1, name: TITLE }).waitFor();
      await page.locator(`.message.is-marked[aria-label$=" message ${made.forkSeq}"]`).waitFor();
    });

    test("goes through all its messages by wheel, by drag and by key", async () => {
      await openSession(TITLE);
      expect((await copyData()).json).toMatchObject({ session: { messageCount: made.count } });
      const place = async () => Number(await page.locator(".place input").inputValue());
      await page.mouse.move(600, 500);
      for (let step = 0; step < 10; step++) await page.mouse.wheel(0, 600);
      await expect.poll(place).toBeGreaterThan(4);
      const strip = (await page.locator(".overview").boundingBox())!;
      await page.mouse.move(strip.x + 20, strip.y + 20);
      await page.mouse.down();
      await page.mouse.move(strip.x + 20, strip.y + strip.height * 0.4, { steps: 6 });
      await page.mouse.move(strip.x + 20, strip.y + strip.height * 0.75, { steps: 6 });
      await page.mouse.up();
      await expect.poll(async () => Math.abs((await place()) / made.count - 0.75)).toBeLessThan(0.1);
      const before = await place();
      await page.keyboard.press("]");
      await expect.poll(place).toBeGreaterThan(before);
      await page.getByRole("button", { name: "Newest" }).click();
      await page.locator(`.message[aria-label$=" message ${made.count - 1}"]`).waitFor();
      await remember();
    });
  });

  describe("what the model sees", () => {
    test("by budget, strategy and question, in colors, with the stable prefix and the sources", async () => {
      await openTab("What the model sees");
      const used = page.locator(".measure strong").first();
      await used.waitFor();
      await drag(page.getByLabel("Budget in tokens"), 0.4, 0.25);
      await expect.poll(() => used.textContent()).toMatch(/of [2-4],\d00 tokens/);
      await page.locator(".stable").first().waitFor();
      // The stretches of the budgets before may still be there.
      const counts = async () => {
        const colors = await page
          .locator(".stretch")
          .evaluateAll((all) => [
            ...new Set(all.map((one) => `${one.className} ${getComputedStyle(one).borderLeftColor}`)),
          ]);
        const kinds = new Set(colors.map((one) => one.split(" ")[1]));
        return {
          isVaried: kinds.size > 1,
          more: new Set(colors.map((one) => one.slice(one.indexOf("rgb")))).size - kinds.size,
        };
      };
      await expect.poll(counts).toEqual({ isVaried: true, more: 0 });
      await page.locator(".stretch-facts button[aria-expanded]").first().click();
      await page.locator(".stretch .sources .message").first().waitFor();
      const missing = page.locator("section[aria-labelledby=missing] details").first();
      await missing.locator("summary").click();
      await missing.locator(".message").first().waitFor();
      const word = "If-None-Match";
      await page.getByLabel("Question").click();
      await page.keyboard.type(word);
      await page
        .locator(".shape", { hasText: "written by Coppice" })
        .locator(".stretch", { hasText: word })
        .first()
        .waitFor();
      await remember();
      expect((await copyData()).json).toHaveProperty("coverage");
      await page.getByLabel("Budget, exactly").fill("16000");
      await page.keyboard.press("Enter");
      await page.getByLabel("Strategy").selectOption("sandwich");
      await expect.poll(() => page.locator(".measure").textContent()).toContain("sandwich");
      await page.getByText("Only union-find looks for what answers the question").waitFor();
    });

    test("compares two budgets, two strategies and two moments", async () => {
      await openTab("What the model sees");
      await page.locator(".measure").waitFor();
      await page.getByRole("button", { name: "Compare" }).click();
      await page.getByRole("heading", { name: /there in another way/ }).waitFor();
      await page.locator(".changes details summary").first().click();
      await page.locator(".changes .sources .message").first().waitFor();
      await page.getByLabel("Second budget, exactly").fill("8000");
      await page.keyboard.press("Enter");
      await page.getByLabel("First budget, exactly").fill("8000");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Both show every message in the same way" }).waitFor();
      await page.getByLabel("Second strategy").selectOption("flat");
      await page.getByRole("heading", { name: /there in another way/ }).waitFor();
      await page.getByLabel("Second strategy").selectOption("union-find");
      await page.getByRole("heading", { name: "Both show every message in the same way" }).waitFor();
      // All of the session is copied, message by message: it has a fork.
      await drag(page.getByLabel("Second moment, as the newest message"), 1, 0.9);
      await page.getByText("A copy of the session goes back").waitFor();
      await page.getByText(/when message [\d,]+ was the newest/).waitFor({ timeout: 300_000 });
      await page.getByText(/came in between/).waitFor();
      await remember();
    }, 600_000);
  });

  describe("the forest", () => {
    test("is drawn by tokens, colored by theme, age or subject, with the messages behind a node", async () => {
      await openTab("Forest");
      const picture = page.locator(".icicle canvas").first();
      await picture.waitFor();
      const drawn = () => picture.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
      const seen = new Set([await drawn()]);
      for (const color of ["Age", "Subject"]) {
        await page.getByLabel("Color by").selectOption({ label: color });
        await expect.poll(async () => seen.has(await drawn())).toBe(false);
        seen.add(await drawn());
      }
      const { width } = (await picture.boundingBox())!;
      await picture.hover({ position: { x: width * 0.3, y: 130 } });
      await expect.poll(() => page.locator(".icicle figcaption").textContent()).toMatch(/: cluster, .* tokens/);
      await picture.click({ position: { x: width * 0.3, y: 130 } });
      const behind = page.locator("section[aria-labelledby=behind]");
      await behind.locator(".sources .message").first().waitFor();
      await remember();
      expect((await copyData()).json).toHaveProperty("clusters");
      await behind.getByRole("button", { name: "Close" }).click();
      await page.getByRole("heading", { name: "What happened here" }).waitFor();
    });

    test("goes back by a drag, plays as it grew, and says why a step joined", async () => {
      await openTab("Forest");
      const slider = page.getByLabel("Place in the log");
      const sizes = page.locator("#themes");
      await sizes.waitFor();
      const now = await sizes.textContent();
      await drag(slider, 1, 0.3);
      await expect.poll(() => sizes.textContent()).not.toBe(now);
      const at = Number(await slider.inputValue());
      expect(at / Number(await slider.getAttribute("max"))).toBeCloseTo(0.3, 1);
      await remember();
      const entry = page.locator(".log button", { hasText: /^[\d,]+message [\d,]+ joins/ });
      for (let moves = 0; moves < 40 && (await entry.count()) === 0; moves++) await slider.press("ArrowLeft");
      await entry.first().click();
      await expect.poll(() => page.locator(".why").textContent()).toMatch(/work on the request|goes on with/);
      await expect
        .poll(() => page.locator(".why .facts").textContent())
        .toMatch(/^(follows a step|apart).*begins with the/);
      await page.getByRole("button", { name: "Play the growth" }).click();
      await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(at + 5);
      await page.getByRole("button", { name: "Pause" }).click();
    });

    test("of a fork has what it shares, and the reasons for it", async () => {
      await openSession("Another way");
      await page
        .getByRole("navigation", { name: "Views of the session" })
        .getByRole("link", { name: "Forest" })
        .click();
      const slider = page.getByLabel("Place in the log");
      await page.locator("#themes").waitFor();
      // A key is lost if the log is not there yet.
      const begun = page.getByRole("heading", { name: "1 theme, 1 cluster" });
      const goToBeginning = async (): Promise<number> => {
        await slider.press("Home");
        return await begun.count();
      };
      await expect.poll(goToBeginning).toBe(1);
      await expect.poll(() => page.locator(".why").textContent()).toContain("starts a cluster");
    });
  });

  test("subjects say when they came up, in which sessions, and what was decided last", async () => {
    await page.getByRole("link", { name: "Subjects" }).click();
    await page.locator(".row").first().waitFor();
    await copyData();
    await page.locator(".row", { hasText: "ferry" }).first().click();
    await page.getByRole("heading", { name: "Decided last" }).waitFor();
    const times = page.locator(".line-of-time > li");
    expect(await times.count()).toBeGreaterThan(1);
    await times.first().locator("summary").click();
    await times.first().locator(".message").first().waitFor();
    await remember();
    await copyData();
    await times
      .first()
      .getByRole("link", { name: /Open in its session/ })
      .click();
    await page.locator(".message.is-marked").waitFor();
  });

  test("health has the stats, the checks, and what models cost by day and by session", async () => {
    await page.getByRole("link", { name: "Health" }).click();
    const tile = page.locator(".tiles > div", { hasText: /messages/ }).first();
    await tile.waitFor();
    expect(await tile.textContent()).toMatch(/^messages\d/);
    const costs = (name: string) =>
      page
        .locator("section", { has: page.getByRole("heading", { name }) })
        .locator("td")
        .last();
    expect(await costs("What summaries cost by day").textContent()).toMatch(/^\$0\.\d+/);
    expect(await costs("What summaries cost by session").textContent()).toMatch(/^\$0\.\d+/);
    await page.getByRole("heading", { name: "Waiting" }).waitFor();
    await page.getByRole("button", { name: "By project" }).click();
    await page
      .locator("section", { has: page.getByRole("heading", { name: "What agents used" }) })
      .getByRole("columnheader", { name: "Replies" })
      .waitFor();
    await remember();
    expect((await copyData()).json).toHaveProperty("stats.messageCount");
    expect((await copyData(1)).json).toHaveProperty("rows.0.replyCount");
    await page.getByRole("button", { name: "Look for problems" }).click();
    await page.locator(".findings li").first().waitFor({ timeout: 300_000 });
    await page.getByRole("button", { name: "Verify the store" }).click();
    await page.getByText(/^All [\d,]+ messages of/).waitFor({ timeout: 300_000 });
  }, 700_000);

  test("a day of what agents used leads to what was done on that day, where its reader is", async () => {
    made.store.session("late", { title: "Late in the evening" }).append({
      role: "assistant",
      content: "Done.",
      createdAt: Date.UTC(2026, 2, 10, 20),
      metadata: { model: "m", usage: { input_tokens: 10, output_tokens: 20 } },
    });
    const there = await view.another({ timezoneId: "Asia/Kolkata" }); // its days begin 5.5 hours before those of UTC
    await there.goto(`${view.origin}/?view=health`);
    await there.getByRole("link", { name: /^2026-03-11: / }).click();
    await there.locator("main .row", { hasText: "Late in the evening" }).waitFor();
    await there.close();
  });

  test("renames, pins, exports and forgets, each with a question first", async () => {
    const { store } = made;
    store.session("acted-on", { title: "To be acted on" }).append({ role: "user", content: "Old words." });
    const act = async (name: string): Promise<void> => {
      await page.locator("summary", { hasText: "Actions" }).click();
      await page.getByRole("button", { name }).click();
    };
    const cancel = () => page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await openSession("To be acted on");
    await act("Rename…");
    await page.getByLabel("New title").fill("Not this");
    await cancel();
    expect(await heading()).toBe("To be acted on");
    await act("Rename…");
    await page.getByLabel("New title").fill("Acted on");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Acted on", exact: true }).waitFor();

    const message = page.locator(".message").first();
    await message.hover();
    await message.getByRole("button", { name: "Pin" }).click();
    await cancel();
    expect(store.resume("acted-on").messages()[0]!.pinned).toBe(false);
    await message.hover();
    await message.getByRole("button", { name: "Pin" }).click();
    await page.getByRole("button", { name: "Pin it" }).click();
    await message.getByText("pinned").waitFor();

    await act("Export…");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save the file" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/\.jsonl$/);

    await act("Forget…");
    await page.getByRole("button", { name: "Show what would go" }).click();
    await page.getByText("1 message with").waitFor();
    expect(await page.getByRole("button", { name: "Forget it" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    expect(store.resume("acted-on").info().messageCount).toBe(1);
    await act("Forget…");
    await page.getByRole("button", { name: "Show what would go" }).click();
    await page.locator("dialog input").click();
    await page.keyboard.type((await page.locator("dialog .field code").textContent())!);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    expect(sessionIds(store, { prefix: "acted-on" })).toEqual([]);
  });

  test("every state that the hand has led to is where its address leads", async () => {
    expect(states.size).toBeGreaterThan(10);
    const other = await view.another({ viewport: { width: 1280, height: 800 } });
    for (const [address, title] of states) {
      await other.goto(address);
      await expect.poll(() => other.locator("main h1").first().textContent(), { message: address }).toBe(title);
    }
    await other.context().close();
    expect(view.faults).toEqual([]);
  });
});
