import type { CommanderError } from "commander";
import { Failure } from "./failure.ts";
import { didYouMean } from "./suggestion.ts";

const CHOICE = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s;

/**
 * What commander refuses, as a failure like others: "error: unknown command 'sesions'\n(Did you mean sessions?)".
 *
 * @param command  The one that was typed, if there is such a one.
 */
export function misuseOf(error: CommanderError, command: string | undefined): Failure {
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
    (command === undefined ? "`coppice help` lists the commands." : `\`coppice help ${command}\` says how it is used.`);
  return new Failure("USAGE_INVALID", message, { hint, exitCode: 2, cause: error });
}
