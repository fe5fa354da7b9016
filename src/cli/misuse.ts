import type { CommanderError } from "commander";
import { Failure } from "./failure.ts";
import { didYouMean } from "./suggestion.ts";

const CHOICE = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s;

/**
 * Turns commander's error, such as "error: unknown command 'sesions'\n(Did you mean sessions?)", into a failure.
 *
 * @param command  The name of the command that was typed, if it exists.
 */
export function misuseFailure(error: CommanderError, command: string | undefined): Failure {
  if (error.code === "commander.help") {
    const hint = "`coppice help` lists the commands.";
    return new Failure("USAGE_INVALID", "Name a command.", { hint, exitCode: 2 });
  }
  const [problem = "", suggestion] = error.message.replace(/^error: /, "").split("\n");
  const message = `${problem.charAt(0).toUpperCase()}${problem.slice(1).replace(/\.?$/, ".")}`;
  const [, typed = "", choices = ""] = CHOICE.exec(problem) ?? [];
  const hint =
    suggestion?.slice(1, -1) ||
    didYouMean(typed, choices.split(", ")) ||
    (command === undefined ? "`coppice help` lists the commands." : `\`coppice help ${command}\` explains it.`);
  return new Failure("USAGE_INVALID", message, { hint, exitCode: 2, cause: error });
}
