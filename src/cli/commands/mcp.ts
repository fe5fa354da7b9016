import { Option } from "commander";
import { projectNamed } from "../../core/project.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";

export const mcpCommand: Command<{ project?: string; allowAppend?: boolean }> = {
  usage: "mcp",
  summary: "Serve the store to an agent, as an MCP server on stdin and stdout.",
  details:
    "An agent starts it, not a person; the README has the settings for each agent. It offers recall, expand, get_context, " +
    "list_sessions and list_subjects as tools, and sessions and roots as resources. It is read-only unless --allow-append is " +
    "given. The server may start before the store exists. It ends when its stdin is closed. stdout carries only the protocol.",
  options: [
    new Option(
      "--project <path>",
      "show only the sessions of this folder's project, or of the name that a program gave",
    ),
    new Option("--allow-append", "also offer append and remember, which write"),
  ],
  examples: ["", "--project ~/work/web", "--db ~/agents.db --allow-append"],

  async run({ options: { project, allowAppend = false }, loadStores, terminal, json }) {
    if (json) {
      const hint = "Leave out --json. The protocol is JSON already.";
      throw new Failure("USAGE_INVALID", "mcp does not take --json.", { hint });
    }
    // An unset shell variable gives an empty name. The server would then show nothing and never say why.
    if (project === "") throw new Failure("USAGE_INVALID", "`--project` needs a name.");
    if (process.stdin.isTTY) terminal.note("Waiting for an agent on stdin. Ctrl-D ends the server.");
    const only = project && projectNamed(project);
    const { serve } = await import("../../mcp/server.ts");
    const redact = async (text: string): Promise<string> => {
      const { Redactor } = await import("../../imports/redaction/redact.ts");
      return new Redactor({ keepSecrets: false }).redacted(text);
    };
    const streams = { input: process.stdin, output: process.stdout };
    await serve({ loadAccess: loadStores, project: only, allowAppend, redact, ...streams });
    return { value: null, lines: [] };
  },
};
