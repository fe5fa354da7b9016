import { ownWords } from "../core/harness.ts";
import type { Message, Role } from "../core/message.ts";
import { compactionNote } from "../core/notes.ts";
import { cutLine, oneLine, plainText } from "./lines.ts";
import { isSameMatter } from "./same-matter.ts";
import { type Sentence, sentencesOf } from "./sentences.ts";
import { isProse } from "./shapes.ts";

/** What a person asked to be kept, or settled. */
export interface Commitment {
  text: string;
  messageId: number;
  seq: number;
  /** True if the person asked to remember it. */
  isAsked: boolean;
  /** The value that the person gave before. */
  was?: string;
}

interface SaidMessage {
  id: number;
  seq: number;
  role: Role;
  text: string;
  metadata?: Message["metadata"] | null;
}

// V8 takes milliseconds to compile such patterns if case is ignored. So they are in lower case, and read texts in lower case.

/** A longer message is a pasted document, whose rules are not the person's. */
const MESSAGE_CHARS_MAX = 4_000;
const LINE_CHARS_MAX = 240;
const WAS_CHARS_MAX = 60;

const KEEPING =
  "(?:keep|bear) (?:this |that |it )?in mind\\b|(?:remember|memori[sz]e|note|keep (?:a )?note|take note|make a (?:mental )?note|(?:save|store|write|keep|retain|record) (?:this|that|it)(?: down)?(?= (?:for|in|as|somewhere|handy)\\b|[:.]))(?= (?:that|this|these|the|my|our|to|we|i|it|of)\\b|[:.])|(?:do not|don['’]?t|never) (?:ever )?forget(?= (?:that|the|this|we|i)\\b|[:.])";
/** The verb is asked of the reader: it begins a clause, or follows words of asking. "I remember when" tells a memory. */
const ASKED = new RegExp(
  `(?:^|[.;:!–—] ?|, )(?:(?:and|but|so|also|just|please|pls|always|now|ok|okay|oh)[, ]+)*(?:${KEEPING})|\\b(?:please|pls|can you|could you|would you|will you|you (?:must|should|need to)|(?:want|need|like) you to) (?:${KEEPING})`,
);
/** A label before a colon or a dash, or words that say what a sentence is for. */
const LABELED =
  /^[*_]*(?:note(?: to self)?|nb|n\.b\.|todo|to do|reminder|important|fact|rule|policy|constraint|requirement|convention|preference|warning|caution|remember|decision|decided|agreed)[*_]*\s*(?:[:：]|[–—-]\s)|^(?:for (?:the record|(?:future|later|your) reference)|fyi|just so you know|(?:a |one )?(?:gentle |quick |friendly )?reminder that)\b|\b(?:don['’]t let me forget|for (?:future|later) reference|need (?:this|that|it) (?:later|again))\b/;
const DURABLE =
  /\b(?:from (?:now|here|today|this point) on(?:wards?)?|going forward|henceforth|as of (?:now|today)|until further notice|at all times|under no circumstances|without exception)\b|^(?:(?:and|but|so|also|please|pls)[, ]+)*(?:always|never)\b(?! (?:mind|give up|quit|knew|know|been|had|heard|seen|tried|happy|good|nice|great|an?|the|\w+ed)\b)|\b(?:please|we|must|should) (?:always|never) (?:use|run|add|set|keep|push|commit|deploy|write|call|make|send|put|ask|answer|check|touch|edit|change|delete|merge)\b/;
const SETTLED =
  /\bwe(?:['’]ve|['’]ll|['’]re| have| had| all| both| finally| now| just| will| are)* ?(?:settled (?:on|for)|decided(?! nothing)|agreed|opted (?:for|to)|chose|picked|went with(?! (?:my|our|him|her|them|me|you|us)\b)|go(?:ing)? with|stick(?:ing)? (?:with|to)|committed to|switched (?:to|from)|standardi[sz]ed on|lock(?:ed|ing)? in)\b|\bi(?:['’]ve| have)? (?:settled on|opted for|(?:strongly |always |really )?prefer)\b|\blet['’]?s (?:go with|stick (?:with|to)|settle on|standardi[sz]e on|agree|lock)\b|\b(?:the|our|my) (?:final )?(?:decision|verdict|consensus|preference|rule|convention) is\b/;
/** A clause that begins with taking something back, or says that it holds no longer. */
const TAKEN_BACK =
  /(?:^|[.;:!–—] ?|, )(?:(?:and|but|so|also|just|please|pls|ok|okay|oh|actually)[, ]+)*(?:forget (?:about|what|that|the|it)|never ?mind|scratch (?:that|the|it)|disregard|ignore (?:that|what|the|my)|no need to (?:remember|keep)|(?:i )?take (?:that|it) back|drop the)\b|\bno longer (?:valid|true|relevant|needed|applies|apply)\b/;

/** Taking back what was said last, without naming it. */
const LAST_TAKEN_BACK =
  /(?:^|[.;:!–—] ?|, )(?:(?:and|but|so|also|just|please|pls|ok|okay|oh|actually)[, ]+)*(?:never ?mind|(?:forget|scratch|disregard|ignore|drop)(?: about)? (?:that|it|this)|(?:i )?take (?:that|it) back)(?=\s*(?:[.,;:!–—]|$))/;

/** A label, and the words of asking, before what is to be kept. */
const LABEL = /^[*_]*\p{L}[\p{L}. ]{0,20}[*_]*\s*(?:[:：]|[–—-]\s)\s*/u;
const ASKING = /^.*?\b(?:remember|memori[sz]e|note|in mind|forget)\b[:,]?\s+(?:that\s+)?/i;
/** A number tells things apart, and an article does not. */
const SUBJECT_WORD = /(?!\b(?:the|an?|my|our|its|this|that)\b)\b[\p{L}\p{N}]+/gu;
/** Two sentences with one of these may say different things with the same words before their verbs. */
const CONDITION = /\b(?:if|when|unless|until|while|always|never)\b/i;
/** More could not be shown. The oldest go first. */
const KEPT_MAX = 200;
/** The verb between what a fact is about and its value. */
const COPULA = /\s(?:is|are|was|will be|must be|should be|has to be|now uses|uses|=)\s|\s*[:=]\s+/i;

/** What a sentence is about and says. Sentences of the same fact have the same key. */
interface Fact {
  key: string;
  value: string | undefined;
}

const found = new WeakMap<SaidMessage, { kept: Commitment[]; takenBack: string[] }>();
const facts = new WeakMap<Commitment, Fact>();

/**
 * Returns what users asked to be kept and what they settled, in order, without what was taken back: at most the newest 200. If a fact
 * is told again with another value, only the newest is returned, with the one before it. Most is recognized by English words.
 *
 * @param before  The result for earlier messages.
 */
export function commitmentsIn(messages: readonly SaidMessage[], before: readonly Commitment[] = []): Commitment[] {
  const kept = new Map(before.map((commitment) => [factIn(commitment).key, commitment]));
  for (const message of messages) {
    if (message.role !== "user" || message.text.length > MESSAGE_CHARS_MAX) continue;
    if (compactionNote(message.metadata) !== undefined) continue; // an agent's summary
    const own = readOnce(message);
    for (const sentence of own.takenBack) {
      const meant = [...kept.values()].findLast(({ text }) =>
        isSameMatter(withoutAsking(text), withoutAsking(sentence)),
      );
      if (meant !== undefined) kept.delete(factIn(meant).key);
    }
    for (const commitment of own.kept) {
      const { key, value } = factIn(commitment);
      const was = kept.has(key) ? factIn(kept.get(key)!).value : undefined;
      kept.delete(key); // what is set again comes last
      const isChanged = was !== undefined && was.toLowerCase() !== value?.toLowerCase();
      kept.set(key, isChanged ? { ...commitment, was: cutLine(was, WAS_CHARS_MAX) } : commitment);
      if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
    }
  }
  return [...kept.values()];
}

/**
 * Returns the lines that users did not take back in a later message. "Scratch that" takes back what was said last. Of a line that names
 * what it takes back, only the newest line about the same matter is meant.
 */
export function notTakenBack<Line extends { text: string; seq: number }>(
  lines: readonly Line[],
  messages: readonly SaidMessage[],
): Line[] {
  const kept = new Set(lines.toSorted((left, right) => left.seq - right.seq));
  for (const message of messages) {
    if (message.role !== "user" || message.text.length > MESSAGE_CHARS_MAX) continue;
    for (const sentence of readOnce(message).takenBack) {
      const earlier = [...kept].filter(({ seq }) => seq < message.seq);
      const meant = earlier.findLast(({ text }) => isSameMatter(withoutAsking(text), withoutAsking(sentence)));
      const isLast = meant === undefined && LAST_TAKEN_BACK.test(sentence.toLowerCase());
      const seq = isLast ? messages.findLast(({ role, seq }) => role === "user" && seq < message.seq)?.seq : undefined;
      for (const line of earlier) if (line === meant || line.seq === seq) kept.delete(line);
      for (const line of lines) if (line.seq === message.seq && isOnlyTakingBack(line.text)) kept.delete(line);
    }
  }
  return lines.filter((line) => kept.has(line));
}

function isOnlyTakingBack(text: string): boolean {
  return !/[\p{L}\p{N}]/u.test(text.toLowerCase().replace(LAST_TAKEN_BACK, ""));
}

function readOnce(message: SaidMessage): { kept: Commitment[]; takenBack: string[] } {
  let own = found.get(message);
  if (own === undefined) {
    own = readMessage(message);
    found.set(message, own);
  }
  return own;
}

function readMessage({ id, seq, text }: SaidMessage): { kept: Commitment[]; takenBack: string[] } {
  const kept: Commitment[] = [];
  const takenBack: string[] = [];
  const sentences = sentencesOf(ownWords(plainText(text))).filter(({ kind }) => kind === "prose");
  for (const [index, { text: sentence }] of sentences.entries()) {
    if (/[?？]["'”’)*_]*$/.test(sentence)) continue;
    const lower = sentence.toLowerCase();
    const isAsked = ASKED.test(lower) || LABELED.test(lower);
    if (isAsked || ((DURABLE.test(lower) || SETTLED.test(lower)) && isProse(sentence))) {
      const line = oneLine(withNext(sentence, sentences[index + 1]));
      kept.push({ text: cutLine(line, LINE_CHARS_MAX), messageId: id, seq, isAsked });
    } else if (TAKEN_BACK.test(lower)) takenBack.push(sentence);
  }
  return { kept, takenBack };
}

/** "Please remember this:" asks for what follows. */
function withNext(sentence: string, next: Sentence | undefined): string {
  return /[:：]$/.test(sentence) && next !== undefined ? `${sentence} ${next.text}` : sentence;
}

function factIn(commitment: Commitment): Fact {
  const known = facts.get(commitment) ?? factOf(commitment.text);
  facts.set(commitment, known);
  return known;
}

/** Two sentences are about the same thing if they have the same words before their verbs. */
function factOf(text: string): Fact {
  const fact = withoutAsking(text);
  const verb = CONDITION.test(fact) ? null : COPULA.exec(fact);
  const words = verb === null ? [] : (fact.slice(0, verb.index).toLowerCase().match(SUBJECT_WORD) ?? []).sort();
  if (verb === null || words.length === 0) return { key: `text ${text.toLowerCase()}`, value: undefined };
  return { key: words.join(" "), value: fact.slice(verb.index + verb[0].length).replace(/[.!]+$/, "") };
}

function withoutAsking(text: string): string {
  const lower = text.toLowerCase();
  const fact = LABELED.test(lower) ? text.replace(LABEL, "") : text;
  return ASKED.test(lower) ? fact.replace(ASKING, "") : fact;
}
