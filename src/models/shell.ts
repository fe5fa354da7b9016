/** A program that a command line starts. */
export interface ShellCommand {
  /** The program and its arguments, without quotes. Assignments, redirections and programs such as `sudo` are left out. */
  words: readonly string[];
  /** The words as they were written. */
  text: string;
  /** The files that its output goes to. */
  writes: readonly string[];
  /** True if its exit status tells nothing: its output goes to another program, or its failure is ignored. */
  isPiped: boolean;
  /** True if the next command reads its output. */
  feedsNext: boolean;
  /** True if it belongs to the last list of commands joined by `&&`, whose exit status is that of the line. */
  isOfLast: boolean;
}

/** The rest of a longer command line is not read. */
const LINE_CHARS_MAX = 20_000;

const WORD = [
  String.raw`\\[\s\S]`,
  `'[^']*(?:'|$)`,
  // Agents write messages as "$(cat <<'EOF' … EOF)".
  String.raw`"(?:\$\(cat <<-?\s*['"]?(?<eof>\w+)['"]?\n[\s\S]*?\n\s*\k<eof>\s*\)|\\[\s\S]|[^"\\])*(?:"|$)`,
  String.raw`\$\((?:[^()]|\([^()]*\))*\)`,
  "`[^`]*(?:`|$)",
  String.raw`[^\s;&|<>'"\\]`,
].join("|");
const TOKEN = new RegExp(
  String.raw`(?<space>[ \t\r]+|\\\n|(?<=^|\s)#[^\n]*)|(?<redirect>\d*(?:<<<|<<-?|<&|<|&>>|&>|>>|>&|>\||>)(?:&?\d+(?=[\s;&|)]|$)|-)?)|(?<operator>&&|\|\||\|&|[|;&\n])|(?<word>(?:${WORD})+)|[\s\S]`,
  "gy",
);
/** A redirection to another descriptor, such as `2>&1`. Others have a file as their next word. */
const TO_DESCRIPTOR = /\d$|&-$/;

/** Programs and words that start the command after them, each with its options that have a value. */
const WRAPPERS: ReadonlyMap<string, RegExp> = new Map([
  ["sudo", /^-[ugUpCh]$/],
  ["env", /^-[uC]$/],
  ["time", /^-[fo]$/],
  ["nice", /^-n$/],
  ["timeout", /^-[ks]$/],
  ["stdbuf", /^-[ioe]$/],
  ["exec", /^-a$/],
  ...["nohup", "command", "if", "then", "else", "elif", "while", "until", "do", "!", "{"].map(
    (word): [string, RegExp] => [word, /^$/],
  ),
]);
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
const SHELL = /(?:^|\/)(?:ba|z|da|k)?sh$/;

/** Returns the command line in a list of arguments: `["bash", "-lc", "npm test"]` runs `npm test`. */
export function commandLineOf(args: readonly string[]): string {
  const [program = "", flags = "", line] = args;
  if (line !== undefined && SHELL.test(program) && /^-\w*c$/.test(flags)) return line;
  return args.map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/**
 * Splits a command line of a POSIX shell into the programs that it starts, in order. Texts behind `<<EOF` are left out. Substitutions
 * are not followed: they count to the word that they stand in.
 */
export function commandsIn(line: string): ShellCommand[] {
  const source = line.slice(0, LINE_CHARS_MAX);
  const commands: (Omit<ShellCommand, "isOfLast"> & { list: number })[] = [];
  let list = 0;
  let words: string[] = [];
  let writes: string[] = [];
  let redirect: string | undefined;
  const delimiters: string[] = [];
  const end = (operator: string): void => {
    const own = unwrapped(words);
    const text = own.join(" ");
    const feedsNext = operator === "|" || operator === "|&";
    const isPiped = feedsNext || operator === "||";
    if (own.length > 0) {
      commands.push({ words: own.map(unquoted), text, writes, isPiped, feedsNext, list });
      if (operator !== "&&" && operator !== "||" && !feedsNext) list += 1;
    }
    [words, writes, redirect] = [[], [], undefined];
  };
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(source); token !== null; token = TOKEN.exec(source)) {
    const { word, operator, redirect: to } = token.groups!;
    if (word !== undefined && redirect === undefined) words.push(word);
    else if (word !== undefined) {
      if (/^\d*<<-?$/.test(redirect!)) delimiters.push(unquoted(word));
      else if (redirect!.includes(">")) writes.push(unquoted(word));
      redirect = undefined;
    } else if (to !== undefined) redirect = TO_DESCRIPTOR.test(to) ? undefined : to;
    else if (operator !== undefined) {
      end(operator);
      if (operator === "\n") for (const delimiter of delimiters.splice(0)) skipTo(source, delimiter);
    }
  }
  end("");
  const last = commands.at(-1)?.list;
  return commands.map(({ list: own, ...command }) => ({ ...command, isOfLast: own === last }));
}

/** Moves `TOKEN` behind the line that ends a text. */
function skipTo(source: string, delimiter: string): void {
  const escaped = delimiter.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const found = new RegExp(`^\\t*${escaped}$`, "gm");
  found.lastIndex = TOKEN.lastIndex;
  TOKEN.lastIndex = found.test(source) ? found.lastIndex : source.length;
}

function unwrapped(words: readonly string[]): string[] {
  const own = words.map(withoutParentheses).filter((word) => word !== "" && word !== "}");
  for (;;) {
    while (own.length > 0 && ASSIGNMENT.test(own[0]!)) own.shift();
    const withValue = WRAPPERS.get(own[0] ?? "");
    if (withValue === undefined) break;
    const program = own.shift();
    while (own[0]?.startsWith("-")) if (withValue.test(own.shift()!)) own.shift();
    if (program === "timeout") own.shift();
  }
  return own;
}

/** Removes the parentheses of a subshell. */
function withoutParentheses(word: string): string {
  const opened = word.replace(/^\(+/, "");
  if (opened.includes("(")) return opened;
  let end = opened.length;
  while (opened[end - 1] === ")") end -= 1;
  return opened.slice(0, end);
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'?|"((?:\\[\s\S]|[^"\\])*)"?|\\([\s\S])/g, (_, single, double, escaped) => {
    return single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped;
  });
}
