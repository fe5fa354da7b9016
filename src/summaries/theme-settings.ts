import { SESSION_OPTIONS, type SessionSettings } from "../core/options.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { Repositories } from "../store/repositories.ts";

/** The share of the tokens beside the pinned messages that all theme summaries may take. Their block, with its tags, gets 0.4. */
const THEMES_SHARE = 0.3;

/** The share of `resolveTokensMin` that is enough if a call costs nothing. */
const LOCAL_SHARE = 1 / 3;

/** The context that themes are summarized for, and the summarizer. */
export interface ThemeSettingsOptions {
  settings: SessionSettings;
  /** The budget of the context. */
  tokensMax: number;
  summarizer: Pick<Summarizer, "isLocal">;
}

/**
 * Returns the settings to use for themes. `summaryTokensMax` becomes small enough for `maxThemes` summaries to fit a context:
 * longer ones would be paid for and sent again with every version, and half of them not shown. `resolveTokensMin` becomes
 * lower if summaries cost nothing.
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
