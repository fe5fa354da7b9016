import { existsSync } from "node:fs";
import { basename, delimiter, dirname, join, resolve, sep } from "node:path";

/** How agents call Coppice. */
export interface OwnCommand {
  program: readonly string[];
  /** The words that name the store. They follow all other words. Empty for the default store. */
  store: readonly string[];
}

const NPX = ["npx", "-y", "--allow-scripts=better-sqlite3", "coppice"];
const LINK = process.platform === "win32" ? "coppice.cmd" : "coppice";

/**
 * Returns the words that start Coppice from any folder: `coppice` if it is on the path, else the link of the project that it is
 * installed in, else `npx`. None names a version, because a path that does is gone after the next upgrade.
 *
 * @param program  The file that this process runs.
 * @param path  The value of `$PATH`. Folders that npm adds for one command do not count.
 */
export function ownProgram(program: string, path: string): string[] {
  const lasting = path.split(delimiter).filter((folder) => folder !== "" && !isOfOneCommand(folder));
  if (lasting.some((folder) => existsSync(join(folder, LINK)))) return ["coppice"];
  if (program.includes(`${sep}_npx${sep}`)) return NPX;
  const link = projectLink(resolve(program));
  if (link !== undefined) return [link];
  return program.endsWith(`${sep}dist${sep}coppice.cjs`) ? ["node", resolve(program)] : NPX;
}

export function callOf({ program, store }: OwnCommand, ...words: readonly string[]): string[] {
  return [...program, ...words, ...store];
}

/** The shells that agents start hooks with. On Windows, Claude Code uses Git Bash, Gemini CLI PowerShell, and Codex cmd.exe. */
export type Shell = "sh" | "git-bash" | "powershell" | "cmd";

/** Writes a command for a shell. */
export function shellLine(words: readonly string[], shell: Shell = "sh"): string {
  const [program = "", ...others] = words;
  switch (shell) {
    case "sh":
      return words.map(quotedForSh).join(" ");
    case "git-bash": {
      // Beside each .cmd file, package managers put a script of the same name for sh. It takes paths with slashes.
      const script = program.replace(/\.cmd$/, "").replaceAll("\\", "/");
      return [script, ...others].map(quotedForSh).join(" ");
    }
    case "powershell": {
      const quoted = words.map((word) => (PLAIN_ON_WINDOWS.test(word) ? word : `'${word.replaceAll("'", "''")}'`));
      return `${quoted[0] === program ? "" : "& "}${quoted.join(" ")}`; // without &, a quoted program is only a text
    }
    case "cmd":
      return words.map((word) => (PLAIN_ON_WINDOWS.test(word) ? word : `"${word}"`)).join(" "); // no path has a quote
  }
}

const PLAIN_ON_WINDOWS = /^[\w+=:./\\-]+$/;

function quotedForSh(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function isOfOneCommand(folder: string): boolean {
  return basename(folder) === "node-gyp-bin" || folder.endsWith(join("node_modules", ".bin"));
}

/** Returns the outermost link. Package managers keep others inside it, in folders whose names hold versions. */
function projectLink(program: string): string | undefined {
  let found: string | undefined;
  for (let folder = dirname(program); folder !== dirname(folder); folder = dirname(folder)) {
    const link = join(folder, "node_modules", ".bin", LINK);
    if (existsSync(link)) found = link;
  }
  return found;
}
