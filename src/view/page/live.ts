import { signal } from "@preact/signals";
import type { About, Change } from "../api.ts";

/** Counts the changes of the store. */
export const version = signal(0);
export const lastChange = signal<Change | undefined>(undefined);
/** False while the server does not answer. */
export const isConnected = signal(true);
export const about = signal<About | undefined>(undefined);

/** Returns the name of a project for people; its folder if it came after the page. */
export function projectName(project: string): string {
  return about.value?.projects.find((one) => one.project === project)?.name ?? project;
}

/** Follows the store, and gives the page a rest between two changes. */
export function follow(): void {
  const events = new EventSource("/api/events");
  let isResting = false;
  events.addEventListener("open", () => {
    isConnected.value = true;
  });
  events.addEventListener("error", () => {
    isConnected.value = false;
  });
  events.addEventListener("change", (event) => {
    lastChange.value = JSON.parse((event as MessageEvent<string>).data);
    if (isResting) return;
    isResting = true;
    setTimeout(() => {
      isResting = false;
      version.value += 1;
    }, 500);
  });
}
