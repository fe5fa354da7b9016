import { openStore, type Store } from "../index.ts";
import { readingEmbedder, storedEmbedder } from "../session/embedder-choice.ts";
import { type AnsweringAgent, Asking } from "./ask.ts";
import { readAssets } from "./assets.ts";
import { Routes } from "./routes.ts";
import { ViewServer } from "./server.ts";
import { ViewStore } from "./view-store.ts";

export interface ViewOptions {
  /** By default a free one. */
  port?: number;
  /** True to let people rename, pin and forget. By default they only read. */
  write?: boolean;
  /** The id of the session to show first. */
  session?: string;
  /** The agent of this machine that answers questions. What is found is sent to its model. By default nobody can ask. */
  agent?: AnsweringAgent;
}

export interface View {
  /** Where the page is, with a token that lets one browser in, once. */
  url: string;
  /** Stops the server. A store that the caller opened stays open. */
  close(): Promise<void>;
}

/**
 * Serves the store as a page for people: its sessions, what a model sees of each, and how their forests grew. Only this machine
 * can reach it, and only the browser that opens the URL first gets any data. The page follows the store while agents write.
 *
 * @param store  An open store, or the path of one.
 * @throws {StoreError} the errors of `openStore`; `OPTION_INVALID` for a port that cannot be had.
 */
export async function serveView(store: Store | string, options: ViewOptions = {}): Promise<View> {
  const { port = 0, write = false, session = null, agent } = options;
  const open = (path: string): Store =>
    openStore(path, { readonly: !write, embedder: write ? storedEmbedder : readingEmbedder });
  const view = new ViewStore(typeof store === "string" ? () => open(store) : store, write);
  const server = new ViewServer(new Routes(view, new Asking(view, agent), session), readAssets());
  try {
    const url = await server.listen(port);
    return {
      url,
      close: async () => {
        await server.close();
        view.close();
      },
    };
  } catch (error) {
    view.close();
    throw error;
  }
}
