import type { Role } from "../core/message.ts";
import { cutLine, oneLine, plainText } from "./lines.ts";
import { isSameMatter, weightsIn } from "./same-matter.ts";
import { type Sentence, sentencesOf } from "./sentences.ts";
import { isProse } from "./shapes.ts";
import { withoutHarness } from "./statements.ts";

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
}

/** A longer message is a pasted document, whose rules are not the person's. */
const MESSAGE_CHARS_MAX = 4_000;
const LINE_CHARS_MAX = 240;
const WAS_CHARS_MAX = 60;

const KEEPING =
  "(?:keep|bear) (?:this |that |it )?in mind\\b|(?:remember|memori[sz]e|note|keep (?:a )?note|take note|make a (?:mental )?note|(?:save|store|write|keep|retain|record) (?:this|that|it)(?: down)?(?= (?:for|in|as|somewhere|handy)\\b|[:.]))(?= (?:that|this|these|the|my|our|to|we|i|it|of)\\b|[:.])|(?:do not|don['’]?t|never) (?:ever )?forget(?= (?:that|the|this|we|i)\\b|[:.])";
/** The verb is asked of the reader: it begins a clause, or follows words of asking. "I remember when" tells a memory. */
const ASKED = new RegExp(
  `(?:^|[.;:!–—] ?|, )(?:(?:and|but|so|also|just|please|pls|always|now|ok|okay|oh)[, ]+)*(?:${KEEPING})|\\b(?:please|pls|can you|could you|would you|will you|you (?:must|should|need to)|(?:want|need|like) you to) (?:${KEEPING})`,
  "iu",
);
/** A label before a colon or a dash, or words that say what a sentence is for. */
const LABELED =
  /^[*_]*(?:note(?: to self)?|nb|n\.b\.|todo|to do|reminder|important|fact|rule|policy|constraint|requirement|convention|preference|warning|caution|remember|decision|decided|agreed)[*_]*\s*(?:[:：]|[–—-]\s)|^(?:for (?:the record|(?:future|later|your) reference)|fyi|just so you know|(?:a |one )?(?:gentle |quick |friendly )?reminder that)\b|\b(?:don['’]t let me forget|for (?:future|later) reference|need (?:this|that|it) (?:later|again))\b/i;
const DURABLE =
  /\b(?:from (?:now|here|today|this point) on(?:wards?)?|going forward|henceforth|as of (?:now|today)|until further notice|at all times|under no circumstances|without exception)\b|^(?:(?:and|but|so|also|please|pls)[, ]+)*(?:always|never)\b(?! (?:mind|give up|quit|knew|know|been|had|heard|seen|tried|happy|good|nice|great|an?|the|\w+ed)\b)|\b(?:please|you|we|must|should) (?:must |should )?(?:always|never) (?:use|run|add|set|keep|push|commit|deploy|write|call|make|send|put|ask|answer|check|touch|edit|change|delete|merge)\b/i;
const SETTLED =
  /\bwe(?:['’]ve|['’]ll|['’]re| have| had| all| both| finally| now| just| will| are)* ?(?:settled (?:on|for)|decided|agreed|opted (?:for|to)|chose|picked|went with|go(?:ing)? with|stick(?:ing)? (?:with|to)|committed to|switched (?:to|from)|standardi[sz]ed on|lock(?:ed|ing)? in)\b|\bi(?:['’]ve| have)? (?:settled on|opted for|(?:strongly |always |really )?prefer)\b|\blet['’]?s (?:go with|stick (?:with|to)|settle on|standardi[sz]e on|agree|lock)\b|\b(?:the|our|my) (?:final )?(?:decision|verdict|consensus|plan|preference|rule|convention) (?:is|was)\b/i;
const TAKEN_BACK =
  /\b(?:forget (?:about|what|that|the)|never ?mind|scratch (?:that|the)|disregard|ignore (?:that|what|the|my)|no need to (?:remember|keep)|(?:no longer|not) (?:valid|true|relevant|needed|applies|apply)|take(?:s|n)? (?:that|it) back|drop the)\b/i;

/** A label, and the words of asking, before what is to be kept. */
const LABEL = /^[*_]*\p{L}[\p{L}. ]{0,20}[*_]*\s*(?:[:：]|[–—-]\s)\s*/u;
const ASKING =
  /^.*?\b(?:remember|memori[sz]e|note|in mind|forget|record|reference|reminder|know|on|with|for|decided|agreed)\b[:,]?\s+(?:that\s+)?/i;
/** The verb between what a fact is about and its value. */
const COPULA = /\s(?:is|are|was|will be|must be|should be|has to be|now uses|uses|=)\s|\s*[:=]\s+/i;

const found = new WeakMap<SaidMessage, { kept: Commitment[]; takenBack: string[] }>();

/**
 * Returns what users asked to be kept and what they settled, in order, without what was taken back. If a fact is told again with
 * another value, only the newest is returned, with the one before it. Most is recognized by English words.
 */
export function commitmentsIn(messages: readonly SaidMessage[]): Commitment[] {
  const kept: Commitment[] = [];
  for (const message of messages) {
    if (message.role !== "user" || message.text.length > MESSAGE_CHARS_MAX) continue;
    let own = found.get(message);
    if (own === undefined) {
      own = readMessage(message);
      found.set(message, own);
    }
    for (const sentence of own.takenBack) removeLast(kept, ({ text }) => isSameMatter(factOf(text), factOf(sentence)));
    for (const commitment of own.kept) {
      const before = removeLast(kept, ({ text }) => isOfSameFact(text, commitment.text));
      const was = before && toldValue(before.text);
      const isChanged = was !== undefined && was.toLowerCase() !== toldValue(commitment.text)?.toLowerCase();
      kept.push(isChanged ? { ...commitment, was: cutLine(was, WAS_CHARS_MAX) } : commitment);
    }
  }
  return kept;
}

function readMessage({ id, seq, text }: SaidMessage): { kept: Commitment[]; takenBack: string[] } {
  const kept: Commitment[] = [];
  const takenBack: string[] = [];
  const sentences = sentencesOf(plainText(withoutHarness(text))).filter(({ kind }) => kind === "prose");
  for (const [index, { text: sentence }] of sentences.entries()) {
    if (/[?？]["'”’)*_]*$/.test(sentence)) continue;
    const isAsked = ASKED.test(sentence) || LABELED.test(sentence);
    if (TAKEN_BACK.test(sentence) && !ASKED.test(sentence)) takenBack.push(sentence);
    else if (isAsked || ((DURABLE.test(sentence) || SETTLED.test(sentence)) && isProse(sentence))) {
      const line = oneLine(withNext(sentence, sentences[index + 1]));
      kept.push({ text: cutLine(line, LINE_CHARS_MAX), messageId: id, seq, isAsked });
    }
  }
  return { kept, takenBack };
}

/** "Please remember this:" asks for what follows. */
function withNext(sentence: string, next: Sentence | undefined): string {
  return /[:：]$/.test(sentence) && next !== undefined ? `${sentence} ${next.text}` : sentence;
}

function removeLast(kept: Commitment[], isMeant: (commitment: Commitment) => boolean): Commitment | undefined {
  const index = kept.findLastIndex(isMeant);
  return index === -1 ? undefined : kept.splice(index, 1)[0];
}

/** Returns true if two facts are about the same thing, by the words before their verbs. */
function isOfSameFact(left: string, right: string): boolean {
  if (left.toLowerCase() === right.toLowerCase()) return true;
  const [a, b] = [subjectOf(left), subjectOf(right)];
  return a !== undefined && a === b;
}

/** Returns a text without the words of asking. */
function factOf(text: string): string {
  return (LABELED.test(text) ? text.replace(LABEL, "") : text).replace(ASKING, "");
}

function subjectOf(text: string): string | undefined {
  const fact = factOf(text);
  const verb = COPULA.exec(fact);
  if (verb === null) return undefined;
  const words = [...weightsIn(fact.slice(0, verb.index)).keys()].sort();
  return words.length === 0 ? undefined : words.join(" ");
}

function toldValue(text: string): string | undefined {
  const fact = factOf(text);
  const verb = COPULA.exec(fact);
  return verb === null ? undefined : fact.slice(verb.index + verb[0].length).replace(/[.!]+$/, "");
}
