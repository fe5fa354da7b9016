import type { AnyCommand } from "../../src/cli/command.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";

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
