import { render } from "preact";
import { App } from "./app.tsx";
import { keepKey } from "./asking.ts";
import { get, post, type Refused } from "./client.ts";
import { isFile } from "./file.ts";
import { listenToKeys } from "./keyboard.ts";
import { about, follow } from "./live.ts";
import { Whole } from "./parts/answers.tsx";
import { followLinks, go, href, params } from "./router.ts";

/** Exchanges the token of the address for the key, and takes it out of the address. */
async function enter(): Promise<void> {
  const token = /^#t=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  // A token that was used before is no loss if the key is there: the next request tells.
  const entered = await post("/api/enter", { token }).catch(() => undefined);
  if (entered !== undefined) keepKey(entered.key);
}

async function start(): Promise<void> {
  const root = document.querySelector("#app")!;
  document.documentElement.classList.toggle("is-file", isFile);
  const { view, url } = params.value;
  if (view === "whole" && url?.startsWith("/api/")) return render(<Whole url={url} />, root);
  try {
    if (!isFile) await enter();
    about.value = await get("/api/about", {});
  } catch (error) {
    render(<App refused={error as Refused} />, root);
    return;
  }
  const { session } = about.value;
  if (session !== null && Object.keys(params.value).length === 0)
    go(href({ view: "session", session }), { replace: true });
  followLinks();
  listenToKeys();
  if (!isFile) void follow();
  render(<App />, root);
}

void start();
