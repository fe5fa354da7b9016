import { signal } from "@preact/signals";
import { change, go, href, params } from "./router.ts";

export const isHelpOpen = signal(false);

export const KEYS: [keys: string, meaning: string][] = [
  ["⌘K, Ctrl K or /", "Search"],
  ["j and k", "Next and previous row or message"],
  ["[ and ]", "Previous and next turn of a session"],
  ["n and N", "Next and previous hit of a search, in the session that it opened"],
  ["1, 2 and 3", "A session read, what the model sees, the forest"],
  ["Enter or Space", "Open, fold or unfold"],
  ["?", "These keys"],
  ["Escape", "Close, or leave the search"],
];

/** Keys that only the shown view knows. It returns true if it has handled the key. */
export const viewKeys = signal<((key: string) => boolean) | undefined>(undefined);

/** Where Escape leads from the search. */
let beforeSearch = href({});

export function search(): void {
  if (params.value.view === "search") document.querySelector<HTMLInputElement>("#search-box")?.focus();
  else {
    beforeSearch = href(params.value);
    go(href({ view: "search" }));
  }
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      search();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (params.value.view === "search") go(beforeSearch);
      else (document.activeElement as HTMLElement | null)?.blur();
      return;
    }
    if (params.value.view === "search" && event.key.length === 1 && document.querySelector("#search-box") === null) {
      // The box is not there yet, and its first letters are typed already.
      event.preventDefault();
      change({ q: (params.value.q ?? "") + event.key });
      return;
    }
    if ((event.target as Element).closest("input, textarea, select, [contenteditable]")) return;
    if (handled(event.key)) event.preventDefault();
  });
}

function handled(key: string): boolean {
  if (viewKeys.value?.(key)) return true;
  switch (key) {
    case "/":
      search();
      return true;
    case "?":
      isHelpOpen.value = true;
      return true;
    case "j":
    case "k":
      return focusRow(key === "j" ? 1 : -1);
    case "1":
    case "2":
    case "3": {
      if (params.value.session === undefined) return false;
      const view = ["session", "context", "forest"][Number(key) - 1]!;
      if (view !== params.value.view) change({ view, seq: null, q: null }, { push: true });
      return true;
    }
    default:
      return false;
  }
}

/** Moves the focus to the next or previous row of the view; at first to the one at the top of the window. */
function focusRow(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const index = current < 0 ? rows.findIndex((row) => row.getBoundingClientRect().bottom > 120) : current + step;
  rows[index]?.focus();
  return rows.length > 0;
}
