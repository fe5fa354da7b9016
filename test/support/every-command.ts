import type { AnyCommand, CommandGroup } from "../../src/cli/command.ts";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";
import { Terminal } from "../../src/cli/screen/terminal.ts";
import { FakeStream } from "./fake-terminal.ts";

export function nameOf({ usage }: AnyCommand): string {
  return usage.split(" ")[0]!;
}

/** Every command with its name, also those below another: `hub push`. */
export const EVERY_COMMAND = COMMAND_GROUPS.flatMap(({ commands }) =>
  commands.flatMap((command) => [
    { ...command, name: nameOf(command) },
    ...(command.subcommands ?? []).map((one) => ({ ...one, name: `${nameOf(command)} ${nameOf(one)}` })),
  ]),
);

/** Runs a command line whose output goes into two pipes. Returns what came out of them. */
export async function runOnPipes(
  argv: readonly string[],
  groups: readonly CommandGroup[] = COMMAND_GROUPS,
): Promise<[exitCode: number, stdout: string, stderr: string]> {
  const [stdout, stderr] = [new FakeStream(), new FakeStream()];
  const terminal = new Terminal(stdout, stderr, {});
  const exitCode = await runCommandLine(argv, { groups, version: "1.2.3", terminal });
  return [exitCode, stdout.text, stderr.text];
}
