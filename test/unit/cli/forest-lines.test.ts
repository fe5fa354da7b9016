import { describe, expect, test } from "vitest";
import { type ForestView, forestLines } from "../../../src/cli/commands/forest.ts";
import { plainTerminal } from "../../support/fake-terminal.ts";

const EXTENT = { sessionId: "s", tokenCount: 900, seqFirst: 0, seqLast: 9 };
const SUMMARY = {
  ...{ root: "theme:1@4", title: "", text: "", messageCount: 10, tokenCount: 9, summarizerId: "x", shown: true },
};

type Theme = ForestView["themes"][number];

function cluster(root: string, label: string, settled = true): Theme["clusters"][number] {
  return { ...EXTENT, root, level: "cluster", label, messageCount: 5, stepCount: 3, settled };
}

type Content = Pick<Theme, "messageCount" | "clusters"> & { uncoveredCount: number };

function theme(root: string, label: string, more: Content): Theme {
  const summaries = more.uncoveredCount < more.messageCount ? [SUMMARY] : [];
  return { ...EXTENT, root, level: "theme", label, summaries, ...more };
}

const VIEW: ForestView = {
  session: {
    ...{ id: "harbor-1", project: "lights", title: "The north light", name: "The north light" },
    ...{ messageCount: 1_034, tokenCount: 8_100 },
  } as ForestView["session"],
  themes: [
    theme("theme:1@4", "Lamp\nand lens", {
      ...{ messageCount: 10, uncoveredCount: 0 },
      clusters: [cluster("cluster:1@2", "lamp"), cluster("cluster:3@4", "lens", false)],
    }),
    theme("theme:9@9", "oven", { messageCount: 1_000, uncoveredCount: 4, clusters: [cluster("cluster:9@9", "")] }),
    theme("theme:11@12", "灯台", { messageCount: 5, uncoveredCount: 5, clusters: [cluster("cluster:11@12", "灯台")] }),
  ],
  hot: { messageCount: 18, tokenCount: 400, seqFirst: 1_016, seqLast: 1_033 },
  pinnedCount: 1,
};

describe("forestLines", () => {
  test("draws the tree, with the state of each theme", () => {
    expect([...forestLines(VIEW, [], plainTerminal())]).toEqual([
      "The north light",
      "harbor-1 · lights · 1,034 messages · 8,100 tokens · 1 pinned",
      "                    handle       messages  tokens  from–to",
      "├─ ● Lamp↵and lens  theme:1@4          10     900  #0–9        summarized",
      "│  ├─ lamp          cluster:1@2         5     900  #0–9",
      "│  └─ lens          cluster:3@4         5     900  #0–9        open",
      "├─ ◐ oven           theme:9@9       1,000     900  #0–9        996 of 1,000 summarized",
      "├─ ○ 灯台           theme:11@12         5     900  #0–9",
      "└─ ◆ hot window                        18     400  #1016–1033  word for word",
    ]);
  });

  test("begins with a block for each stretch, in the color of most of it, if there are colors", () => {
    const terminal = plainTerminal();
    expect([...forestLines(VIEW, [], terminal)].join("")).not.toContain("█");
    terminal.colors = "always";
    const themes = [1, 1, 9, 1, 9, 9, 11, null];
    const places = themes.map((theme, seq) => ({ seq, theme }));
    const [, , strip] = [...forestLines(VIEW, places, terminal)];
    expect(strip).toBe(
      themes
        .map((theme) => {
          if (theme === null) return terminal.style("dim", "░");
          return terminal.style(theme === 1 ? "green" : theme === 9 ? "yellow" : "blue", "█");
        })
        .join(""),
    );
  });

  test("ends with the last theme if nothing is hot", () => {
    const lines = [...forestLines({ ...VIEW, hot: null }, [], plainTerminal())];
    expect(lines.at(-1)).toBe("└─ ○ 灯台           theme:11@12         5     900  #0–9");
  });

  test("draws no tree for a session without messages", () => {
    const empty = { ...VIEW, themes: [], hot: null, pinnedCount: 0 };
    expect([...forestLines(empty, [], plainTerminal())]).toHaveLength(2);
  });
});
