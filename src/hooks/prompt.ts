import { estimatingTokenCounter } from "../core/tokens.ts";
import { withVerdict } from "../core/verdicts.ts";
import { markedParts } from "../importers/injected.ts";
import { beginningThatFits } from "../models/lines.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { titleOfSession } from "../models/title.ts";
import type { RecallHit } from "../recall/hits.ts";
import { passageOf } from "../recall/passage.ts";
import { recallUnasked } from "../recall/unasked.ts";
import { QuickReader, type Repositories } from "../store/index.ts";
import type { SessionMemory } from "./begin.ts";
import type { Firing } from "./firing.ts";
import { type Line, quoted, type Said, type Section, said, titleOf } from "./quotation.ts";
import { recordOfLost } from "./work-record.ts";

/** Only the beginning and the end of a long prompt are searched, because its middle is usually a pasted log. */
const PROMPT_CHARS_MAX = 3_000;
const PROMPT_END_CHARS = 800;

/** A hook speaks at a prompt if the confidence of `recall` is at least this. */
const CONFIDENCE_MIN = 0.3;
/** The most messages that are not indexed yet. */
const TAIL_MAX = 1_000;

/** The most messages that are quoted for one prompt, and the most tokens of all and of a title. */
const NEAR_MAX = 5;
const TITLE_TOKENS_MAX = 15;
const NEAR_TOKENS_MAX = 200;
/** A message is quoted only if it has this share of the prompt's words that another one has. */
const NEAR_SHARE = 0.5;

const ASKS = /[?？؟]/;

/** `2026-11-29` */
const DAY_CHARS = 10;

const countOf = estimatingTokenCounter.count;

/** Returns the answer to a prompt; undefined if there is nothing to quote. */
export function sayToPrompt(repositories: Repositories, firing: Firing, memory: SessionMemory): Said | undefined {
  const reader = new QuickReader(repositories.database.client);
  return repositories.database.read(() => {
    const ownIds = firing.sessionId === "" ? [] : reader.sessionIds(firing.sessionId);
    const near = nearSections(repositories, reader, firing, ownIds, memory);
    // Some agents accept no text right after a compaction. For them, the next prompt brings back what was decided.
    if (memory.isBare) return said(quoted([...recordOfLost(reader, ownIds), ...near]), "what was decided before");
    return said(
      quoted(near, { tokensMax: NEAR_TOKENS_MAX, countTokens: countOf, mayCut: true }),
      "what was said about this before",
    );
  });
}

/** Returns what answers the prompt, a section for each session. */
function nearSections(
  repositories: Repositories,
  reader: QuickReader,
  firing: Firing,
  ownIds: readonly string[],
  memory: SessionMemory,
): Section[] {
  const prompt = saidIn(firing.prompt);
  if (firing.project === undefined || prompt.trim() === "") return [];
  // While the index is made again, a search would read messages without end, and the agent waits.
  if (repositories.database.read(() => repositories.fullText.tail(TAIL_MAX + 1)).length > TAIL_MAX) return [];
  const shownIds = new Set([...memory.quoted, ...reader.idsSince(ownIds, memory.compactedAtMs)]);
  const project = reader.projectNow(firing.project);
  const { hits, weights } = recallUnasked(repositories, prompt, project, { shownIds, limit: NEAR_MAX });
  if ((hits[0]?.confidence ?? 0) < CONFIDENCE_MIN) return [];
  const shares = hits.map(({ text }) => weightIn(text, weights));
  const least = NEAR_SHARE * Math.max(...shares);
  const near = hits.filter((_, at) => shares[at]! >= least);
  const told = new Set([...shownIds, ...near.map(({ messageId }) => messageId)]);
  const bySession = new Map<string, RecallHit[]>();
  for (const hit of near) bySession.set(hit.sessionId, [...(bySession.get(hit.sessionId) ?? []), hit]);
  return Array.from(bySession, ([id, own]): Section => {
    const session = reader.session(id);
    const whole = session && titleOf(titleOfSession(session.title, reader.opening(id)));
    const title = whole && beginningThatFits(whole, whole.length, (text) => countOf(text) <= TITLE_TOKENS_MAX);
    // The last message about a matter has its outcome, and words tell more than the output of a tool.
    own.sort((left, right) => Number(left.role === "tool") - Number(right.role === "tool") || right.seq - left.seq);
    const on = new Date(Math.max(...own.map(({ createdAtMs }) => createdAtMs))).toISOString().slice(0, DAY_CHARS);
    return {
      name: "session",
      attributes: { title, on },
      lines: own.flatMap((hit) => lineOf(reader, hit, weights, told)),
    };
  });
}

/** Returns how much of the prompt's words a text has. */
function weightIn(text: string, weights: ReadonlyMap<string, number>): number {
  const stems = new Set(searchWords(text).map(searchStem));
  return [...stems].reduce((sum, stem) => sum + (weights.get(stem) ?? 0), 0);
}

/** Returns what the user typed. Some agents put the output of earlier hooks before it. */
function saidIn(prompt: string): string {
  const parts = markedParts([{ type: "text", text: prompt }]);
  const said = parts.flatMap((part) => (part.type === "text" && part.injected !== true ? [part.text] : [])).join("\n");
  if (said.length <= PROMPT_CHARS_MAX) return said;
  return `${said.slice(0, PROMPT_CHARS_MAX - PROMPT_END_CHARS)}\n${said.slice(-PROMPT_END_CHARS)}`;
}

/** Returns what a hit says. An old question is worth nothing without its answer, which says it in its place, unless it is told already. */
function lineOf(
  reader: QuickReader,
  hit: RecallHit,
  weights: ReadonlyMap<string, number>,
  told: ReadonlySet<number>,
): Line[] {
  const line = (id: number, by: string, text: string): Line => {
    const verdict = id === hit.messageId ? hit.verdict : reader.verdictsOn([id]).get(id);
    return { kind: "said", id, by, text: withVerdict({ text, verdict }) };
  };
  if (hit.role !== "user" || !ASKS.test(hit.text)) return [line(hit.messageId, hit.role, hit.snippet)];
  const answer = reader.answerTo(hit);
  if (answer === undefined || told.has(answer.id)) return [];
  return [line(answer.id, answer.role, passageOf(answer.text, false, weights).text)];
}
