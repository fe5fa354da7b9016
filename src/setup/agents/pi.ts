import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { pluginFile } from "../hook-lines.ts";
import { skillFile } from "../skill.ts";
import { folderIn, type Target } from "../target.ts";

/** An extension in `~/.pi/agent/extensions`. pi has no MCP servers, so its model calls Coppice by commands. */
export const pi: Target = {
  name: "pi",
  title: "pi",
  followedAs: "pi",
  isUsed: (machine) => existsSync(home(machine)),
  edits: (machine, command) => [
    pluginFile(join(home(machine), "extensions", "coppice.ts"), "pi", command, SOURCE),
    skillFile(join(home(machine), "skills"), command),
  ],
};

function home(machine: Machine): string {
  return folderIn(machine, "PI_CODING_AGENT_DIR", join(machine.home, ".pi", "agent"));
}

const SOURCE = `export default function (pi) {
  let event = "session-start";
  const input = (ctx, more) => ({ session_id: ctx.sessionManager.getSessionId(), cwd: ctx.cwd, ...more });

  pi.on("session_start", async () => {
    event = "session-start";
  });

  pi.on("before_agent_start", async ({ prompt }, ctx) => {
    const texts = [event && (await ask(event, input(ctx))), await ask("prompt", input(ctx, { prompt }))];
    event = undefined;
    const content = texts.filter(Boolean).join("\\n\\n");
    if (content) return { message: { customType: "coppice", content, display: false } };
  });

  pi.on("agent_end", async (_, ctx) => {
    await ask("turn-end", input(ctx, { transcript_path: ctx.sessionManager.getSessionFile() }));
  });

  pi.on("session_before_compact", async (_, ctx) => {
    await ask("before-compaction", input(ctx));
  });

  pi.on("session_compact", async () => {
    event = "after-compaction";
  });
}
`;
