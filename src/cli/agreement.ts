import { createInterface } from "node:readline/promises";
import { Failure } from "./failure.ts";
import type { Terminal } from "./screen/terminal.ts";

interface Question {
  /** What would happen, printed before the question. */
  lines?: Iterable<string>;
  /** The question, without the ` [y/N]` that is printed after it. */
  text: string;
  /** The line to print if the answer is not yes. */
  refused: string;
  /** The message and the hint of the error if nobody can be asked. */
  unasked: { message: string; hint: string };
}

/**
 * Asks the person, and returns true if the answer is yes.
 *
 * @throws {Failure} `USAGE_INVALID` with `--json`, or if there is no terminal.
 */
export async function askToAgree(question: Question, terminal: Terminal, json: boolean): Promise<boolean> {
  const { lines = [], text, refused, unasked } = question;
  if (!json) for (const line of lines) terminal.note(line);
  const answer = await askPerson(`${text} [y/N] `, unasked, json);
  if (/^y(es)?$/i.test(answer)) return true;
  terminal.note(refused);
  return false;
}

/**
 * Asks the person. @returns what was typed, without spaces around it; "" if the input has ended.
 * @throws {Failure} `USAGE_INVALID` with `--json`, or if there is no terminal.
 */
export async function askPerson(text: string, unasked: Question["unasked"], json: boolean): Promise<string> {
  if (json || process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new Failure("USAGE_INVALID", unasked.message, { hint: unasked.hint });
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const gone = new Promise<string>((resolve) => asking.once("close", () => resolve("")));
    return (await Promise.race([asking.question(text), gone])).trim();
  } finally {
    asking.close();
  }
}
