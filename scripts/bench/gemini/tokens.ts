import { geminiSummarizer, type MessageInput, openStore, type SessionOptions } from "../../../src/index.ts";
import { startGeminiServer } from "../../../test/support/gemini-server.ts";
import { readThreads } from "../../eval/cluster-data.ts";
import { conversation } from "../conversations.ts";
import { take } from "../messages.ts";
import { emptyTally, type Tally, tallyingModel } from "./model.ts";

const MESSAGES = 120;
/** The number of generated conversations, and the messages at which growth is measured. */
const EXTENT = { conversations: 6, few: 1_000, many: 5_000 };

/** A budget of 4,000 tokens, half of it for the window, as the documentation of the option advises. */
const SETTINGS: SessionOptions = { contextTokensMax: 4_000, hotTokensMax: 2_000 };

/**
 * Measures the tokens of summaries, sent and received, while conversations grow message by message with `resolveDirty` after
 * each. The store's counter counts them, and the model's replies have a fixed length.
 *
 * - `summaryTokensVsFlat`: the tokens for all conversations together, relative to those of `flat`.
 * - `summaryTokensGrowth`: the tokens per appended message at 5,000 messages, relative to 1,000. The larger figure of
 *   conversations with short and with long messages counts.
 *
 * @param dataFolder  The folder with `threads/`, of which the first 120 messages are used. Without it, conversations are
 *   generated.
 */
export async function tokenFigures(
  dataFolder: string | undefined,
  extent = EXTENT,
): Promise<{ summaryTokensVsFlat: number; summaryTokensGrowth: number }> {
  const growths: number[] = [];
  for (const length of ["short", "real"] as const) growths.push(await growthOf(length, extent));
  return {
    summaryTokensVsFlat: await summaryTokensVsFlat(dataFolder, extent.conversations),
    summaryTokensGrowth: Math.max(...growths),
  };
}

/** Returns `summaryTokensVsFlat` of `tokenFigures`. */
export async function summaryTokensVsFlat(
  dataFolder: string | undefined,
  conversationCount = EXTENT.conversations,
): Promise<number> {
  const [flat, unionFind] = [emptyTally(), emptyTally()];
  for (const messages of conversationsOf(dataFolder, conversationCount)) {
    await grow(messages, { ...SETTINGS, strategy: "flat" }, flat);
    await grow(messages, { ...SETTINGS, strategy: "union-find" }, unionFind);
  }
  return tokensOf(unionFind) / tokensOf(flat);
}

function conversationsOf(dataFolder: string | undefined, count: number): MessageInput[][] {
  const threads = dataFolder === undefined ? [] : readThreads(dataFolder, MESSAGES);
  if (threads.length > 0) return threads.map((thread) => thread.map(({ text, ...message }) => said(message, text)));
  console.error("No --data with threads/: summaryTokensVsFlat is measured on generated conversations.");
  return Array.from({ length: count }, (_, seed) => take(conversation(seed, { length: "real" }), MESSAGES));
}

/** Returns a message without a time, so that it is new. In an idle session, all messages would enter the forest. */
function said({ role, name }: Pick<MessageInput, "role" | "name">, content: string): MessageInput {
  return name === undefined ? { role, content } : { role, name, content };
}

async function growthOf(length: "short" | "real", { few, many }: typeof EXTENT): Promise<number> {
  const tally = emptyTally();
  const perMessage: number[] = [];
  await grow(take(conversation(1, { length }), many), SETTINGS, tally, (count) => {
    if (count === few || count === many) perMessage.push(tokensOf(tally) / count);
  });
  return perMessage.at(-1)! / perMessage[0]!;
}

async function grow(
  messages: readonly MessageInput[],
  settings: SessionOptions,
  tally: Tally,
  onGrown: (count: number) => void = () => {},
): Promise<void> {
  const server = await startGeminiServer({ says: tallyingModel(tally) });
  const store = openStore(":memory:", { summarizer: geminiSummarizer({ apiKey: "loopback", baseUrl: server.url }) });
  try {
    const session = store.session("growing", settings);
    for (const [index, message] of messages.entries()) {
      session.append(message);
      const { failed } = await session.resolveDirty();
      if (failed > 0) throw new Error(`${failed} summaries of message ${index} failed`);
      server.requests.length = 0;
      onGrown(index + 1);
    }
  } finally {
    store.close();
    await server.close();
  }
}

function tokensOf({ sentTokens, receivedTokens }: Tally): number {
  return sentTokens + receivedTokens;
}
