import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { longMessages } from "../support/long-messages.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { hasChromium, type OpenView, openView } from "../support/view-page.ts";

// COPPICE_VIEW_MESSAGES=100000 runs this on the full length, which takes a minute to write.
const MESSAGES = Number(process.env.COPPICE_VIEW_MESSAGES ?? 3_000);

const folder = scratchFolder();
const file = join(folder, "long.db");

describe.skipIf(!hasChromium)(`a session of ${MESSAGES} messages`, () => {
  let view: OpenView;

  beforeAll(async () => {
    const store = openStore(file);
    const session = store.session("long", { title: "A long one" });
    for (let from = 0; from < MESSAGES; from += 1_000) {
      session.append(longMessages(from, 1_000));
    }
    store.close();
    view = await openView(file);
  }, 600_000);
  afterAll(() => view?.close());

  test("is drawn by the window, wherever it is", async () => {
    const { page, go } = view;
    await go("view=session&session=long");
    await page.locator("[data-index]").first().waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollHeight)).toBeGreaterThan(MESSAGES * 50);
    for (const share of [0.5, 0.97, 0.2]) {
      await page.evaluate((part) => scrollTo(0, document.documentElement.scrollHeight * part), share);
      // The scroll is drawn a frame later, and messages that are still being read have no number.
      const drawn = () =>
        page
          .locator(".message")
          .evaluateAll((all) => all.map((one) => Number(/\d+$/.exec(one.getAttribute("aria-label") ?? "")?.[0])));
      const distance = async () => {
        const seqs = await drawn();
        return seqs.length === 0 || seqs.some(Number.isNaN) ? 1 : Math.abs(seqs[0]! / MESSAGES - share);
      };
      await expect.poll(distance).toBeLessThan(0.15);
      const seqs = await drawn();
      expect(seqs).toEqual(seqs.map((_, index) => seqs[0]! + index));
      expect(seqs.length).toBeLessThan(120);
    }
  });

  test("follows a jump that comes in the moment when messages arrive", async () => {
    const { page, go } = view;
    await go("view=session&session=long");
    await page.locator("[data-index]").first().waitFor();
    await page.evaluate(() => {
      const answers: (() => void)[] = [];
      const read = Response.prototype.json;
      Response.prototype.json = async function () {
        const answer = await read.call(this);
        await new Promise<void>((resolve) => answers.push(resolve));
        return answer;
      };
      Object.assign(globalThis, { answers });
      scrollTo(0, document.documentElement.scrollHeight * 0.5);
    });
    const held = () => page.evaluate(() => (globalThis as unknown as { answers: unknown[] }).answers.length);
    await expect.poll(held).toBeGreaterThan(0);
    // The answers are drawn at once, and the event of the jump comes a frame later.
    const aim = await page.evaluate(() => {
      scrollTo(0, document.documentElement.scrollHeight * 0.9);
      for (const answer of (globalThis as unknown as { answers: (() => void)[] }).answers) answer();
      return scrollY;
    });
    await page.waitForTimeout(200);
    expect(Math.abs((await page.evaluate(() => scrollY)) / aim - 1)).toBeLessThan(0.02);
  });

  test("keeps its place while heights become known", async () => {
    const { page, go } = view;
    const seq = Math.floor(MESSAGES * 0.7);
    await go(`view=session&session=long&seq=${seq}`);
    const marked = page.locator(".message.is-marked");
    await marked.waitFor();
    await page.waitForTimeout(300);
    const top = (await marked.boundingBox())!.y;
    expect(top).toBeGreaterThan(80);
    expect(top).toBeLessThan(200);
    // Upwards, over rows whose heights were guesses: each step moves by what was asked.
    for (let step = 0; step < 12; step++) {
      const before = (await page.locator(".place input").inputValue()) ?? "";
      await page.mouse.wheel(0, -400);
      await page.waitForTimeout(50);
      const after = await page.locator(".place input").inputValue();
      expect(Number(after)).toBeLessThanOrEqual(Number(before));
      expect(Number(before) - Number(after)).toBeLessThan(14);
    }
  });

  test("scrolls without stalls and in little memory", async () => {
    const { page, go } = view;
    await go("view=session&session=long");
    await page.locator("[data-index]").first().waitFor();
    await page.waitForTimeout(500);
    const frames = await page.evaluate(async () => {
      const gaps: number[] = [];
      let last = performance.now();
      for (let frame = 0; frame < 200; frame++) {
        scrollBy(0, 300);
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        gaps.push(now - last);
        last = now;
      }
      return gaps.sort((left, right) => left - right);
    });
    // A loaded machine draws fewer frames; a list that draws everything takes seconds for each.
    expect(frames[100]!).toBeLessThan(120);
    const client = await page.context().newCDPSession(page);
    await client.send("HeapProfiler.collectGarbage");
    const { usedSize } = (await client.send("Runtime.getHeapUsage")) as { usedSize: number };
    expect(usedSize).toBeLessThan(60e6);
  });

  test("is shown in chapters when it is longer than a browser can draw", async () => {
    const { page, go } = view;
    const COUNT = 250_000;
    const answerOf = (route: string) =>
      page.evaluate(async (url) => {
        const headers = { "coppice-key": localStorage.getItem("coppice-key")! };
        return (await fetch(url, { headers })).json();
      }, route);
    const { session } = await answerOf("/api/session?session=long");
    const { messages } = await answerOf("/api/messages?session=long&limit=1");
    const json = (answer: object) => ({ json: answer });
    await page.route(/\/api\/session\?/, (route) =>
      route.fulfill(
        json({
          session: { ...session, messageCount: COUNT },
          seqEnd: COUNT,
          evictedSeq: 0,
          graduatedSeq: 0,
          supersededAtMs: null,
          parent: null,
          children: [],
          settings: {},
          resume: "",
          sql: "",
        }),
      ),
    );
    const asked = (url: string, name: string): number => Number(new URL(url).searchParams.get(name) ?? 0);
    await page.route(/\/api\/outline\?/, (route) => {
      const [from, limit] = [asked(route.request().url(), "seqFrom"), asked(route.request().url(), "limit")];
      const seqs = Array.from({ length: Math.min(limit, COUNT - from) }, (_, index) => from + index);
      const same = (value: number) => seqs.map(() => value);
      const turnSeqs = seqs.map((seq) => seq - (seq % 5));
      const next = from + limit < COUNT ? from + limit : null;
      const roles = "u".repeat(seqs.length);
      return route.fulfill(
        json({ seqs, roles, tokenCounts: same(9), turnSeqs, createdAtMs: same(1), pinned: [], next }),
      );
    });
    await page.route(/\/api\/messages\?/, (route) => {
      const [from, limit] = [asked(route.request().url(), "seqFrom"), asked(route.request().url(), "limit") || 50];
      const seqs = Array.from({ length: Math.min(limit, COUNT - from) }, (_, index) => from + index);
      return route.fulfill(json({ messages: seqs.map((seq) => ({ ...messages[0], id: seq + 1, seq })), next: null }));
    });
    try {
      await go("view=session&session=long");
      const at = (seq: number) => page.locator(`.message[aria-label$="message ${seq}"]`);
      await page.locator("[data-index]").first().waitFor();
      await page.getByRole("button", { name: "Newest" }).click();
      await at(COUNT - 1).waitFor();
      await page.getByRole("spinbutton").fill("200000");
      await page.keyboard.press("Enter");
      await at(200_000).waitFor();
      await page.getByRole("button", { name: "Earlier messages" }).click();
      await at(199_999).waitFor();
      await page.getByRole("button", { name: "Later messages" }).click();
      await at(200_000).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(17e6);
      await page.getByRole("button", { name: "First" }).click();
      await at(0).waitFor();
    } finally {
      await page.unrouteAll();
    }
    expect(view.faults).toEqual([]);
  });

  test("moves through its log without stalls", async () => {
    const { page, go } = view;
    await go("view=forest&session=long");
    const slider = page.getByLabel("Place in the log");
    await slider.waitFor();
    const [max, times] = await slider.evaluate(async (element) => {
      const input = element as HTMLInputElement;
      const last = Number(input.max);
      const found: number[] = [];
      for (let move = 0; move < 40; move++) {
        const startedAt = performance.now();
        input.value = String(Math.floor(1 + (last - 1) * Math.abs(Math.sin(move * 1.7))));
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        found.push(performance.now() - startedAt);
      }
      return [last, found.sort((left, right) => left - right)] as const;
    });
    expect(max).toBeGreaterThan(MESSAGES / 4);
    expect(times[20]!).toBeLessThan(250);
    expect(view.faults).toEqual([]);
  });
});
