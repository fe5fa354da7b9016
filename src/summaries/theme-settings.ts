import { SESSION_OPTIONS, type SessionSettings } from "../core/options.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { Repositories } from "../store/repositories.ts";

/** What the summaries of all themes may take of the tokens that the pinned messages leave: their block gets 0.4 there, with the
 *  tags around them. */
const THEMES_SHARE = 0.3;

/** Of `resolveTokensMin`, where a call costs nothing. */
const LOCAL_SHARE = 1 / 3;

/** For what context themes are summarized, and by whom. */
export interface ThemeSettingsOptions {
  settings: SessionSettings;
  /** Budget of the context. */
  tokensMax: number;
  summarizer: Pick<Summarizer, "isLocal">;
}

/**
 * The settings as they are for themes: with a `summaryTokensMax` of which `maxThemes` summaries have room in a context, since
 * longer ones would be paid for, sent again with every version, and half of them not shown; and with a lower `resolveTokensMin`
 * where summaries cost nothing.
 */
export function themeSettings(
  { messages }: { messages: Pick<Repositories["messages"], "pinnedTokensOf"> },
  sessionId: string,
  { settings, tokensMax, summarizer }: ThemeSettingsOptions,
): SessionSettings {
  const { maxThemes, resolveTokensMin } = settings;
  const free = tokensMax - messages.pinnedTokensOf(sessionId);
  const room = Math.max(SESSION_OPTIONS.summaryTokensMax.min, Math.floor((THEMES_SHARE * free) / maxThemes));
  return {
    ...settings,
    summaryTokensMax: Math.min(settings.summaryTokensMax, room),
    resolveTokensMin: summarizer.isLocal ? Math.ceil(LOCAL_SHARE * resolveTokensMin) : resolveTokensMin,
  };
}
