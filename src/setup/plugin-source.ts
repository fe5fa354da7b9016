import type { Edit } from "./edits.ts";
import { ownFile } from "./edits.ts";
import { HOOK_TIMEOUT_S } from "./hook-lines.ts";
import type { OwnCommand } from "./own-command.ts";

/**
 * Makes the source of a plugin that runs inside an agent. `ask(event, input)` in it asks `coppice hook`, whose input is
 * `{ session_id, cwd, prompt? }` and whose answer is `{ text? }`.
 */
export function pluginFile(path: string, agent: string, command: OwnCommand, source: string): Edit {
  return ownFile(
    path,
    `// \`coppice setup\` wrote this file, and \`coppice setup --undo ${agent}\` removes it.
import { spawn } from "node:child_process";

const PROGRAM = ${JSON.stringify(command.program)};
const STORE = ${JSON.stringify(command.store)};

/** Returns what Coppice says, or "". If anything goes wrong, the agent goes on without it. */
function ask(event, input) {
  return new Promise((resolve) => {
    const shell = process.platform === "win32"; // where a command may be a script
    const call = [...PROGRAM, "hook", event, "--agent", ${JSON.stringify(agent)}, ...STORE];
    const [program, ...words] = call.map((word) => (shell ? '"' + word + '"' : word));
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: ${HOOK_TIMEOUT_S * 1_000}, shell });
    let output = "";
    child.on("error", () => resolve(""));
    child.on("close", () => {
      try {
        resolve(JSON.parse(output).text ?? "");
      } catch {
        resolve("");
      }
    });
    child.stdout.setEncoding("utf8").on("data", (piece) => {
      output += piece;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  }).catch(() => "");
}

${source}`,
  );
}
