import { signal } from "@preact/signals";
import { urlOf } from "../questions.ts";
import { isFile } from "./file.ts";

/** The state of the page is the query of its address: `view`, and what the view was asked for. In a file, it is behind the `#`. */
export type Params = Readonly<Record<string, string>>;

type Change = Record<string, string | number | null | undefined>;

export const params = signal<Params>(paramsOf(isFile ? location.hash.slice(1) : location.search));

/** Counts the moves to another view, so that the page can tell them from changes within a view. */
export const moves = signal(0);

addEventListener("popstate", () => show());

export function paramsOf(search: string): Params {
  return Object.fromEntries(new URLSearchParams(search));
}

/** Returns the address of a state. Values that are null, undefined or empty are left out. */
export function href(state: Change): string {
  return urlOf(isFile ? "#" : "/", state);
}

export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  show();
}

/** Changes some parameters of the view that is shown. The browser's history gets an entry only if `push` is true. */
export function change(changes: Change, { push = false } = {}): void {
  go(href({ ...params.value, ...changes }), { replace: !push });
}

function show(): void {
  if (isFile && !/^(?:#\?|$)/.test(location.hash)) return; // a place on the page
  const next = paramsOf(isFile ? location.hash.slice(1) : location.search);
  const isMove = next.view !== params.value.view || next.session !== params.value.session;
  params.value = next;
  if (isMove) moves.value += 1;
}

/** Follows links within the page without loading it again. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element).closest?.("a");
    const address = link?.getAttribute("href") ?? "";
    if (!link || link.hasAttribute("target") || !/^[/#](?:\?|$)/.test(address)) return;
    event.preventDefault();
    go(address);
  });
}
