import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutToWidth, displayWidth, padToWidth } from "../../../src/cli/screen/display-width.ts";

describe("displayWidth", () => {
  test.each([
    ["", 0],
    ["pier", 4],
    ["Čabar", 5],
    ["灯台", 4],
    ["ひかり", 6],
    ["ﾋｶﾘ", 3], // half-width kana
    ["등대", 4],
    ["！", 2], // full-width
    ["💡", 2],
    ["👩‍👩‍👧", 2], // one picture of five code points
    ["❤️", 2], // a picture by its variation selector
    ["❤", 1],
    ["e\u0301", 1],
    ["│ ● …", 5],
    ["a\u200bb", 2], // zero width space
  ])("of %j is %i", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe("cutToWidth", () => {
  test("leaves a text that fits unchanged", () => {
    expect(cutToWidth("harbor", 6)).toBe("harbor");
    expect(cutToWidth("灯台", 4)).toBe("灯台");
  });

  test("puts an ellipsis in place of the cut part, at either end", () => {
    expect(cutToWidth("lighthouse", 6)).toBe("light…");
    expect(cutToWidth("lighthouse", 6, "start")).toBe("…house");
    expect(cutToWidth("lighthouse", 1)).toBe("…");
  });

  test("shortens the folders of long paths before it cuts the end", () => {
    expect(cutToWidth("edit /home/ana/work/shop/src/store/lease.ts: renew it", 38)).toBe(
      "edit …/store/lease.ts: renew it",
    );
    expect(cutToWidth("edit /home/ana/work/shop/src/store/lease.ts: renew it", 20)).toBe("edit …/store/lease.…");
    expect(cutToWidth("see https://example.org/a/b/c/d.html", 20)).toBe("see https://example…");
  });

  test("does not cut a wide character in two", () => {
    expect(cutToWidth("灯台灯台", 6)).toBe("灯台…");
    expect(cutToWidth("灯台灯台", 5)).toBe("灯台…");
    expect(cutToWidth("灯台灯台", 4)).toBe("灯…");
  });

  /**
   * Goal: a cell never takes more columns than it has, and shows the beginning or the end of its text.
   * Method: random graphemes, wide ones among them, cut to every width.
   */
  test("never exceeds the width, and keeps one end of the text", () => {
    let cutCount = 0;
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 30 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom("end", "start"),
        (text, width, end) => {
          const cut = cutToWidth(text, width, end as "end" | "start");
          expect(displayWidth(cut)).toBeLessThanOrEqual(width);
          if (cut === text) return;
          cutCount += 1;
          if (end === "end") expect(text.startsWith(cut.slice(0, -1))).toBe(true);
          else expect(text.endsWith(cut.slice(1))).toBe(true);
        },
      ),
    );
    expect(cutCount).toBeGreaterThan(10);
  });
});

describe("padToWidth", () => {
  test("counts columns, not characters", () => {
    expect(padToWidth("灯", 4, "left")).toBe("灯  ");
    expect(padToWidth("7", 3, "right")).toBe("  7");
    expect(padToWidth("harbor", 3, "left")).toBe("harbor");
  });
});
