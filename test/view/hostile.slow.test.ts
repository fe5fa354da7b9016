import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue, MessageInput } from "../../src/index.ts";
import { openStore } from "../../src/index.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { hasChromium, type OpenView, openView } from "../support/view-page.ts";

// Transcripts hold what strangers wrote. Nothing in them runs, loads, leads elsewhere or changes how the rest is shown.
const SCRIPT = "<script>window.hacked = 1</script>";
const TEXTS = [
  SCRIPT,
  `<img src=x onerror="window.hacked = 2">`,
  `<svg onload="window.hacked = 3"><a xlink:href="javascript:window.hacked = 4"><text>x</text></a></svg>`,
  "[click](javascript:window.hacked=5) and [data](data:text/html,<script>window.hacked=6</script>) and [ok](https://example.com/a)",
  "![picture](https://evil.example/pixel.png) ![picture](/api/about)",
  "<iframe src=/api/about></iframe><base href=https://evil.example/><meta http-equiv=refresh content='0;url=https://evil.example'>",
  `<style>body { display: none }</style><link rel=stylesheet href=https://evil.example/a.css>`,
  `<form action=/api/forget method=post><button id=innocent>Sessions</button></form><div id=app>mine</div><h1>Not the title</h1>`,
  "<a href=x onclick=alert(1)>\n\n<details open ontoggle=window.hacked=7>\n\n```html\n<script>window.hacked=8</script>\n```",
  "| a | b |\n|---|---|\n| <img src=x onerror=window.hacked=9> | `<script>` |",
  "\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u001b[2J\u0000\u0008\u009b1m end",
  "safe \u202etxt.exe\u202c and \u2066isolated\u2069 and \u200f rtl",
  "{{constructor.constructor('window.hacked=10')()}} __proto__",
  `${">".repeat(4_900)}deep`,
  `${"- ".repeat(2_400)}deep`,
  `${"*".repeat(5_000)}${"[".repeat(5_000)}${"> ".repeat(2_000)}deep`,
];
/** Short texts that are many elements, and long ones that are few. */
const HEAVY = [
  "- item\n".repeat(400),
  "- a\n".repeat(4_900),
  "- item\n".repeat(100_000),
  "- a\n  - b\n    - c\n".repeat(900),
  `${"|a".repeat(1_500)}|\n${"|-".repeat(1_500)}|\n${`${"|".repeat(1_500)}|\n`.repeat(10)}`,
  `|a|b|\n|-|-|\n${"|a|b|\n".repeat(3_000)}`,
  "**a** *b* `c`\n".repeat(1_300),
  "> a\n\n".repeat(4_000),
  "# a\n".repeat(4_900),
  `\`\`\`diff\n${"+a\n-b\n".repeat(3_000)}\`\`\``,
  "[a](b\n".repeat(3_000),
  "`a``b```c\n".repeat(1_900),
  "<!-- a\n".repeat(2_800),
  "a\u0301\u0302\u0303".repeat(4_900),
];
/** Messages that no one reads to the end, each in a session of its own. */
const ENDLESS: Record<string, MessageInput[]> = {
  "a line of 5 MB": [{ role: "assistant", content: "word ".repeat(1_000_000) }],
  "100,000 items": [{ role: "assistant", content: "- item\n".repeat(100_000) }],
  "a table of 100,000 rows": [{ role: "assistant", content: `|a|b|\n|-|-|\n${"|a|b|\n".repeat(100_000)}` }],
  "a million lines": [{ role: "assistant", content: "a\n".repeat(1_000_000) }],
  "colors without end": [{ role: "assistant", content: "\u001b[31mx\u001b[0m".repeat(200_000) }],
  "controls without end": [{ role: "assistant", content: "\u001b]0;t\u0007\u001b[2J".repeat(100_000) }],
  "quotes in quotes": [{ role: "assistant", content: `${">".repeat(19_000)}deep` }],
  "lists in lists": [
    { role: "assistant", content: Array.from({ length: 700 }, (_, line) => `${"  ".repeat(line % 39)}- a`).join("\n") },
  ],
  "a long result of an edit of it": [
    call("Edit", { old_string: "a\n".repeat(200_000), new_string: `b\n${"a\n".repeat(200_000)}` }),
    {
      role: "tool",
      parts: [{ type: "tool_result", toolCallId: "c", content: `@@ -1 +1 @@\n${"+a\n-b\n".repeat(200_000)}` }],
    },
  ],
  "10,000 parts": [
    { role: "user", parts: Array.from({ length: 10_000 }, (_, part) => ({ type: "text", text: `Part ${part}` })) },
  ],
  "5,000 calls": [
    {
      role: "assistant",
      parts: Array.from({ length: 5_000 }, (_, index) => ({
        type: "tool_call",
        toolCallId: `c${index}`,
        name: "read",
        args: { index },
      })),
    },
  ],
  "2,000 edits": [
    call("MultiEdit", { edits: Array.from({ length: 2_000 }, () => ({ old_string: "a", new_string: "b" })) }),
  ],
  "1,500 arguments": [call("set", Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`k${index}`, "v"])))],
  "5,000 contents of a result": [
    call("read", {}),
    {
      role: "tool",
      parts: [
        {
          type: "tool_result",
          toolCallId: "c",
          content: Array.from({ length: 5_000 }, () => ({ type: "text" as const, text: "a\nb" })),
        },
      ],
    },
  ],
};

function call(name: string, args: JsonValue): MessageInput {
  return { role: "assistant", parts: [{ type: "tool_call", toolCallId: "c", name, args }] };
}

const LONG_LINE = `start ${"x".repeat(5_000_000)} the end of it`;

const folder = scratchFolder();
const file = join(folder, "hostile.db");

describe.skipIf(!hasChromium)("a hostile transcript", () => {
  let view: OpenView;

  beforeAll(async () => {
    const store = openStore(file);
    const heavy = store.session("heavy");
    for (const text of HEAVY) heavy.append({ role: "assistant", content: text });
    for (const [name, messages] of Object.entries(ENDLESS)) {
      const endless = store.session(name);
      for (const message of messages) endless.append(message);
    }
    const session = store.session(`evil"><script>window.hacked=20</script>`, {
      title: SCRIPT,
      project: `p"><img src=x onerror=window.hacked=21>`,
    });
    for (const [index, text] of TEXTS.entries()) {
      session.append({ role: "user", content: text, name: SCRIPT });
      const toolCallId = `c${index}`;
      session.append({
        role: "assistant",
        parts: [
          { type: "reasoning", text },
          {
            type: "tool_call",
            toolCallId,
            name: SCRIPT,
            args: { command: text, [text.slice(0, 200)]: [text], old_string: text, new_string: `${text}!` },
          },
        ],
      });
      session.append({
        role: "tool",
        parts: [{ type: "tool_result", toolCallId, name: text.slice(0, 100), content: text, isError: index % 2 === 0 }],
      });
    }
    session.append({
      role: "user",
      parts: [
        {
          type: "file",
          mediaType: "image/svg+xml",
          name: SCRIPT,
          data: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=22"/>`).toString("base64"),
        },
        { type: "file", mediaType: "text/html", name: "a.html", data: Buffer.from(SCRIPT).toString("base64") },
        { type: "file", mediaType: "image/png", url: "https://evil.example/pixel.png" },
        { type: "data", data: { __html: SCRIPT } },
      ],
    });
    session.append({ role: "user", content: LONG_LINE });
    session.append({ role: "assistant", content: "Still here." });
    store.close();
    view = await openView(file, { write: true });
  }, 120_000);
  afterAll(() => view?.close());

  const harm = (): Promise<unknown> =>
    view.page.evaluate(() => {
      const of = (selector: string): number => document.querySelectorAll(selector).length;
      return {
        hacked: (window as { hacked?: number }).hacked ?? null,
        title: document.title,
        place: location.pathname,
        foreign: of(
          "main script, main style, main iframe, main link, main meta, main base, main object, main embed, main svg, main [onclick], main [onerror], main [onload]",
        ),
        pictures: of('main img:not([src^="blob:"])'),
        links: [...document.querySelectorAll<HTMLAnchorElement>("main a[href]")].filter(
          ({ protocol }) => !/^(https?|mailto):$/.test(protocol),
        ).length,
        isVisible: getComputedStyle(document.body).display !== "none",
        apps: of("#app"),
      };
    });
  const NONE = {
    hacked: null,
    title: "Coppice",
    place: "/",
    foreign: 0,
    pictures: 0,
    links: 0,
    isVisible: true,
    apps: 1,
  };

  test("changes nothing in any view", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().waitFor();
    expect(await harm()).toEqual(NONE);
    await page.locator(".row").first().click();
    await page.locator(".message:not(.is-waiting)").first().waitFor();
    const { search } = new URL(page.url());
    // Everything unfolded, from the first message to the last.
    for (let step = 0; step < 14; step++) {
      await page.evaluate(() => {
        for (const details of document.querySelectorAll<HTMLDetailsElement>(".message details")) details.open = true;
      });
      expect(await harm()).toEqual(NONE);
      await page.mouse.wheel(0, 1_500);
      await page.waitForTimeout(60);
    }
    for (const other of ["context", "forest"]) {
      await go(search.slice(1).replace("view=session", `view=${other}`));
      await page.locator(".measure, .icicle, .empty").first().waitFor();
      expect(await harm()).toEqual(NONE);
    }
    await go("view=search&q=script%20window%20hacked&explain=1");
    await page.locator(".hit").first().waitFor();
    expect(await harm()).toEqual(NONE);
    expect(view.faults).toEqual([]);
  });

  test("is shown as it was written, with its controls in sight", async () => {
    const { page, go } = view;
    await go("");
    await page.locator(".row").first().click();
    await page.locator(".message:not(.is-waiting)").first().waitFor();
    expect(await page.locator("h1").textContent()).toBe(SCRIPT);
    await expect.poll(() => page.locator(".message").first().textContent()).toContain(SCRIPT);
    const jump = async (seq: number): Promise<string> => {
      await page.getByRole("spinbutton").fill(String(seq));
      await page.keyboard.press("Enter");
      const message = page.locator(`.message[aria-label$="message ${seq}"]`);
      await message.waitFor();
      return (await message.textContent())!;
    };
    const ansi = await jump(3 * TEXTS.findIndex((text) => text.startsWith("\u001b")));
    expect(ansi).toContain("red ␛]0;title␇ ␛[2J");
    const bidi = await jump(3 * TEXTS.findIndex((text) => text.startsWith("safe")));
    expect(bidi).toContain("safe ⟨U+202E⟩txt.exe⟨U+202C⟩");
    const links = await jump(9);
    expect(links).toContain("click");
    expect(await page.locator('.message[aria-label$="message 9"] .prose a').count()).toBe(1);
  });

  test("has a line of 5 MB, which is read piece by piece", async () => {
    const { page } = view;
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText("Still here.").waitFor();
    const long = page.locator(".message", { hasText: "start xxx" });
    const startedAt = performance.now();
    await long.getByRole("button", { name: /Show all 5,000,/ }).click();
    await long.getByRole("button", { name: /Show more/ }).waitFor();
    await long.getByRole("button", { name: /Show more/ }).click();
    await page.getByRole("button", { name: "First" }).click();
    await page.locator('.message[aria-label="user, message 0"]').waitFor();
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect(view.faults).toEqual([]);
  });

  test("draws few elements, whatever a message asks for", async () => {
    const { page, go } = view;
    await go("view=session&session=heavy");
    const size = { drawn: 0, most: 0 };
    for (let step = 0; step < 8; step++) {
      await page.locator(".message:not(.is-waiting)").first().waitFor();
      const counts = await page
        .locator(".message")
        .evaluateAll((messages) => messages.map((message) => message.querySelectorAll("*").length));
      size.drawn = Math.max(size.drawn, counts.length);
      size.most = Math.max(size.most, ...counts);
      await page.mouse.wheel(0, 3_000);
      await page.waitForTimeout(100);
    }
    expect(size.drawn).toBeGreaterThan(1);
    // The list of 400 items is drawn as a list, and the longer ones as they were written.
    expect(size.most).toBeGreaterThan(400);
    expect(size.most).toBeLessThan(4_000);
    expect(view.faults).toEqual([]);
  });

  test.each(Object.keys(ENDLESS))("leaves the page free: %s", async (name) => {
    const { page, go } = view;
    await go("view=health");
    const client = await page.context().newCDPSession(page);
    // Its own processor time, which does not grow when the machine is busy.
    await client.send("Performance.enable", { timeDomain: "threadTicks" });
    const busySeconds = async (): Promise<number> => {
      const { metrics } = await client.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration")!.value;
    };
    const before = await busySeconds();
    await page.getByRole("link", { name: "Coppice, all sessions" }).click();
    await page.getByLabel("Title, first words or id").fill(name);
    await page.locator(".row").first().click();
    await page.locator(".message:not(.is-waiting)").first().waitFor();
    await page.evaluate(() => {
      for (const details of document.querySelectorAll<HTMLDetailsElement>(".message details")) details.open = true;
    });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    expect(await page.locator(".message *").count()).toBeLessThan(8_000);
    expect((await busySeconds()) - before).toBeLessThan(1);
    // The rest is there on demand.
    const more = page.getByRole("button", { name: /^Show (more|all)/ }).first();
    if ((await more.count()) > 0) await more.click();
    expect(view.faults).toEqual([]);
  });
});
