import { KEY_HEADER } from "../questions.ts";
import { answerInFile, isFile } from "./file.ts";

/** Asks the server, which answers nobody without the key. */
export async function ask(url: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
  if (isFile) return answerInFile(url);
  const key = localStorage.getItem(KEY_HEADER);
  return fetch(url, { ...init, headers: { ...headers, ...(key !== null && { [KEY_HEADER]: key }) } });
}

/** Keeps the key for all tabs of this origin. Another port is another origin. */
export function keepKey(key: string): void {
  localStorage.setItem(KEY_HEADER, key);
}

/** How long the browser may take to begin to save a file, in milliseconds. */
const SAVING_MS = 60_000;

/** Saves an answer under a name. A link to it could not, because it sends no key. */
export async function save(url: string, name: string): Promise<void> {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await bytesOf(url));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVING_MS);
}

export async function bytesOf(url: string): Promise<Blob> {
  const response = await ask(url);
  if (!response.ok) throw new Error(response.statusText);
  return response.blob();
}
