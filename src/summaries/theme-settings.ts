import { SESSION_OPTIONS, type SessionSettings } from "../core/options.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { Repositories } from "../store/repositories.ts";

/** The share of the tokens left by the pinned messages that all theme summaries may take. The memory block gets 0.4. */
const THEMES_SHARE = 0.3;

/** The share of `resolveTokensMin` from which a summary is due if a call costs nothing. */
const LOCAL_SHARE = 1 / 3;

/** The context that themes are summarized for, and the summarizer. */
export interface ThemeSettingsOptions {
  settings: SessionSettings;
  /** The budget of the context. */
  tokensMax: number;
  summarizer: Pick<Summarizer, "isLocal">;
}

/**
 * Returns the settings with two values adapted. `summaryTokensMax` is lowered until `maxThemes` summaries fit a context, because
 * contexts could not show all of them otherwise. `resolveTokensMin` is lowered if summaries cost nothing.
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
