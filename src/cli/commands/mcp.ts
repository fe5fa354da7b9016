import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import { VERSION } from "../../core/version.ts";
import type { EarlyCommand } from "../command.ts";
import { Failure } from "../failure.ts";

/** `mcp` serves the store to an agent. */
export const mcp: EarlyCommand<{ project?: string; allowAppend?: boolean }> = {
  name: "mcp",
  summary: "Serve the store to an agent, as an MCP server on stdin and stdout.",
  details:
    "An agent starts it, not a person; the README says how to tell each. It offers recall, expand, get_context, list_sessions " +
    "and list_subjects, and sessions and roots as resources. It only reads, unless told otherwise; the store need not exist yet, " +
    "and is found when it does. It ends when its stdin does. stdout carries the protocol alone.",
  options: [
    new Option("--project <name>", "show the sessions of this project alone"),
    new Option("--allow-append", "offer append, too, which writes"),
  ],
  examples: ["", "--project web", "--db ~/agents.db --allow-append"],

  async runEarly({ options: { project, allowAppend = false }, loadStores, terminal, json }) {
    if (json) {
      const hint = "Leave --json out: what it prints is JSON already, as the protocol has it.";
      throw new Failure("USAGE_INVALID", "mcp prints no value.", { hint, exitCode: 2 });
    }
    // As of a variable that is not set: the server would show nothing, and never say why.
    if (project === "") throw new Failure("USAGE_INVALID", "`--project` is given without a name.", { exitCode: 2 });
    if (process.stdin.isTTY) terminal.note("An agent is to start this; it waits for one on stdin. Ctrl-D ends it.");
    // Here and not above: nobody else is to wait for it.
    const { serve } = await import("../../mcp/server.ts");
    await serve({
      async loadAccess() {
        const stores = await loadStores();
        return {
          openToRead: () => inOwnWords(() => stores.openToRead()),
          openToWrite: () => inOwnWords(() => stores.openToWrite()),
          close: () => stores.close(),
        };
      },
      version: VERSION,
      project,
      allowAppend,
      input: process.stdin,
      output: process.stdout,
      note: (line) => terminal.note(line),
    });
    return { value: null, lines: [] };
  },
};

/** A failure of the command line has hints for who types; the server has its own for a model. */
function inOwnWords<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof Failure && error.cause instanceof StoreError ? error.cause : error;
  }
}
