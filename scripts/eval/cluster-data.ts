import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Role } from "../../src/core/message.ts";

/** A message of a conversation under evaluation. */
export interface EvalMessage {
  role: Role;
  name?: string;
  text: string;
  /** Unix milliseconds. */
  createdAtMs: number;
}

export interface Channel {
  file: string;
  messages: EvalMessage[];
  /** The index into `messages` of each annotated line; undefined if the line is an event of the server. */
  annotated: (number | undefined)[];
  /** The true conversation of each annotated line. */
  gold: number[];
}

const ANNOTATED_FROM = 1000;
const DAY_MS = 86_400_000;

/** Reads the IRC channels in `dir/irc`. Chat lines are messages; lines with `===` are events of the server. */
export function readChannels(dir: string): Channel[] {
  return filesIn(join(dir, "irc"), ".annotation.txt").map((path) => {
    const links = [...readFileSync(path, "utf8").matchAll(/^(\d+) (\d+) -/gm)].map(
      ([, a, b]) => [Number(a), Number(b)] as const,
    );
    const lines = readFileSync(path.replace(".annotation.txt", ".ascii.txt"), "utf8").split("\n");
    const messages: EvalMessage[] = [];
    const messageOfLine = new Map<number, number>();
    let dayMs = 0;
    for (const [index, line] of lines.entries()) {
      const chat = /^\[(\d\d):(\d\d)\] (?:<([^>]+)>| ?\* ?(\S+)) ?(.*)$/.exec(line);
      if (!chat) continue;
      let createdAtMs = dayMs + (Number(chat[1]) * 60 + Number(chat[2])) * 60_000;
      const before = messages.at(-1)?.createdAtMs ?? 0;
      // Times have no date. A time that is half a day or more before the last one is of the next day.
      if (createdAtMs < before - DAY_MS / 2) {
        dayMs += DAY_MS;
        createdAtMs += DAY_MS;
      }
      messageOfLine.set(index, messages.length);
      messages.push({ role: "user", name: chat[3] ?? chat[4]!, text: chat[5]!, createdAtMs });
    }
    const lowest = lowestConnected(links);
    const annotatedLines = [...lowest.keys()].filter((line) => line >= ANNOTATED_FROM).sort((a, b) => a - b);
    return {
      file: path,
      messages,
      annotated: annotatedLines.map((line) => messageOfLine.get(line)),
      gold: annotatedLines.map((line) => lowest.get(line)!),
    };
  });
}

/** Reads the first `limit` comments of each issue thread in `dir/threads`. */
export function readThreads(dir: string, limit: number): EvalMessage[][] {
  return filesIn(join(dir, "threads"), ".json").map((path) => {
    const thread = JSON.parse(readFileSync(path, "utf8")) as {
      messages: { role: Role; author: string; body: string; created_at: string }[];
    };
    return thread.messages.slice(0, limit).map(({ author, body, created_at }) => ({
      role: "user",
      name: author,
      text: body,
      createdAtMs: Date.parse(created_at),
    }));
  });
}

/** Reads the main conversations of the coding sessions in `dir/entire`. An assistant's text and its calls are one message. */
export function readCodingSessions(dir: string): EvalMessage[][] {
  return filesIn(join(dir, "entire"), ".jsonl.gz").flatMap((path) =>
    gunzipSync(readFileSync(path)).toString("utf8").trim().split("\n").map(readCodingSession),
  );
}

function readCodingSession(line: string): EvalMessage[] {
  const { messages } = JSON.parse(line) as {
    messages: { role: Role; kind: string; name?: string; text: string; ts: string; side: boolean; compact: boolean }[];
  };
  const read: EvalMessage[] = [];
  for (const { role, kind, name, text, ts, side, compact } of messages) {
    if (side || compact) continue;
    const said = kind === "tool_call" ? `${name} ${text}` : text;
    const last = read.at(-1);
    if (role === "assistant" && last?.role === "assistant") last.text += `\n${said}`;
    else read.push({ role, text: said, createdAtMs: Date.parse(ts) });
  }
  return read;
}

function filesIn(dir: string, ending: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(dir, name));
}

/** Returns, for each item that a link names, the lowest item that it is connected to. */
function lowestConnected(links: readonly (readonly [number, number])[]): Map<number, number> {
  const lowest = new Map<number, number>();
  for (const item of links.flat()) lowest.set(item, item);
  for (let changed = true; changed; ) {
    changed = false;
    for (const [a, b] of links) {
      const low = Math.min(lowest.get(a)!, lowest.get(b)!);
      if (lowest.get(a) !== low || lowest.get(b) !== low) changed = true;
      lowest.set(a, low).set(b, low);
    }
  }
  return lowest;
}
