import { openStore, type Store, StoreError } from "../../../src/index.ts";
import type { Chat } from "../../../src/session/chat.ts";
import { chatAt, replyOf } from "../../../test/support/chat.ts";
import { TEST_TIMEOUT_MS } from "../../../test/support/gemini-faults.ts";
import type { StartTrial } from "./faults.ts";

/** A timeout longer than every reply in time, and shorter than every late reply. */
const IMPATIENT = { timeoutMs: 2 * TEST_TIMEOUT_MS };

const never = new AbortController().signal;

/** Runs one turn. Then opens the chat again for the missing reply, or for another turn if half of the reply was stored. */
export const chatTrial: StartTrial = (server, path) => {
  const open = (): Store => openStore(path);
  const inChat = async <T>(act: (chat: Chat) => Promise<T>, options: { timeoutMs?: number } = {}): Promise<T> => {
    const store = open();
    try {
      return await act(chatAt(server, store, store.session("s"), options));
    } finally {
      store.close();
    }
  };
  return {
    open,
    fail: () =>
      inChat(async (chat) => {
        try {
          await replyOf(chat.say("Why did the deploy fail?", never));
        } catch (error) {
          if (StoreError.is(error)) return error.code;
          throw error;
        }
        return undefined;
      }, IMPATIENT),
    heal: () =>
      inChat(async (chat) => {
        const reply = await replyOf(chat.isWaiting ? chat.answer(never) : chat.say("And now?", never));
        return reply !== "" && chat.session.newest()?.role === "assistant";
      }),
  };
};
