import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { demoStore, hasChromium, type OpenView, openView } from "../support/view-page.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const PRUNE = "session=b39cfd4b-8abe-4d78-8520-10116895cea8";

/** Each view, and what tells that it is there. */
const VIEWS: [name: string, query: string, ready: string][] = [
  ["sessions", "", ".row"],
  ["search", "view=search&q=lock&explain=1", ".parts"],
  ["a session", `view=session&${PRUNE}&seq=58`, ".diff"],
  ["a fork", "view=session&session=fork&seq=152", ".fork-mark"],
  ["a session that was forked", `view=session&${PRUNE}&seq=152`, "details.child"],
  ["the forest of a fork", "view=forest&session=fork", ".log .tree-row"],
  ["an earlier moment", `view=context&${PRUNE}&tokens=6000&compare=1&moment2=160`, ".changes"],
  ["a context", `view=context&${PRUNE}&compare=1&tokens2=3000&query=lock`, ".stretch"],
  ["a forest", `view=forest&${PRUNE}`, ".log .tree-row"],
  ["subjects", "view=subjects", ".row"],
  ["work", "view=work", ".counts"],
  ["health", "view=health", ".tiles"],
];
const WIDTHS = [360, 768, 1280, 2560];

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

const folder = scratchFolder();
const file = join(folder, "demo.db");

describe.skipIf(!hasChromium)("for everyone", () => {
  let view: OpenView;

  beforeAll(async () => {
    await demoStore(file);
    const store = openStore(file);
    const fork = store.resume(PRUNE.split("=")[1]!).fork({ id: "fork", toSeq: 152 });
    fork.append({ role: "user", content: "Let us try it in another way." });
    store.close();
    view = await openView(file, { write: true });
  }, 120_000);
  afterAll(() => view?.close());

  describe.each(["light", "dark"] as const)("in %s", (colorScheme) => {
    let page: Page;
    beforeAll(async () => {
      // The policy of the page forbids what axe is; its rules are of no interest here.
      page = await view.another({ colorScheme, bypassCSP: true, viewport: { width: 1280, height: 900 } });
    });
    afterAll(() => page?.context().close());

    test.each(VIEWS)("%s has no violation that axe-core finds", async (_name, query, ready) => {
      await page.goto(`${view.origin}/?${query}`);
      await page.locator(ready).first().waitFor();
      await page.waitForTimeout(150);
      await page.addScriptTag({ path: AXE });
      const { violations } = await page.evaluate(() =>
        (window as unknown as { axe: { run: () => Promise<AxeResult> } }).axe.run(),
      );
      const found = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.length} × ${nodes[0]!.html.slice(0, 200)} ${nodes[0]!.failureSummary}`,
      );
      expect(found).toEqual([]);
    });
  });

  test("no view is wider than its window, from 360 to 2,560 pixels", async () => {
    const { page, origin } = view;
    const wide: string[] = [];
    for (const [name, query, ready] of VIEWS) {
      await page.setViewportSize({ width: WIDTHS[0]!, height: 800 });
      await page.goto(`${origin}/?${query}`);
      await page.locator(ready).first().waitFor();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        const size = await page.evaluate(async () => {
          await new Promise(requestAnimationFrame);
          return document.documentElement.scrollWidth;
        });
        if (size > width) wide.push(`${name} at ${width}: ${size}`);
      }
    }
    expect(wide).toEqual([]);
  });
});
