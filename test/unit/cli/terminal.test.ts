import { describe, expect, test } from "vitest";
import { Terminal } from "../../../src/cli/terminal.ts";
import { FakeStream } from "../../support/fake-terminal.ts";

describe("a terminal", () => {
  test("wipes the line of progress before anything else is written", () => {
    const [stdout, stderr] = [new FakeStream({ isTTY: true }), new FakeStream({ isTTY: true })];
    const terminal = new Terminal(stdout, stderr, {});
    terminal.progress("1 of 2");
    terminal.progress("2 of 2");
    terminal.note("a word");
    terminal.print("the result");
    expect(stderr.text).toBe("1 of 2\r\u001b[K2 of 2\r\u001b[Ka word\n");
    expect(stdout.text).toBe("the result\n");
  });

  test("keeps the line of progress on one line", () => {
    const stderr = new FakeStream({ isTTY: true, columns: 8 });
    new Terminal(new FakeStream(), stderr, {}).progress("a long way to go");
    expect(stderr.text).toBe("a long…");
  });

  test("has colors, and the screen's width", () => {
    const terminal = new Terminal(new FakeStream({ isTTY: true, columns: 100 }), new FakeStream(), {});
    expect(terminal.width).toBe(100);
    expect(terminal.style("dim", "x")).toBe("\u001b[2mx\u001b[22m");
    expect(terminal.style(["bold", "green"], "x")).toBe("\u001b[1m\u001b[32mx\u001b[39m\u001b[22m");
  });

  test("believes COLUMNS, and takes 80 where a screen does not know", () => {
    expect(new Terminal(new FakeStream({ isTTY: true }), new FakeStream(), { COLUMNS: "44" }).width).toBe(44);
    expect(new Terminal(new FakeStream({ isTTY: true, columns: 0 }), new FakeStream(), { COLUMNS: "" }).width).toBe(80);
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
