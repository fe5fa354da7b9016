import type { ChatModel } from "../models/chat-model.ts";
import { type GeminiChatOptions, geminiChat } from "../models/gemini/chat.ts";
import { geminiSummarizer } from "../models/gemini/summarizer.ts";
import type { Summarizer } from "../models/summarizer.ts";

/** The models of a chat with Gemini. */
export interface ChatModels {
  model: ChatModel;
  /** The summarizer of old messages, which uses the service's small model. */
  summarizer: Summarizer;
}

/**
 * @param model  The model to talk with; by default that of `geminiChat`.
 * @throws {StoreError} `MODEL_KEY_MISSING`, `OPTION_INVALID`, before anything is loaded or sent.
 */
export function chatModels(model: string | undefined): ChatModels {
  const options: GeminiChatOptions = model === undefined ? {} : { model };
  return { model: geminiChat(options), summarizer: geminiSummarizer() };
}
