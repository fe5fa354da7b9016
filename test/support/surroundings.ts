import { Readable } from "node:stream";

interface Surroundings {
  cwd: string;
  /** All variables. Others are unset. */
  env: Readonly<Record<string, string | undefined>>;
  /** What the program reads from its standard input. */
  stdin: string;
}

let last: Promise<unknown> = Promise.resolve();

/** Runs a program in this process as if in one of its own. One runs after the other, because a process has one environment. */
export function inSurroundings<T>(surroundings: Surroundings, run: () => Promise<T>): Promise<T> {
  const result = last.then(() => surrounded(surroundings, run));
  last = result.catch(() => {});
  return result;
}

async function surrounded<T>({ cwd, env, stdin }: Surroundings, run: () => Promise<T>): Promise<T> {
  const before = {
    cwd: process.cwd(),
    env: { ...process.env },
    stdin: Object.getOwnPropertyDescriptor(process, "stdin")!,
  };
  process.chdir(cwd);
  setEnvironment(env);
  Object.defineProperty(process, "stdin", {
    configurable: true,
    value: Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
  });
  try {
    return await run();
  } finally {
    Object.defineProperty(process, "stdin", before.stdin);
    setEnvironment(before.env);
    process.chdir(before.cwd);
  }
}

function setEnvironment(env: Surroundings["env"]): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}
