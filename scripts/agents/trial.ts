import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesIn, type Invocation, type Place, type RealAgent } from "./agents.ts";
import type { FakeProvider } from "./provider.ts";

const FACT = "eu-kelp-7";
const DECISION = `We decided: the deploy region is ${FACT}, because every other region was too slow.`;
const NEWER = ["gauge", "map", "proxy", "cache", "audit log", "queue", "price feed", "door lock", "mail relay"].map(
  (thing) => `Please rewrite the tests of the ${thing}, because they wait for real time and fail on slow machines.`,
);
const TIMEOUT_MS = 180_000;
const STORED_MS_MAX = 20_000;
const QUIET_MS = 3_000;

/** The results of one agent. */
export interface Trial {
  agent: string;
  /** Setup writes what the agent's own check accepts, and a second setup writes nothing. */
  setup: boolean;
  /** The hook at the end of a turn has stored the session. Null for an agent that has no such hook. */
  stored: boolean | null;
  /** The hook at the start puts the decision of session A into the first request of session B. */
  sessionStart: boolean;
  /** The hook at the prompt puts it into the request that asks for it. */
  prompt: boolean;
  /** After a compaction, a hook puts the decision into the next request. */
  compaction: boolean;
  /** After `coppice hook off`, the hooks add nothing. */
  off: boolean;
  /** After `setup --undo`, every file is as it was before, byte for byte. */
  undo: boolean;
  seconds: number;
  notes: string[];
}

interface Firing {
  event: string;
  output: string;
}

/** Runs one agent through all trials, in a home of its own. */
export async function tryAgent(
  agent: RealAgent,
  folder: string,
  program: string,
  provider: FakeProvider,
): Promise<Trial> {
  const startedMs = performance.now();
  const bench = new Bench(agent, join(folder, "runs", agent.name), program, {
    modules: join(folder, "node_modules"),
    providerUrl: provider.url,
  });
  const notes: string[] = [];
  const note = (text: string): false => {
    notes.push(text);
    return false;
  };
  const agentRun = async (invocation: Invocation): Promise<string[]> => {
    provider.take();
    const { exitCode, output } = await bench.run(invocation);
    if (exitCode !== 0) notes.push(`exit ${exitCode}: ${output.trim().slice(-300)}`);
    return provider.take().flatMap(({ texts }) => texts);
  };

  agent.prepare(bench.place);
  const before = filesIn(bench.place.home);
  const isDone = await isSetUp(bench, note);
  await bench.coppice("setup", "--undo", "--yes");
  const undo = isSame(before, filesIn(bench.place.home), note);
  await bench.coppice("setup", agent.name, "--yes");
  const setup = isDone && (await isValid(bench, note));
  agent.trust?.(bench.place);

  await agentRun(agent.start(bench.place, DECISION));
  const stored = agent.isUnstored ? null : await isStored(bench, note);
  await bench.coppice("watch", "--once", "--yes");

  const offered = (events: readonly string[], texts: readonly string[]): boolean => {
    const told = bench.takeFirings().filter(({ event, output }) => events.includes(event) && output.includes(FACT));
    if (told.length === 0) return note(`no hook ${events.join(", ")} told the decision`);
    const said = told.flatMap(({ output }) => textsOf(output)).filter((text) => text.includes(FACT));
    // Gemini CLI escapes the tags of what hooks say.
    const plain = (text: string): string => text.trim().replaceAll("&lt;", "<").replaceAll("&gt;", ">");
    const asked = texts.map(plain);
    const arrived = said.some((text) => asked.some((one) => one.includes(plain(text))));
    return arrived || note(`what the hook ${told[0]!.event} told is not in the request`);
  };
  bench.takeFirings();
  const sessionStart = offered(["session-start"], await agentRun(agent.start(bench.place, "Say hello.")));
  // The hook at the start quotes the newest sessions, and the hook at the prompt repeats nothing. So others must be newer.
  await bench.importSessions(NEWER);
  const question = "Which deploy region did we decide on?";
  const prompt = offered(["prompt"], await agentRun(agent.start(bench.place, question)));

  await agentRun(agent.start(bench.place, DECISION));
  // The watch service would do this. The hooks of most agents import the session themselves.
  await bench.coppice("watch", "--once", "--yes");
  bench.takeFirings();
  const afterwards: string[] = [];
  for (const invocation of agent.compact(bench.place)) afterwards.push(...(await agentRun(invocation)));
  const compaction = bench.dropFiringsUntil("before-compaction")
    ? offered(["session-start", "after-compaction", "prompt"], afterwards)
    : note("the hook before-compaction did not fire");

  await bench.coppice("hook", "off");
  bench.takeFirings();
  const texts = await agentRun(agent.start(bench.place, question));
  const off = !texts.some((text) => text.includes(FACT)) || note("the decision came although the hooks are off");
  await bench.coppice("hook", "on");
  await bench.coppice("setup", "--undo", "--yes");
  const left = [...filesIn(bench.place.home)].filter(([path, text]) => isLeft(path, text));
  if (left.length > 0) notes.push(`undo after use leaves ${left.map(([path]) => path).join(", ")}`);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return {
    agent: agent.name,
    setup,
    stored,
    sessionStart,
    prompt,
    compaction,
    off,
    undo: undo && left.length === 0,
    seconds,
    notes,
  };
}

/** Waits for the import that the hook leaves behind. Returns true if it stored the session. */
async function isStored(bench: Bench, note: (text: string) => false): Promise<boolean> {
  const endMs = performance.now() + STORED_MS_MAX;
  while (performance.now() < endMs) {
    const { output } = await bench.coppice("recall", FACT, "--json");
    if (output.includes(DECISION)) return true;
  }
  return note("no hook has stored the session");
}

async function isSetUp(bench: Bench, note: (text: string) => false): Promise<boolean> {
  const first = await bench.coppice("setup", bench.agent.name, "--yes");
  if (first.exitCode !== 0) return note(`setup: ${first.output}`);
  const written = filesIn(bench.place.home);
  await bench.coppice("setup", bench.agent.name, "--yes");
  return isSame(written, filesIn(bench.place.home), note);
}

async function isValid(bench: Bench, note: (text: string) => false): Promise<boolean> {
  if (bench.agent.validate === undefined) return true;
  const { exitCode, output } = await bench.run(bench.agent.validate(bench.place));
  return exitCode === 0 || note(`validate: ${output.trim()}`);
}

/** Compares files. The state that an agent writes for itself while it runs does not count. */
function isSame(before: Map<string, string>, after: Map<string, string>, note: (text: string) => false): boolean {
  const changed = [...before].filter(([path, text]) => after.get(path) !== text).map(([path]) => path);
  const added = [...after].filter(([path, text]) => !before.has(path) && isLeft(path, text)).map(([path]) => path);
  const different = [...changed, ...added];
  return different.length === 0 || note(`files differ: ${different.join(", ")}`);
}

function isLeft(path: string, text: string): boolean {
  if (/sessions|projects|chats|\.db|history|mcp-logs|\.log|share\/coppice\/(?!setup)/.test(path)) return false;
  return /coppice/.test(path) || /coppice["' ]*,? *["']?(?:hook|mcp)/.test(text);
}

/** Returns every text in a hook's answer, which is JSON or plain text. */
function textsOf(output: string): string[] {
  const texts = (value: unknown): string[] =>
    typeof value === "string"
      ? [value]
      : typeof value === "object" && value !== null
        ? Object.values(value).flatMap(texts)
        : [];
  return output.trim().startsWith("{") ? texts(JSON.parse(output)) : [output];
}

/** Types each line when the program has written nothing for a while. At a terminal, it must have written something before. */
function typeLines(
  { stdin, stdout }: ChildProcessWithoutNullStreams,
  lines: readonly string[],
  isAtTerminal: boolean,
): void {
  const left = [...lines];
  const next = (): void => {
    const line = left.shift();
    if (line === undefined) stdin.end();
    else if (!isAtTerminal) stdin.write(`${line}\n`);
    else {
      stdin.write(line);
      // An Enter right behind a text would count as part of a pasted one.
      setTimeout(() => stdin.write("\r"), QUIET_MS / 3);
    }
  };
  let quiet = isAtTerminal ? undefined : setTimeout(next, QUIET_MS);
  stdout.on("data", () => {
    clearTimeout(quiet);
    quiet = setTimeout(next, QUIET_MS);
  });
  stdout.on("end", () => clearTimeout(quiet));
}

class Bench {
  readonly agent: RealAgent;
  readonly place: Place;
  readonly #firings: string;
  readonly #env: Record<string, string>;

  constructor(agent: RealAgent, folder: string, program: string, about: Pick<Place, "modules" | "providerUrl">) {
    this.agent = agent;
    rmSync(folder, { recursive: true, force: true });
    const [home, project, bin] = [join(folder, "home"), join(folder, "harbor"), join(folder, "bin")];
    this.#firings = join(folder, "firings");
    for (const one of [home, project, bin, this.#firings]) mkdirSync(one, { recursive: true });
    this.place = { ...about, home, project };
    // This `coppice` also keeps what the hooks answered.
    const script = `#!/bin/sh
[ "$1" = hook ] && [ "$3" = --agent ] || exec '${process.execPath}' '${program}' "$@"
file='${this.#firings}'/$(date +%s%N)-$2
tee "$file.in" | '${process.execPath}' '${program}' "$@" | tee "$file.out"
`;
    writeFileSync(join(bin, "coppice"), script);
    chmodSync(join(bin, "coppice"), 0o755);
    this.#env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, TERM: "xterm-256color" };
  }

  coppice(...args: string[]): Promise<{ exitCode: number | null; output: string }> {
    return this.run({ program: "coppice", args });
  }

  run({
    program,
    args,
    env = {},
    typed = [],
    isAtTerminal = false,
  }: Invocation): Promise<{ exitCode: number | null; output: string }> {
    const words = [program, ...args].map((word) => `'${word}'`).join(" ");
    const [file, ...rest] = isAtTerminal
      ? ["script", "--quiet", "--return", "--command", `stty rows 40 cols 120; exec ${words}`, "/dev/null"]
      : [program, ...args];
    const child = spawn(file!, rest, {
      cwd: this.place.project,
      env: { ...this.#env, ...env },
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.stdin.on("error", () => {});
    if (typed.length > 0) typeLines(child, typed, isAtTerminal);
    else child.stdin.end();
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (exitCode) => resolve({ exitCode, output }));
    });
  }

  /** Stores sessions of this project that no agent here has had. */
  async importSessions(prompts: readonly string[]): Promise<void> {
    const file = join(this.#firings, "..", `sessions-${prompts.length}.jsonl`);
    const lines = prompts.flatMap((content, index) => {
      const about = { session: `${prompts.length}-${index}`, createdAt: new Date().toISOString() };
      return [
        { ...about, role: "user", content },
        { ...about, role: "assistant", content: "Understood." },
      ];
    });
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await this.coppice("import", file, "--project", this.place.project);
  }

  /** Forgets the firings up to the first one of an event. Returns false if there is none. */
  dropFiringsUntil(event: string): boolean {
    const names = readdirSync(this.#firings).sort();
    const end = names.findIndex((name) => name.endsWith(`-${event}.out`));
    for (const name of names.slice(0, end + 1)) rmSync(join(this.#firings, name));
    return end >= 0;
  }

  /** Returns what the hooks answered since the last call. */
  takeFirings(): Firing[] {
    const names = readdirSync(this.#firings).sort();
    const firings = names.flatMap((name) => {
      const event = /^\d+-(.*)\.out$/.exec(name)?.[1];
      return event === undefined ? [] : [{ event, output: readFileSync(join(this.#firings, name), "utf8") }];
    });
    for (const name of names) rmSync(join(this.#firings, name));
    return firings;
  }
}
