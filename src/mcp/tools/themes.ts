import * as z from "zod/mini";
import { element, escapeText, visibleText } from "../../core/markup.ts";
import { minuteOf } from "../../core/times.ts";
import type { RECALL_INPUT } from "../../session/aids/inputs.ts";
import type { NearTheme } from "../../session/aids/near-themes.ts";
import { nothingFound } from "../../session/aids/recall-notes.ts";
import { type PageItem, pageOf, RECORD_NOTE } from "../../session/aids/result-pages.ts";
import { pageFacts, restOfList, type ToolCall } from "../tool.ts";
import { inProject, missingProject } from "./missing-project.ts";

export const THEME = z.object({
  theme: z.string().check(z.describe("Its handle, for expand")),
  label: z.string(),
  sessionId: z.string(),
  title: z.nullable(z.string()),
  messageCount: z.int(),
  time: z.string(),
});

/** Answers `recall` with `by: "theme"`. @throws {StoreError} `OPTION_INVALID` if the call is narrowed to some messages. */
export async function themesInStore(
  { query, limit, offset = 0, project, ...others }: Omit<z.infer<typeof RECALL_INPUT>, "by">,
  call: ToolCall,
) {
  // The server answers a client before the store is loaded.
  const { assertAllMessages, THEMES_LIMIT_DEFAULT, themesAbout } = await import("../../session/aids/near-themes.ts");
  assertAllMessages(Object.keys(others));
  const { themes, missing } = await call.live.read(async (store) => {
    const scope = inProject(store, call, project);
    const wanted = { ...scope, limit: offset + (limit ?? THEMES_LIMIT_DEFAULT) + 1, signal: call.signal };
    return { themes: await themesAbout(store, query, wanted), missing: missingProject(store, call, project) };
  });
  const shown = themes.slice(offset, offset + (limit ?? THEMES_LIMIT_DEFAULT));
  const rest = restOfList("recall", offset + shown.length, themes.length, { isCounted: false });
  const page = pageOf(shown, themeItem, rest, call.budget, (lines) =>
    element("themes", {}, `${RECORD_NOTE}\n${lines}\n`),
  );
  const facts = pageFacts(page.left, themes.length);
  const value = { ...facts, hits: [], themes: page.items };
  if (shown.length > 0) return { value, text: page.text };
  return { value, text: offset > 0 ? "No more themes are near." : (missing ?? nothingFound(query)) };
}

function themeItem({
  theme,
  label,
  sessionId,
  title,
  project,
  author,
  messageCount,
  atMs,
}: NearTheme): PageItem<z.infer<typeof THEME>> {
  const time = minuteOf(atMs);
  const about = { handle: theme, session: sessionId, title: title ?? undefined, project: project ?? undefined };
  const facts = { by: author ?? undefined, messages: messageCount, time };
  return {
    line: element("theme", { ...about, ...facts }, escapeText(label)),
    value: { theme, label: visibleText(label), sessionId, title: title && visibleText(title), messageCount, time },
  };
}
