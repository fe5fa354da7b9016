import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { pluginFile } from "../hook-lines.ts";
import { skillFile } from "../skill.ts";
import { folderIn, type Target } from "../target.ts";

/**
 * A plugin in `~/.config/opencode/plugin`, which also adds the MCP server, so that no line of `opencode.json` changes.
 *
 * It adds texts to requests only, so they are in no transcript. Later requests get the same texts, for prompt caches. The requests
 * with which opencode makes titles do not pass `messages.transform`, and get none.
 */
export const opencode: Target = {
  name: "opencode",
  title: "opencode",
  followedAs: "opencode",
  isUsed: (machine) => existsSync(home(machine)),
  edits: (machine, command) => [
    pluginFile(join(home(machine), "plugin", "coppice.js"), "opencode", command, SOURCE),
    skillFile(join(home(machine), "skills"), command),
  ],
};

function home(machine: Machine): string {
  return join(folderIn(machine, "XDG_CONFIG_HOME", join(machine.home, ".config")), "opencode");
}

const SOURCE = `export const Coppice = async ({ directory }) => {
  const started = new Set();
  const compacted = new Set();
  const subagents = new Set();
  const textByMessage = new Map();
  const input = (sessionID, more) => ({ session_id: sessionID, cwd: directory, ...more });

  return {
    config: async (config) => {
      config.mcp = { coppice: { type: "local", command: [...PROGRAM, "mcp", ...STORE] }, ...config.mcp };
    },

    event: async ({ event }) => {
      if (event.type === "session.created" && event.properties.info.parentID) subagents.add(event.properties.info.id);
      if (event.type === "session.compacted") compacted.add(event.properties.sessionID);
    },

    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (subagents.has(sessionID)) return;
      const prompt = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\\n");
      const texts = [];
      if (!started.has(sessionID)) texts.push(await ask("session-start", input(sessionID)));
      started.add(sessionID);
      texts.push(await ask("prompt", input(sessionID, { prompt })));
      textByMessage.set(message.id, texts.filter(Boolean).join("\\n\\n"));
    },

    "experimental.chat.messages.transform": async (_, { messages }) => {
      const last = messages.findLast(({ info }) => info.role === "user");
      if (last !== undefined && compacted.delete(last.info.sessionID)) {
        const text = await ask("after-compaction", input(last.info.sessionID));
        textByMessage.set(last.info.id, [text, textByMessage.get(last.info.id)].filter(Boolean).join("\\n\\n"));
      }
      for (const { info, parts } of messages) {
        const text = textByMessage.get(info.id);
        if (text) {
          const part = { id: "prt_coppice", messageID: info.id, sessionID: info.sessionID, type: "text", synthetic: true };
          parts.unshift({ ...part, text });
        }
      }
    },

    "experimental.session.compacting": async ({ sessionID }, { context }) => {
      const text = await ask("before-compaction", input(sessionID));
      if (text) context.push(text);
    },
  };
};
`;
