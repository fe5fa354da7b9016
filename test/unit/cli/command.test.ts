import { Option } from "commander";
import { describe, expect, test } from "vitest";
import type { AnyCommand } from "../../../src/cli/command.ts";
import { Failure } from "../../../src/cli/failure.ts";
import { StoreError } from "../../../src/core/errors.ts";
import { runOnPipes } from "../../support/every-command.ts";

/** A command that returns what it was called with, or throws `outcome`. */
function echo(outcome?: Error, printed = true): AnyCommand {
  return {
    usage: "echo <words...>",
    summary: "Print the words.",
    argument: "anything",
    options: [new Option("--loud", "in capitals")],
    examples: ["hello"],
    run({ args, options, json }) {
      if (outcome !== undefined && !printed) throw outcome;
      const failure = outcome instanceof Failure ? { failure: outcome } : {};
      return { value: { args, options, json }, lines: [...args, "end"], ...failure };
    },
  };
}

function run(command: AnyCommand, ...argv: string[]) {
  return runOnPipes(argv, [{ heading: "Words", commands: [command] }]);
}

describe("runCommandLine", () => {
  test("prints lines, or one value if --json is given before or after the command", async () => {
    expect(await run(echo(), "echo", "a", "b", "--loud")).toEqual([0, "a\nb\nend\n", ""]);
    const value = '{"args":["a"],"options":{},"json":true}\n';
    expect(await run(echo(), "--json", "echo", "a")).toEqual([0, value, ""]);
    expect(await run(echo(), "echo", "a", "--json")).toEqual([0, value, ""]);
  });

  test("passes on words after -- unchanged", async () => {
    expect(await run(echo(), "echo", "--", "--loud")).toEqual([0, "--loud\nend\n", ""]);
  });

  test("prints the output before the failure", async () => {
    const failure = new Failure("LAMP_OUT", "The lamp is out.", { hint: "Light it." });
    expect(await run(echo(failure), "echo", "a")).toEqual([1, "a\nend\n", "coppice: The lamp is out.\nLight it.\n"]);
    const [exitCode, stdout, stderr] = await run(echo(failure), "echo", "a", "--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([1, { args: ["a"], options: {}, json: true }]);
    expect(stderr).toBe('{"error":{"code":"LAMP_OUT","message":"The lamp is out.","hint":"Light it."}}\n');
  });

  test("exits with 2 if the library refuses a value, and with 1 for its other errors", async () => {
    const refused = new StoreError("OPTION_INVALID", { option: "lamp", expected: "lit", actual: "out" });
    expect(await run(echo(refused, false), "echo", "a")).toEqual([
      2,
      "",
      'coppice: Expected lamp to be lit, got "out".\n',
    ]);
    const [exitCode] = await run(echo(new StoreError("STORE_BUSY", { path: "x.db" }), false), "echo", "a");
    expect(exitCode).toBe(1);
  });

  test("reports any other error as a bug, without its stack", async () => {
    const [exitCode, , stderr] = await run(echo(new TypeError("lamp is not a function"), false), "echo", "a");
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^coppice: lamp is not a function\nThis is a bug\. [^\n]*COPPICE_DEBUG=1[^\n]*\n$/);
  });

  test("shows the help with its examples", async () => {
    const [exitCode, stdout] = await run(echo(), "help", "echo");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /Usage: coppice echo \[options\] <words\.\.\.>[\s\S]*--loud[\s\S]*--db <file>[\s\S]*coppice echo hello\n$/,
    );
  });
});
