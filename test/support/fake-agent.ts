import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What the program does after it has taken its prompt. It speaks as Claude Code does. */
const PROGRAM = `
const { spawn } = require("node:child_process");
const { appendFileSync, readFileSync, writeFileSync } = require("node:fs");
const { DO = "answer", REPLY = "", SEEN } = process.env;
const say = (event) => process.stdout.write(JSON.stringify(event) + "\\n");
const piece = (text) => say({ type: "stream_event", event: { type: "content_block_delta", delta: { type: "text_delta", text } } });
const result = (more) => say({ type: "result", is_error: false, usage: { input_tokens: 700, output_tokens: 30 }, ...more });
const acts = {
  answer: () => { for (const text of REPLY.match(/[^]{1,7}/g) ?? []) piece(text); result({ result: REPLY }); },
  whole: () => result({ result: REPLY }),
  loggedOut: () => { result({ is_error: true, result: "Not logged in · Please run /login" }); process.exitCode = 1; },
  atLimit: () => { result({ is_error: true, result: "You've hit your session limit · try again in 20 minutes" }); process.exitCode = 1; },
  halfway: () => { piece("It was dropped because"); result({ is_error: true, result: "API Error: 500 the connection broke" }); },
  silent: () => {},
  rubbish: () => process.stdout.write("\\x1b[31mSegmentation fault\\x07 {{{\\n[1]\\nnull\\n"),
  broken: () => { process.stderr.write("TypeError: it broke\\n"); process.exitCode = 3; },
  flood: () => { const write = () => { while (process.stdout.write("x".repeat(65536))); process.stdout.once("drain", write); }; write(); },
  hang: () => {
    process.on("SIGTERM", () => {});
    const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" });
    piece("It was ");
    appendFileSync(SEEN + ".pids", process.pid + " " + child.pid);
    setInterval(() => {}, 1000);
  },
  leave: () => { spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit", detached: true }).unref(); acts.answer(); },
};
const seen = (prompt) => writeFileSync(SEEN, JSON.stringify({ prompt, args: process.argv.slice(2), cwd: process.cwd(), hook: process.env.COPPICE_HOOK }));
if (DO === "deaf") { process.stdin.destroy(); seen(""); acts.answer(); }
else { const prompt = readFileSync(0, "utf8"); seen(prompt); acts[DO](); }
`;

/** What the program was given. */
export interface Seen {
  prompt: string;
  args: string[];
  cwd: string;
  hook: string;
}

/** A program in a folder that is called as an agent is. Variables tell it what to do. */
export class FakeAgent {
  readonly seenPath: string;
  readonly #bin: string;

  constructor(folder: string, program = "claude") {
    this.#bin = join(folder, "bin");
    this.seenPath = join(folder, "seen.json");
    mkdirSync(this.#bin, { recursive: true });
    const path = join(this.#bin, program);
    writeFileSync(path, `#!${process.execPath}\n${PROGRAM}`);
    chmodSync(path, 0o755);
  }

  env(act: string, reply = ""): Record<string, string> {
    const path = `${this.#bin}${delimiter}${process.env.PATH}`;
    return { PATH: path, SEEN: this.seenPath, DO: act, REPLY: reply, NODE_OPTIONS: process.env.NODE_OPTIONS ?? "" };
  }

  seen(): Seen {
    return JSON.parse(readFileSync(this.seenPath, "utf8"));
  }
}
