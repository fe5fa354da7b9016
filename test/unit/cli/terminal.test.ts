import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openPager } from "../../../src/cli/screen/pager.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { FakeStream } from "../../support/fake-terminal.ts";

describe("a terminal", () => {
  test("wipes the progress line before anything else is written", () => {
    const [stdout, stderr] = [new FakeStream({ isTTY: true }), new FakeStream({ isTTY: true })];
    vi.useFakeTimers({ toFake: ["performance"] });
    const terminal = new Terminal(stdout, stderr, {});
    terminal.progress("1 of 3");
    vi.advanceTimersByTime(99);
    terminal.progress("2 of 3"); // sooner than ten times a second
    vi.advanceTimersByTime(1);
    terminal.progress("3 of 3");
    terminal.note("a word");
    terminal.print("the result");
    vi.useRealTimers();
    expect(stderr.text).toBe("1 of 3\r\u001b[K3 of 3\r\u001b[Ka word\n");
    expect(stdout.text).toBe("the result\n");
  });

  test("cuts the progress line to one line", () => {
    const stderr = new FakeStream({ isTTY: true, columns: 8 });
    new Terminal(new FakeStream(), stderr, {}).progress("a long way to go");
    expect(stderr.text).toBe("a long…");
  });

  test("has colors, and the screen's width", () => {
    const stdout = new FakeStream({ isTTY: true, columns: 100 });
    const terminal = new Terminal(stdout, new FakeStream(), {});
    expect(terminal.width).toBe(100);
    terminal.print(terminal.style("dim", "x"));
    terminal.print(terminal.style(["bold", "green"], "x"));
    expect(stdout.text).toBe("\u001b[2mx\u001b[22m\n\u001b[1m\u001b[32mx\u001b[39m\u001b[22m\n");
  });

  test("uses COLUMNS, and 80 if the screen does not report its width", () => {
    expect(new Terminal(new FakeStream({ isTTY: true }), new FakeStream(), { COLUMNS: "44" }).width).toBe(44);
    expect(new Terminal(new FakeStream({ isTTY: true, columns: 0 }), new FakeStream(), { COLUMNS: "" }).width).toBe(80);
  });
});

describe("foreign text", () => {
  const FOREIGN = "\u001b[31mred\u009b2J\u202e";
  const SHOWN = "␛[31mred\ufffd2J[U+202E]";

  test("is made printable whatever it is written with, and inside a format", () => {
    const [stdout, stderr] = [new FakeStream({ isTTY: true }), new FakeStream({ isTTY: true })];
    const terminal = new Terminal(stdout, stderr, {});
    terminal.print(FOREIGN);
    terminal.print(terminal.style("bold", FOREIGN));
    terminal.note(FOREIGN);
    terminal.hint(FOREIGN);
    terminal.progress(`${FOREIGN}\n`);
    expect(stdout.text).toBe(`${SHOWN}\n\u001b[1m${SHOWN}\u001b[22m\n`);
    expect(stderr.text).toBe(`${SHOWN}\n\u001b[2m${SHOWN}\u001b[22m\n${SHOWN}↵`);
  });
});

describe("a pipe", () => {
  test("has no colors, no progress, and lines of any length", () => {
    const [stdout, stderr] = [new FakeStream(), new FakeStream()];
    const terminal = new Terminal(stdout, stderr, {});
    terminal.progress("1 of 2");
    terminal.print(terminal.style(["bold", "green"], "x"));
    expect([stdout.text, stderr.text, terminal.width]).toEqual(["x\n", "", undefined]);
  });
});

describe("colors", () => {
  const screen = (): FakeStream => new FakeStream({ isTTY: true });
  const pipe = (): FakeStream => new FakeStream();
  const RED = "\u001b[31mx\u001b[39m";

  test.each([
    ["are on a screen", screen, {}, "auto", RED],
    ["are not in a pipe", pipe, {}, "auto", "x"],
    ["are not where NO_COLOR is set", screen, { NO_COLOR: "1" }, "auto", "x"],
    ["are where NO_COLOR is empty", screen, { NO_COLOR: "" }, "auto", RED],
    ["are in a pipe with FORCE_COLOR", pipe, { FORCE_COLOR: "1" }, "auto", RED],
    ["are not with FORCE_COLOR=0", screen, { FORCE_COLOR: "0" }, "auto", "x"],
    ["are where they are asked for", pipe, { NO_COLOR: "1" }, "always", RED],
    ["are not where they are refused", screen, { FORCE_COLOR: "1" }, "never", "x"],
  ] as const)("%s", (_, stream, env, choice, shown) => {
    const stdout = stream();
    const terminal = new Terminal(stdout, pipe(), env);
    terminal.colors = choice;
    terminal.print(terminal.style("red", "x"));
    expect(stdout.text).toBe(`${shown}\n`);
  });

  test("are decided for each stream", () => {
    const [stdout, stderr] = [pipe(), screen()];
    const terminal = new Terminal(stdout, stderr, {});
    terminal.print(terminal.style("red", "x"));
    terminal.note(terminal.styleNote("red", "x"));
    expect([stdout.text, stderr.text]).toEqual(["x\n", `${RED}\n`]);
  });
});

describe("a reader", () => {
  test("that is slow makes the command wait", async () => {
    let drain = (): void => {};
    const stdout = Object.assign(new FakeStream(), {
      writableNeedDrain: true,
      once: (_: "drain", act: () => void) => {
        drain = act;
      },
    });
    const terminal = new Terminal(stdout, new FakeStream(), {});
    let isTaken: boolean | undefined;
    const taken = terminal.taken().then((value) => {
      isTaken = value;
    });
    await new Promise(setImmediate);
    expect(isTaken).toBeUndefined();
    drain();
    await taken;
    expect(isTaken).toBe(true);
  });

  test("that goes away ends the wait", async () => {
    const stdout = Object.assign(new FakeStream(), { writableNeedDrain: true, once: () => {} });
    const terminal = new Terminal(stdout, new FakeStream(), {});
    const taken = terminal.taken();
    terminal.readerGone();
    expect([await taken, await terminal.taken()]).toEqual([false, false]);
  });
});

test("a pager gets what follows, formatted for the terminal on which it shows it", () => {
  const [stdout, stderr, pager] = [new FakeStream({ isTTY: true, columns: 66 }), new FakeStream(), new FakeStream()];
  const terminal = new Terminal(stdout, stderr, {});
  const restore = terminal.redirect({ write: (text: string) => pager.write(text) });
  expect(terminal.width).toBe(66);
  terminal.print(terminal.style("bold", "a hit"));
  terminal.note("Next");
  expect([stdout.text, stderr.text]).toEqual(["", ""]);
  expect(pager.text).toBe("\u001b[1ma hit\u001b[22m\nNext\n");
  restore();
  terminal.print("after");
  expect(stdout.text).toBe("after\n");
});

test.each([" ", " cat", "no-such-pager -R"])("there is no pager if it is %j", (command) => {
  const { isTTY } = process.stdout;
  onTestFinished(() => void Object.defineProperty(process.stdout, "isTTY", { value: isTTY, configurable: true }));
  Object.defineProperty(process.stdout, "isTTY", { value: true, configurable: true });
  const terminal = new Terminal(new FakeStream({ isTTY: true }), new FakeStream(), { PAGER: command });
  expect(openPager(terminal)).toBeUndefined();
});
