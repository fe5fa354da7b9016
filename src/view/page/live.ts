import { signal } from "@preact/signals";
import type { About, Change } from "../api.ts";
import { ask } from "./asking.ts";

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

/** After the server was silent, the page asks again in this time, in milliseconds. */
const RETRY_MS = 2_000;

/** Follows the store. `EventSource` would send no key. */
export async function follow(): Promise<void> {
  for (;;) {
    try {
      const response = await ask("/api/events");
      isConnected.value = response.ok;
      if (response.ok) for await (const change of changesIn(response.body!)) tell(change);
    } catch {}
    isConnected.value = false;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function* changesIn(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Change> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const data = /^event: change\ndata: (.*)$/.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

let isResting = false;

/** Gives the page a rest between two changes. */
function tell(change: Change): void {
  lastChange.value = change;
  if (isResting) return;
  isResting = true;
  setTimeout(() => {
    isResting = false;
    version.value += 1;
  }, 500);
}
