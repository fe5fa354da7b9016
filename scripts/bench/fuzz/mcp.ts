import { once } from "node:events";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { openStore, type Store } from "../../../src/index.ts";
import { serve } from "../../../src/mcp/server.ts";
import { checkVerified } from "./importers.ts";
import { mutatedBytes } from "./odd-files.ts";
import { mutatedJson, oddJson } from "./odd-json.ts";
import { oddText } from "./odd-texts.ts";
import type { Random } from "./random.ts";
import { type OpenTarget, type Target, UntypedError } from "./target.ts";

/** Arguments that each tool accepts. Most calls change some of them. */
const TOOL_CALLS: Record<string, object> = {
  recall: {
    query: "the deploy",
    limit: 3,
    offset: 0,
    project: "web",
    roles: ["user"],
    since: "2026-01-01",
    tokensMax: 500,
  },
  expand: { target: "1", level: "step", limit: 3, offset: 0 },
  get_context: { sessionId: "a", query: "the deploy", scope: "session", strategy: "union-find", tokensMax: 1_000 },
  list_sessions: { project: "web", limit: 3, offset: 0 },
  list_subjects: { limit: 3 },
  lost: { project: "web", offset: 0 },
  recap: { since: "7d", limit: 3 },
  append: {
    sessionId: "a",
    role: "user",
    content: "Another question.",
    id: "m1",
    metadata: { a: 1 },
    title: "A title",
  },
};
const REQUESTS: readonly { method: string; params: object }[] = [
  { method: "tools/list", params: {} },
  { method: "resources/list", params: { cursor: "50" } },
  { method: "resources/templates/list", params: {} },
  { method: "resources/read", params: { uri: "coppice://session/a" } },
  { method: "resources/read", params: { uri: "coppice://root/theme:1" } },
  {
    method: "completion/complete",
    params: { ref: { type: "ref/resource", uri: "coppice://session/{id}" }, argument: { name: "id", value: "a" } },
  },
  {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  },
];
const INTERNAL_ERROR = -32603;

interface Answer {
  id?: unknown;
  method?: string;
  error?: { code: number; message: string };
  result?: { _meta?: Record<string, { code?: string } | undefined> };
}

/** Sends odd lines to a server in this process: odd arguments, odd requests, damaged JSON, and many requests at once. */
export const mcp: Target = {
  open: async (folder) => {
    const target = new OpenMcp(folder);
    await target.connect();
    return target;
  },
};

class OpenMcp implements OpenTarget {
  readonly #store: Store;
  #input = new PassThrough();
  #ended: Promise<void> = Promise.resolve();
  #isEnded = true;
  #lastId = 0;
  #waiting = new Map<unknown, () => void>();
  /** The last wrong answer of the server to this input. */
  #fault: string | undefined;

  constructor(folder: string) {
    this.#store = openStore(join(folder, "store.db"));
    const session = this.#store.session("a", { project: "web", hotSize: 4, overlap: 1, evictBatch: 2 });
    for (let count = 0; count < 20; count++) {
      session.append({ role: count % 2 === 0 ? "user" : "assistant", content: `The deploy of region ${count} fails.` });
    }
  }

  async connect(): Promise<void> {
    this.#input = new PassThrough();
    const output = new PassThrough();
    let rest = "";
    output.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#take(line);
    });
    this.#isEnded = false;
    this.#ended = serve({
      loadAccess: async () => {
        const open = () => this.#store;
        return { openToRead: open, openToWrite: open, close: () => {} };
      },
      project: undefined,
      allowAppend: true,
      redact: async (text) => text,
      input: this.#input,
      output,
    }).finally(() => {
      this.#isEnded = true;
    });
    await (await this.#request(REQUESTS.at(-1)!)).answered;
    await this.#write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async feed(random: Random): Promise<void> {
    this.#fault = undefined;
    if (this.#isEnded) await this.connect();
    const answers: Promise<void>[] = [];
    const count = random.chance(0.02) ? 200 : 1 + random.below(4);
    for (let sent = 0; sent < count; sent++) {
      if (random.chance(0.7)) answers.push((await this.#request(oddRequest(random))).answered);
      else await this.#write(Buffer.concat([oddLine(random), Buffer.from("\n")]));
    }
    answers.push((await this.#request({ method: "ping", params: "{}" })).answered);
    await Promise.race([Promise.all(answers), this.#ended]);
    if (this.#fault !== undefined) throw new UntypedError(this.#fault);
  }

  async close(): Promise<void> {
    this.#input.end();
    await this.#ended;
    checkVerified(this.#store);
    this.#store.close();
  }

  /** Resolves when the request is sent, with a promise that resolves when it is answered. @param params  As JSON, or as an object. */
  async #request({
    method,
    params,
  }: {
    method: string;
    params: object | string;
  }): Promise<{ answered: Promise<void> }> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    const json = typeof params === "string" ? params : JSON.stringify(params);
    await this.#write(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${json}}\n`);
    return { answered };
  }

  /** Waits, as for a full pipe: what waits to be read must not count with the server's memory. */
  async #write(line: string | Buffer): Promise<void> {
    if (!this.#input.write(line)) await Promise.race([once(this.#input, "drain"), this.#ended]);
  }

  #take(line: string): void {
    let answer: Answer;
    try {
      answer = JSON.parse(line);
    } catch {
      this.#fault = `the server wrote a line that is no JSON: ${line.slice(0, 300)}`;
      return;
    }
    const failure = answer.result?._meta?.["coppice/error"]?.code;
    if (answer.error?.code === INTERNAL_ERROR || failure === "UNEXPECTED") this.#fault = line.slice(0, 600);
    this.#waiting.get(answer.id)?.();
    this.#waiting.delete(answer.id);
  }
}

/** Returns a request that must be answered, with odd parameters. */
function oddRequest(random: Random): { method: string; params: string } {
  if (random.chance(0.7)) {
    const [name, args] = random.pick(Object.entries(TOOL_CALLS));
    const given = random.chance(0.1) ? oddJson(random) : mutatedJson(structuredClone(args), random);
    return { method: "tools/call", params: `{"name":${JSON.stringify(name)},"arguments":${given}}` };
  }
  if (random.chance(0.1)) return { method: oddText(random), params: "{}" };
  const { method, params } = random.pick(REQUESTS);
  // The protocol says that params are an object. Other requests are sent as odd lines, and need no answer.
  const json = mutatedJson(structuredClone(params), random);
  return { method, params: json.startsWith("{") ? json : "{}" };
}

/** Returns a line that need not be answered. */
function oddLine(random: Random): Buffer {
  const request = { jsonrpc: "2.0", id: "odd", ...random.pick(REQUESTS) };
  switch (random.below(5)) {
    case 0:
      return Buffer.from(oddJson(random));
    case 1:
      return Buffer.from(oddText(random).replaceAll("\n", " "));
    case 2:
      return Buffer.from(mutatedJson(request, random));
    case 3:
      return mutatedBytes(Buffer.from(JSON.stringify(request)), random);
    default: {
      const method = random.pick(["notifications/progress", "notifications/roots/list_changed", oddText(random)]);
      return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${oddJson(random)}}`);
    }
  }
}
