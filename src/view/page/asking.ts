import { KEY_HEADER } from "../key-header.ts";

/** All pages of this origin share it. Another port is another origin. */
const STORED = "coppice-key";

/** Asks the server, which answers nobody without the key. */
export function ask(url: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
  const key = localStorage.getItem(STORED);
  return fetch(url, { ...init, headers: { ...headers, ...(key !== null && { [KEY_HEADER]: key }) } });
}

export function keepKey(key: string): void {
  localStorage.setItem(STORED, key);
}

/** Objects of the browser live for this time, in milliseconds, after they were opened. */
const OPENED_MS = 60_000;

/** Opens an answer in a new tab, or saves it under a name. A link cannot, because it sends no key. */
export async function open(url: string, saveAs?: string): Promise<void> {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await bytesOf(url));
  if (saveAs === undefined) Object.assign(link, { target: "_blank", rel: "noreferrer" });
  else link.download = saveAs;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), OPENED_MS);
}

export async function bytesOf(url: string): Promise<Blob> {
  const response = await ask(url);
  if (!response.ok) throw new Error(response.statusText);
  return response.blob();
}
