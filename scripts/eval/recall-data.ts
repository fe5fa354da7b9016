import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { MessageInput } from "../../src/index.ts";

/** A message of a corpus, with the id by which gold answers name it. */
export interface CorpusMessage {
  id: string;
  input: MessageInput;
  /** The text of the message in a plain index of the corpus. */
  text: string;
}

export interface Question {
  text: string;
  /** Ids of messages, or of sessions if the corpus asks for sessions. */
  gold: ReadonlySet<string>;
  category: string;
  /** Only LoCoMo has answers. */
  answer?: string;
  /** Only commits have times. */
  atMs?: number;
}

/** Sessions that are searched together. */
export interface Corpus {
  project: string;
  sessions: { id: string; messages: CorpusMessage[] }[];
  questions: Question[];
}

/** Reads LoCoMo: a corpus for each conversation, a session for each date, and the questions of categories 1 to 4. */
export function readLocomo(dataFolder: string): Corpus[] {
  const file = join(dataFolder, "locomo", "locomo.dev.json");
  if (!existsSync(file)) return [];
  interface Turn {
    speaker: string;
    dia_id: string;
    text: string;
    blip_caption?: string;
  }
  interface Sample {
    sample_id: string;
    conversation: Record<string, string | Turn[]>;
    qa: { question: string; answer?: string | number; evidence?: string[]; category: number }[];
  }
  return (JSON.parse(readFileSync(file, "utf8")) as Sample[]).map(({ sample_id, conversation, qa }) => {
    const sessions: Corpus["sessions"] = [];
    for (let number = 1; conversation[`session_${number}`] !== undefined; number++) {
      const date = conversation[`session_${number}_date_time`] as string;
      const messages = (conversation[`session_${number}`] as Turn[]).map((turn, index): CorpusMessage => {
        const said = turn.blip_caption === undefined ? turn.text : `${turn.text} [${turn.blip_caption}]`;
        return {
          id: turn.dia_id,
          // Both speakers are people, so both are users.
          input: { role: "user", name: turn.speaker, content: said, createdAt: timeOf(date) + index },
          text: `${date} ${turn.speaker}: ${said}`,
        };
      });
      sessions.push({ id: `${sample_id}-${number}`, messages });
    }
    const known = new Set(sessions.flatMap(({ messages }) => messages.map(({ id }) => id)));
    const questions = qa
      .filter(({ category }) => category >= 1 && category <= 4)
      .map(({ question, answer = "", evidence = [], category }) => ({
        text: question,
        gold: new Set(evidence.flatMap(turnIdsOf).filter((id) => known.has(id))),
        category: String(category),
        answer: String(answer),
      }));
    return { project: sample_id, sessions, questions: questions.filter(({ gold }) => gold.size > 0) };
  });
}

/** Reads the ids of turns, such as `D8:6; D9:17`, `D:11:26` or `D30:05`. */
function turnIdsOf(evidence: string): string[] {
  return Array.from(evidence.matchAll(/D:?(\d+):(\d+)/g), ([, session, turn]) => `D${Number(session)}:${Number(turn)}`);
}

/** Reads a time such as "1:56 pm on 8 May, 2023". */
function timeOf(date: string): number {
  const [time, day] = date.split(" on ");
  const parsed = Date.parse(`${day} ${time} UTC`);
  if (Number.isNaN(parsed)) throw new Error(`Not a date of LoCoMo: ${date}`);
  return parsed;
}

/** Reads BEAM: a corpus for each chat, which is one session, and the questions of all abilities but abstention. */
export function readBeam(dataFolder: string): Corpus[] {
  const folder = join(dataFolder, "beam", "100K");
  if (!existsSync(folder)) return [];
  interface Turn {
    id: number;
    role: "user" | "assistant";
    content: string;
  }
  return readdirSync(folder)
    .sort()
    .map((chat) => {
      const batches = readJson<{ turns: Turn[][] }[]>(join(folder, chat, "chat.json"));
      const messages = batches
        .flatMap(({ turns }) => turns.flat())
        .map(({ id, role, content }): CorpusMessage => {
          const text = content.replace(/\s*->->[^\n]*$/, "");
          return { id: String(id), input: { role, content: text, createdAt: BEAM_TIME }, text };
        });
      const known = new Set(messages.map(({ id }) => id));
      type Probe = { question: string; source_chat_ids?: unknown };
      const probes = readJson<Record<string, Probe[]>>(join(folder, chat, "probing_questions.json"));
      const questions = Object.entries(probes).flatMap(([category, list]) =>
        list.map(({ question, source_chat_ids: sources }) => ({
          text: question,
          gold: new Set(leavesOf(sources).filter((id) => known.has(id))),
          category,
        })),
      );
      return {
        project: `beam-${chat}`,
        sessions: [{ id: `beam-${chat}`, messages }],
        questions: questions.filter(({ category, gold }) => category !== "abstention" && gold.size > 0),
      };
    });
}

/** The time of the first message, because BEAM's messages have no times. */
const BEAM_TIME = Date.UTC(2024, 0, 1);

function leavesOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  return typeof value === "object" ? Object.values(value).flatMap(leavesOf) : [String(value)];
}

/** An entry of a session of `entire/`, as it is in the file. */
export interface EntireEntry {
  ts: string;
  role: "user" | "assistant" | "tool";
  kind: "text" | "tool_call" | "tool_result";
  text: string;
  id?: string;
  name?: string;
  err?: boolean;
  /** True for what a subagent did. */
  side?: boolean;
  /** True for the summary that the agent wrote when it compacted the session. */
  compact?: boolean;
}

/** Reads the sessions of `entire/` with all their entries. */
export function readEntireSessions(dataFolder: string): { sid: string; messages: EntireEntry[] }[] {
  const file = join(dataFolder, "entire", "sessions.jsonl.gz");
  if (!existsSync(file)) return [];
  const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n");
  return lines.map((line) => JSON.parse(line) as { sid: string; messages: EntireEntry[] });
}

/** Reads Entire: one corpus of coding sessions. A commit's subject asks for the sessions that made the commit. */
export function readEntire(dataFolder: string): Corpus[] {
  return entireCorpus(dataFolder, ({ kind, text }) => kind !== "tool_call" || !text.includes("git commit"));
}

/**
 * Reads Entire like `readEntire`, but no message tells which commit its session made. Results of calls of `git commit`
 * are left out, and so is every message that contains the subject of any question.
 */
export function readCommits(dataFolder: string): Corpus[] {
  const subjects = readCommitQueries(dataFolder).map(({ query }) => onOneLine(query));
  const committing = new Set<string>();
  return entireCorpus(dataFolder, ({ id, kind, text }) => {
    const isCommit = kind === "tool_call" && text.includes("git commit");
    if (isCommit && id !== undefined) committing.add(id);
    if (isCommit || (kind === "tool_result" && committing.has(id ?? ""))) return false;
    const compared = onOneLine(text);
    return !subjects.some((subject) => compared.includes(subject));
  });
}

function entireCorpus(dataFolder: string, isKept: (entry: EntireEntry) => boolean): Corpus[] {
  const sessions = readEntireSessions(dataFolder).map(({ sid, messages }) => ({
    id: sid,
    messages: messages
      .filter(isKept)
      .map((entry, index) => ({ id: `${sid}:${index}`, input: entireInput(entry), text: entry.text })),
  }));
  if (sessions.length === 0) return [];
  const questions = readCommitQueries(dataFolder).map(({ query, gold, date }) => {
    return { text: query, gold: new Set(gold), category: "commit", atMs: Date.parse(date) };
  });
  return [{ project: "entire", sessions, questions }];
}

function readCommitQueries(dataFolder: string): { query: string; gold: string[]; date: string }[] {
  const file = join(dataFolder, "entire", "commit_queries.json");
  return existsSync(file) ? readJson(file) : [];
}

function onOneLine(text: string): string {
  return text.toLowerCase().replace(/\s+/g, " ").trim();
}

export function entireInput(entry: EntireEntry): MessageInput {
  const { ts, role, kind, text, id = "", name = "tool", err = false, compact } = entry;
  const createdAt = Date.parse(ts);
  // As the importers mark it.
  if (compact === true) return { role, content: text, createdAt, metadata: { isCompactSummary: true } };
  if (kind === "text") return { role, content: text, createdAt };
  if (kind === "tool_result") {
    return { role: "tool", parts: [{ type: "tool_result", toolCallId: id, content: text, isError: err }], createdAt };
  }
  return { role: "assistant", parts: [{ type: "tool_call", toolCallId: id, name, args: argsOf(text) }], createdAt };
}

/** Parses arguments. They were cut at 2,000 characters, so text that is not JSON is kept as text. */
function argsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, "utf8")) as T;
}
