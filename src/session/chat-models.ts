import type { ChatModel } from "../models/chat-model.ts";
import { type GeminiChatOptions, geminiChat } from "../models/gemini/chat.ts";
import { geminiSummarizer } from "../models/gemini/summarizer.ts";
import type { Summarizer } from "../models/summarizer.ts";

/** What a chat on Gemini needs. */
export interface ChatModels {
  model: ChatModel;
  /** For the session's old messages, by the service's own small model. */
  summarizer: Summarizer;
}

/**
 * @param model  The one that is talked with; the default of `geminiChat` if left out.
 * @throws {StoreError} `MODEL_KEY_MISSING`, `OPTION_INVALID`, before anything is loaded or sent.
 */
export function chatModels(model: string | undefined): ChatModels {
  const options: GeminiChatOptions = model === undefined ? {} : { model };
  return { model: geminiChat(options), summarizer: geminiSummarizer() };
}
