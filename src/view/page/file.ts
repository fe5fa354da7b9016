import type { Span } from "../../core/inline-markdown.ts";
import type {
  About,
  LogAnswer,
  MembersAnswer,
  MessagesAnswer,
  SearchAnswer,
  SessionAnswer,
  SessionsAnswer,
  ViewMessage,
} from "../api.ts";
import { textOfPart } from "../part-text.ts";
import { fileKeyOf, PAGE_MAX, urlOf } from "../questions.ts";
import { type Conditions, daysOf, meets } from "../session-filter.ts";
import { logOf, Replay } from "./parts/replay.ts";

// `coppice view --export` writes this page into a file, with the answers in an element. Then there is no server to ask.

type Answers = Readonly<Record<string, unknown>>;
type Asked = Readonly<Record<string, string>>;

/** Tests of the page's parts have no document. */
const holder = globalThis.document?.querySelector("#answers");
const answers: Answers | undefined = holder ? JSON.parse(holder.textContent!) : undefined;
holder?.remove();

/** True if the page is a file. It has one answer to each question that it can put. */
export const isFile = answers !== undefined;

const SNIPPET_CHARS = 200;
/** The hits of a session that a search over all of them lists. */
const HITS_OF_SESSION = 3;

/** Answers as the server would, from what the file has. */
export function answerInFile(url: string): Response {
  const { pathname, searchParams } = new URL(url, "http://view");
  const answer = answerOf(pathname, Object.fromEntries(searchParams)) ?? answers![fileKeyOf(url)];
  if (answer !== undefined) return new Response(typeof answer === "string" ? answer : JSON.stringify(answer));
  const message = "This file does not have it. `coppice view` shows it, where the store is.";
  return Response.json({ error: { code: "NOT_IN_FILE", message } }, { status: 404 });
}

/** Answers what the file does not have as it was asked, but can tell. */
function answerOf(route: string, asked: Asked): unknown {
  const [offset, limit] = [Number(asked.offset ?? 0), Number(asked.limit ?? 100)];
  const pageOf = <T>(all: readonly T[]) => ({
    shown: all.slice(offset, offset + limit),
    next: offset + limit < all.length ? offset + limit : null,
  });
  switch (route) {
    case "/api/sessions": {
      const { shown, next } = pageOf(sessionsOf(asked));
      return { sessions: shown, next };
    }
    case "/api/days":
      return { days: daysOf(sessionsOf(asked), Number(asked.offsetMinutes)) };
    case "/api/messages": {
      const later = messagesOf(asked.session!).filter(({ seq }) => seq >= Number(asked.seqFrom));
      return { messages: later.slice(0, limit), next: later[limit]?.seq ?? null };
    }
    case "/api/members": {
      const members = membersOf(asked.root!);
      return { members: pageOf(members).shown, memberCount: members.length } satisfies Partial<MembersAnswer>;
    }
    case "/api/search":
      return found(asked, limit);
  }
}

function sessionsOf(asked: Asked): SessionsAnswer["sessions"] {
  const { sinceMs, untilMs, ...rest } = asked;
  const conditions: Conditions = {
    ...rest,
    ...(sinceMs && { sinceMs: Number(sinceMs) }),
    ...(untilMs && { untilMs: Number(untilMs) }),
  };
  return (answers!["/api/sessions"] as SessionsAnswer).sessions.filter(meets(conditions));
}

function messagesOf(session: string): ViewMessage[] {
  return (answers![urlOf("/api/messages", { session })] as MessagesAnswer | undefined)?.messages ?? [];
}

/** Returns the messages of a cluster or theme as it was at the position that its handle names. */
function membersOf(handle: string): ViewMessage[] {
  const [, level, root, at] = /^(cluster|theme):(\d+)@(\d+)$/.exec(handle) ?? [];
  const logs = sessionsOf({}).map(({ id }) => ({ session: id, log: logOf(pagesOf(id)) }));
  // A fork shares the beginning of its log with others.
  const known = logs.filter(({ log }) => log.nodes.includes(Number(root)));
  const { session, log } = known.find((one) => one.log.positions.includes(Number(at))) ?? known[0] ?? {};
  if (session === undefined || log === undefined) return [];
  const { seqEnd } = answers![urlOf("/api/session", { session })] as SessionAnswer;
  const replay = new Replay(log, seqEnd);
  replay.moveTo(log.positions.filter((position) => position <= Number(at)).length);
  const named = replay.indexOf(Number(root));
  return messagesOf(session).filter(({ seq }) => {
    const cluster = replay.clusterOfSeq[seq] ?? -1;
    return cluster >= 0 && (level === "theme" ? replay.themeOf(cluster) : cluster) === named;
  });
}

function pagesOf(session: string): LogAnswer[] {
  const pages: LogAnswer[] = [];
  for (let after: number | null = 0; after !== null; after = pages.at(-1)!.next) {
    pages.push(answers![fileKeyOf(urlOf("/api/log", { session, after, limit: PAGE_MAX }))] as LogAnswer);
  }
  return pages;
}

/** Finds the messages in which every word begins a word, in the newest sessions first. */
function found({ q, session, role, sinceMs, untilMs, ...asked }: Asked, limit: number): Partial<SearchAnswer> {
  const begin = performance.now();
  const words = [...q!.matchAll(/"([^"]+)"|\S+/g)].map(([word, phrase]) => beginningOf(phrase ?? word));
  const { projects } = answers!["/api/about"] as About;
  const names = new Map(projects.map((one) => [one.project, one.name]));
  const sessions: SearchAnswer["sessions"] = [];
  let left = limit;
  let more = false;
  for (const { id, title, project, source, author } of sessionsOf(asked)) {
    if (session !== undefined && session !== id) continue;
    const hits: SearchAnswer["sessions"][number]["hits"] = [];
    for (const { id: messageId, seq, role: speaker, name, createdAtMs, verdict, parts } of messagesOf(id)) {
      if (role !== undefined && role !== speaker) continue;
      if (createdAtMs < Number(sinceMs ?? 0) || createdAtMs >= Number(untilMs ?? Infinity)) continue;
      const text = parts.map(textOfPart).join("\n");
      if (!words.every((word) => word.test(text))) continue;
      if (left === 0 || (session === undefined && hits.length === HITS_OF_SESSION)) {
        more = true;
        break;
      }
      left -= 1;
      const spans = spansOf(text, words[0]!.exec(text)!);
      const facts = { ...(name !== null && { name }), score: 1, asked: null, copyCount: 0 };
      hits.push({ messageId, seq, role: speaker, createdAtMs, verdict, spans, ...facts });
    }
    const facts = { title, project: names.get(project ?? "") ?? project, agent: source, author, changedFileCount: 0 };
    if (hits.length > 0) sessions.push({ sessionId: id, ...facts, atMs: hits[0]!.createdAtMs, hits });
  }
  const note = "Listed is what has each word. A running view also finds what is like it.";
  return { sessions, more, note, tookMs: performance.now() - begin };
}

function beginningOf(word: string): RegExp {
  const pattern = word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(/^[\p{L}\p{N}]/u.test(word) ? `(?<![\\p{L}\\p{N}])${pattern}` : pattern, "iu");
}

/** Returns the text around a match, in a line. */
function spansOf(text: string, { 0: match, index }: RegExpExecArray): Span[] {
  const end = index + match.length;
  return (
    [
      [text.slice(Math.max(0, index - SNIPPET_CHARS / 4), index), false],
      [match, true],
      [text.slice(end, end + SNIPPET_CHARS), false],
    ] as const
  ).map(([shown, isMatch]) => ({ text: shown.replace(/\s+/g, " "), style: "plain", isMatch }));
}
