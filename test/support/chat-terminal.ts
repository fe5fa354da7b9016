import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { ChatInput } from "../../src/cli/chat/chat-input.ts";
import { Terminal } from "../../src/cli/screen/terminal.ts";
import { FakeStream } from "./fake-terminal.ts";

/** A screen and a keyboard: what is typed goes in, what is shown is looked at. */
export class ChatTerminal {
  readonly stdin = new PassThrough();
  readonly stdout: FakeStream;
  readonly stderr: FakeStream;
  readonly signals = new EventEmitter();
  readonly terminal: Terminal;
  readonly input: ChatInput;
  /** What the line editor has shown, escapes and all. */
  echoed = "";

  /** @param options.isTTY  A terminal; else lines through a pipe. */
  constructor({ isTTY }: { isTTY: boolean }) {
    this.stdout = new FakeStream({ isTTY });
    this.stderr = new FakeStream({ isTTY });
    this.terminal = new Terminal(this.stdout, this.stderr, {});
    const echo = isTTY ? new PassThrough() : undefined;
    echo?.on("data", (chunk: Buffer) => {
      this.echoed += chunk;
    });
    this.input = new ChatInput(this.stdin, echo, this.signals);
  }

  type(...lines: string[]): void {
    for (const line of lines) this.stdin.write(`${line}\n`);
  }

  press(key: "Ctrl-C" | "Ctrl-D"): void {
    this.stdin.write(key === "Ctrl-C" ? "\x03" : "\x04");
  }

  /** What stands on the screen, colors apart. */
  get shown(): string {
    return this.stdout.text.replace(/\x1b\[\d+m/g, "");
  }

  get noted(): string {
    return this.stderr.text.replace(/\x1b\[\d+m/g, "");
  }
}
