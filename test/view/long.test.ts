import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { scratchFolder } from "../support/packed.ts";
import { hasChromium, libraryOf, type OpenView, openView } from "../support/view-page.ts";

// COPPICE_VIEW_MESSAGES=100000 runs this on the full length, which takes a minute to write.
const MESSAGES = Number(process.env.COPPICE_VIEW_MESSAGES ?? 6_000);
const TURN = 5;
const THEMES = ["lock lease bucket", "parser token grammar", "invoice ledger price", "index vector recall"];

const folder = scratchFolder();
const file = join(folder, "long.db");

describe.skipIf(!hasChromium)(`a session of ${MESSAGES} messages`, () => {
  let view: OpenView;

  beforeAll(async () => {
    const { openStore } = await libraryOf(inject("packageFolder"));
    const store = openStore(file);
    const session = store.session("long", { title: "A long one" });
    for (let from = 0; from < MESSAGES; from += 1_000) {
      const turns = Array.from({ length: 1_000 / TURN }, (_, turn) => {
        const at = from + turn * TURN;
        const words = THEMES[Math.floor(at / 60) % THEMES.length]!;
        const calls = [1, 3].flatMap((step) => [
          {
            role: "assistant" as const,
            parts: [
              { type: "text" as const, text: `Step ${at + step} about ${words}.\n\n- **${words}**` },
              { type: "tool_call" as const, toolCallId: `c${at + step}`, name: "read", args: { path: `${words}.ts` } },
            ],
          },
          {
            role: "tool" as const,
            parts: [
              { type: "tool_result" as const, toolCallId: `c${at + step}`, content: `${words} `.repeat((at % 30) + 1) },
            ],
          },
        ]);
        return [{ role: "user" as const, content: `Question ${at}: what of ${words}?` }, ...calls];
      });
      session.appendAll(turns.flat());
    }
    store.close();
    view = await openView(inject("packageFolder"), file);
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
