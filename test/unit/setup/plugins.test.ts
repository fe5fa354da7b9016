import { chmodSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import type { OwnCommand } from "../../../src/setup/own-command.ts";
import { AGENTS } from "../../../src/setup/targets.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { put } from "../importers/read.ts";

/** Answers what it was asked. */
const ANSWERING = `#!/usr/bin/env node
const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const [, , , event, , agent] = process.argv;
console.log(JSON.stringify({ text: [event, agent, input.session_id, input.prompt].filter(Boolean).join(" ") }));
`;

function executable(path: string, program: string): string {
  chmodSync(put(path, program), 0o755);
  return path;
}

/** Imports the plugin that setup writes for an agent. */
async function pluginOf(name: string, program: string, called: Partial<OwnCommand> = {}) {
  const home = temporaryFolder();
  const coppice = executable(join(home, "coppice.cjs"), program);
  const target = AGENTS.find((agent) => agent.name === name)!;
  const [edit] = target.edits({ env: {}, platform: "linux", home }, { program: [coppice], store: [], ...called });
  const { text } = edit!.insertionInto("")!;
  expect(text).toContain("setup --undo");
  return import(pathToFileURL(put(join(home, "plugin", "plugin.mjs"), text)).href);
}

type Hooks = Record<string, (...values: unknown[]) => Promise<unknown>>;
interface Part {
  type: string;
  text: string;
  synthetic?: boolean;
}
interface Message {
  info: { id: string; role: string; sessionID: string };
  parts: Part[];
}

describe("the plugin of opencode", () => {
  const message = (id: string, role: string, text: string): Message => ({
    info: { id, role, sessionID: "s1" },
    parts: [{ type: "text", text }],
  });
  /** The texts of a request with these messages, after the plugin has seen it. */
  async function requested(hooks: Hooks, ...history: Message[]): Promise<string[]> {
    const messages = structuredClone(history);
    await hooks["experimental.chat.messages.transform"]!({}, { messages });
    return messages.map(({ parts }) => parts.map(({ text }) => text).join("|"));
  }

  async function hooksWith(program: string, called: Partial<OwnCommand> = {}): Promise<Hooks> {
    const { Coppice } = (await pluginOf("opencode", program, called)) as { Coppice: (about: object) => Promise<Hooks> };
    return Coppice({ directory: "/srv" });
  }

  async function say(hooks: Hooks, { info, parts }: Message): Promise<void> {
    await hooks["chat.message"]!({ sessionID: info.sessionID }, { message: info, parts });
  }

  test("adds to requests what Coppice says, and the same again to later ones", async () => {
    const hooks = await hooksWith(ANSWERING);
    const [first, next] = [message("m1", "user", "first"), message("m3", "user", "next")];
    const started = "session-start opencode s1\n\nprompt opencode s1 first|first";
    await say(hooks, first);
    expect(await requested(hooks, first)).toEqual([started]);
    await say(hooks, next);
    const later = await requested(hooks, first, message("m2", "assistant", "yes"), next);
    expect(later).toEqual([started, "yes", "prompt opencode s1 next|next"]);
  });

  test("says in a compaction what must survive, and brings it back after it", async () => {
    const hooks = await hooksWith(ANSWERING);
    expect(await compacting(hooks)).toEqual(["before-compaction opencode s1"]);
    await hooks.event!({ event: { type: "session.compacted", properties: { sessionID: "s1" } } });
    expect(await requested(hooks, message("m9", "user", "go on"))).toEqual(["after-compaction opencode s1|go on"]);
  });

  test("says nothing to subagents, and adds the server unless there is one", async () => {
    const hooks = await hooksWith(ANSWERING);
    await hooks.event!({ event: { type: "session.created", properties: { info: { id: "s1", parentID: "s0" } } } });
    await say(hooks, message("m1", "user", "first"));
    expect(await requested(hooks, message("m1", "user", "first"))).toEqual(["first"]);
    const config = { mcp: { coppice: "mine" } };
    await hooks.config!(config);
    expect(config).toEqual({ mcp: { coppice: "mine" } });
    const empty: { mcp?: { coppice: { command: string[] } } } = {};
    await hooks.config!(empty);
    expect(empty.mcp!.coppice.command.at(-1)).toBe("mcp");
  });

  async function compacting(hooks: Hooks): Promise<string[]> {
    const output = { context: [] as string[] };
    await hooks["experimental.session.compacting"]!({ sessionID: "s1" }, output);
    return output.context;
  }

  test("says nothing if Coppice cannot even be called", async () => {
    expect(await compacting(await hooksWith(ANSWERING, { program: ["\0"] }))).toEqual([]);
  });

  test("reads characters that arrive in two pieces", async () => {
    const program = `#!/usr/bin/env node
const bytes = Buffer.from('{"text":"é"}');
process.stdout.write(bytes.subarray(0, 10));
setTimeout(() => process.stdout.write(bytes.subarray(10)), 300);
`;
    expect(await compacting(await hooksWith(program))).toEqual(["é"]);
  });

  test("quotes each word for the shell of Windows", async () => {
    const program = "#!/usr/bin/env node\nconsole.log(JSON.stringify({ text: process.argv.at(-1) }));\n";
    const shell = executable(join(temporaryFolder(), "shell.cjs"), program);
    const called = { program: ["C:\\a b\\coppice.cmd"], store: ["--db", "C:\\c d.db"] };
    const hooks = await hooksWith(ANSWERING, called);
    vi.stubEnv("comspec", shell);
    const real = Object.getOwnPropertyDescriptor(process, "platform")!;
    Object.defineProperty(process, "platform", { ...real, value: "win32" });
    try {
      expect(await compacting(hooks)).toEqual([
        '"C:\\a b\\coppice.cmd" "hook" "before-compaction" "--agent" "opencode" "--db" "C:\\c d.db"',
      ]);
    } finally {
      Object.defineProperty(process, "platform", real);
      vi.unstubAllEnvs();
    }
  });

  test.each(["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho nonsense\n", "#!/no/such/program\n"])(
    "changes nothing if Coppice does not answer: %j",
    async (program) => {
      const hooks = await hooksWith(program);
      await say(hooks, message("m1", "user", "first"));
      expect(await requested(hooks, message("m1", "user", "first"))).toEqual(["first"]);
    },
  );
});

test("the extension of pi adds a message at the start, at each prompt and after a compaction", async () => {
  const { default: extend } = (await pluginOf("pi", ANSWERING)) as { default: (pi: object) => void };
  const hooks: Hooks = {};
  extend({
    on: (event: string, act: Hooks[string]) => {
      hooks[event] = act;
    },
  });
  const about = { cwd: "/srv", sessionManager: { getSessionId: () => "s1" } };
  const said = async (prompt: string): Promise<unknown> => hooks.before_agent_start!({ prompt }, about);
  const answer = (content: string) => ({ message: { customType: "coppice", content, display: false } });
  await hooks.session_start!({}, about);
  expect(await said("a")).toEqual(answer("session-start pi s1\n\nprompt pi s1 a"));
  expect(await said("b")).toEqual(answer("prompt pi s1 b"));
  await hooks.session_before_compact!({}, about);
  await hooks.session_compact!({}, about);
  expect(await said("c")).toEqual(answer("after-compaction pi s1\n\nprompt pi s1 c"));
});
