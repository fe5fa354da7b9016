import { accessSync, constants, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

/** Where `npm run chromium` unpacks the browser. */
export const CHROMIUM_FOLDER = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "coppice-test-chromium");

const ON_PATH = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

export interface Chromium {
  executablePath: string;
  /** Folders of the libraries that came with it. */
  libraries: string[];
}

/** Returns the browser for tests: the one that COPPICE_TEST_CHROMIUM names, the unpacked one, one on the path, or playwright's. */
export function findChromium(): Chromium | undefined {
  const named = process.env.COPPICE_TEST_CHROMIUM;
  if (named) return { executablePath: named, libraries: [] };
  const unpacked = join(CHROMIUM_FOLDER, "usr/lib/chromium/chromium-headless-shell");
  if (isExecutable(unpacked)) return { executablePath: unpacked, libraries: libraryFolders() };
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [
    ...ON_PATH.flatMap((name) => folders.map((folder) => join(folder, name))),
    chromium.executablePath(),
  ];
  const executablePath = candidates.find(isExecutable);
  return executablePath === undefined ? undefined : { executablePath, libraries: [] };
}

/** Starts the browser without a network of its own: every name except this machine's leads nowhere. */
export function launchChromium({ executablePath, libraries }: Chromium): Promise<Browser> {
  const path = [...libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(delimiter);
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
    env: { ...process.env, ...(path !== "" && { LD_LIBRARY_PATH: path }) } as Record<string, string>,
  });
}

function libraryFolders(): string[] {
  return ["usr/lib", "lib"].flatMap((name) => {
    const folder = join(CHROMIUM_FOLDER, name);
    const entries = foldersIn(folder);
    return entries
      .filter((entry) => entry.endsWith("-linux-gnu"))
      .flatMap((entry) => {
        const libraries = join(folder, entry);
        return [libraries, ...foldersIn(libraries).map((inner) => join(libraries, inner))];
      });
  });
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
