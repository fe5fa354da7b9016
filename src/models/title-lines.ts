import { TITLE_CHARS_MAX } from "../core/ends.ts";
import { ownWords } from "../core/harness.ts";
import type { Role } from "../core/message.ts";
import { cutLine, oneLine, plainText } from "./lines.ts";
import { weightsIn } from "./same-matter.ts";
import { type Sentence, sentencesOf } from "./sentences.ts";
import { anyOf, isCode, isError, isProse } from "./shapes.ts";
import { openTasks, proseAndCalls } from "./statements.ts";
import { isStopWord } from "./stop-words.ts";
import { isTelling, namesNothing, saysNothing } from "./told.ts";

/** A clause that is shorter says too little. */
const CLAUSE_CHARS_MIN = 24;
const LONG_CLAUSE_CHARS = 36;

/** A line of a message, shortened to a title. */
export interface TitleLine {
  text: string;
  /** How well lines of this kind name the work. */
  value: number;
  /** True for a user's line that says too little without what was said before. */
  points?: boolean;
}

/** A request names the work, and a commit's subject is already a title. Most descriptions of calls would fit any work. */
const VALUE = {
  asked: 2.4,
  commit: 2.6,
  task: 1.6,
  decided: 1.3,
  intended: 1.2,
  described: 0.6,
  committed: 1,
  cameOut: 0.7,
};
/** From this value on, a line says what was wanted or done. Those of less value announce or describe a step of the work. */
export const TOLD_VALUE = VALUE.decided;
/** The value of what an agent is going to do. */
export const INTENDED_VALUE = VALUE.intended;
/** A command of the agent's program, or a mark such as `[Request interrupted by user]`. It asks for nothing. */
export const NOTED_VALUE = 0.05;
/** The value of the first sentence is halved after this many sentences. */
const HALVING_SENTENCES = 6;
const SENTENCES_MAX = 10;
/** A sentence of fewer words makes a worse title than the words that a cluster's messages share. */
const SENTENCE_WORDS_MIN = 3;
const ANNOUNCEMENT_FACTOR = 0.4;
const ANNOUNCED_FACTOR = 0.8;
const ANNOUNCES_ONLY = /\b(?:following|below|this|these|here|how|what|note|notes)\b/i;
/** The factor for a sentence that tells of something beside one that asks for something. */
const BACKGROUND_FACTOR = 0.35;
const STATEMENT_FACTOR = 0.7;
/** The factor for the first sentence that asks for something. */
const FIRST_ASK_FACTOR = 1.3;
/** The factor for a sentence that answers, or that points at what only the conversation shows. */
const POINTING_FACTOR = 0.3;
/** A sentence with so many words that tell something says what it is about, whatever it points at. */
const TELLING_WORDS_MIN = 4;
const TELLING_WORD_WEIGHT = 0.5;
/** The factor for a line that is cut where no phrase ends, or of which only a condition is left. */
const CUT_FACTOR = 0.5;
/** The factor for what stands behind a prompt of a terminal. */
const PASTED_FACTOR = 0.1;
/** The factor for a person's sentence that is mostly names, or a name and its value. */
const NOT_PROSE_FACTOR = 0.4;

const DESCRIPTION_CHARS_MAX = 80;

/** A block of an agent's program that is longer than what is read of the message. */
const OPEN_BLOCK = /^\s*<([a-z]+(?:[-_][a-z]+)+)>(?![\s\S]*<\/\1>)[\s\S]*/m;
const TYPED_COMMAND = /<(?:command-name|bash-input)>([^<\n]+)<(?:[\s\S]*<command-args>([^<]+))?/;
const CONTINUED = /^This session is being continued from a previous conversation/;
/** `[Request interrupted by user]` */
const PLACEHOLDER = /^\s*\[([^\]]*)\]\s*$/;
/** A line of a terminal: a prompt, a call as an agent shows it, what is shown below one, or a line of a stack trace. */
const TERMINAL_LINE =
  /^(?:[❯$%#>]\s|⎿|[⏺●]\s*\w+\(|at .*:\d+\)?$|\w+: .*<\S+@\S+>$|Current (?:git|pull request|branch)\b[^:]*: |\[?\d{1,2}:\d\d(?::\d\d)?\b)/;
/** A prompt, and a command behind it. */
const PROMPT_LINE = /^[❯$%]\s/;
/** The title of an issue or a pull request, and its other fields, as GitHub's program lists them. */
const LISTED_TITLE = /(?:^|: )title:\t(\S.*)$/m;
const LISTED_FIELD = /^[a-z][a-z-]*:\t.*$/gm;
/** The verdict of a program, if it was pasted. */
const VERDICT = /^[✓✔✗✘⨯×]/;
/** `state, err = s.open(path)` */
const ASSIGNMENT = /^[\w.]+(?:, ?[\w.]+)* :?= (?:await )?[\w.]+\(/;
/** `src/lock.go:73`, `https://…`, `Context` */
const LONE_WORD = /^[!-~]+$/;
/** `Session id: 7f3a-11`, `enable -> writes the file` */
const PAIR = /^[^:：]+[:：]\s+\S+$| [-=]> |→/;
const COMMIT =
  /\bgit commit\b[^\n]*?\s-[a-z]*m\s+(?:"\$\(cat <<-?\s*['"]?\w+['"]?\s*|["'])([^\n"]+)|\bgh (?:pr|issue) create\b[^\n]*?--title\s+["']([^\n"]+)/;
/** A tool that opens an issue, a task or the like, whose title is its first argument. */
const OPENS = /(?:^|_)(?:create|open|new)_(?:issue|ticket|task|pull_request|pr)$/;

/** Says that something is done. */
const CAME_OUT =
  /\b(?:pass(?:es|ed)?|works?|fixed|added|removed|renamed|moved|updated|created|merged|pushed|committed|reverted|implemented|deleted|replaced|rebased|released|complete[d]?|resolved|refactored|extracted|rewritten|wired|no longer)\b/i;
/** `I've added …`: what was done begins with what follows. */
const DONE_BY = /^(?:i|we)(?:['’]ve| have)? (?:(?:now|also|just|successfully) )*(?=\p{Ll}+(?:ed|t)\b)/iu;
/** Asks for something. */
const ASKS =
  /[?？]["'”’)]?$|(?:して|ください|たい|ほしい|教えて|ますか)[。．！]?$|^(?:please|i(?:['’]d| would) (?:like|love|rather)|i(?: do)? (?:want|need)|i wonder|we (?:need|should|could|want)|(?:we|it|there|this) should|it would be|let['’]?s|should|consider|can|could|would|why|how|what|where|which|does|do(?! not)|is there|are there|any)\b|^(?:add|adjust|allow|analy[sz]e|apply|build|bump|change|check|clean|compare|commit|conduct|convert|create|debug|delete|describe|design|detect|disable|document|draft|drop|enable|evaluate|examine|explain|explore|extend|extract|figure|find|finish|fix|fold|generate|give|handle|help|implement|improve|include|inspect|install|integrate|introduce|investigate|invert|keep|limit|list|look|make|merge|migrate|move|open|optimi[sz]e|plan|port|prepare|print|propose|publish|push|put|read|rebase|refactor|release|remove|rename|replace|report|research|resolve|restore|return|review|rewrite|revert|run|search|set|show|simplify|split|start|summari[sz]e|switch|take|tell|test|trace|try|turn|understand|undo|update|upgrade|use|validate|verify|wire|write)\b(?!['’:-])/i;
const HEADING = /^\s*#/;
const QUESTION_HEADING = /^\**(?:what|how|why|when|where|which|who)\b[^?]*$/i;
/** Where a part of a sentence begins that may ask for something. */
const PART_OF_SENTENCE = /[,;]\s+(?:and |but |so |then )*|\s(?:and|but|so) (?:then )?/i;
const RELATIVE = /^(?:which|where|when|how|what|why|does|do|is|are|any|it|there|this)\b/i;
/** Points at something that only the conversation shows: a thing in it, an item of a list, or the subject of an issue or a commit. */
const POINTED = anyOf("i", [
  /^(?:file|log|raise|open|create|make|draft|push|commit)(?: up)?(?: (?:an?|the|another))?(?: [a-z]+){0,2} (?:issue|ticket|improvement|pr|pull request|commit)\b(?! (?:about|for|that|to|where|with|template))/,
  /\b(?:that|this|these|those|the|more) (?:(?:review|pr|open|last|prior|other|remaining) )*(?:pr|branch|issues?|comments?|feedback|changes?|bugs?|ones?|first|second|third|rest|above|following|plan|list|same|suggestions?|findings?|nits?)\b/,
  /\b(?:these|those|this(?! (?:branch|repo|repository|project|codebase|machine|session)\b)) [a-z]/,
  /\ball (?:of )?(?:them|these|those|\d+)\b/,
  /\b\d{1,2}\.? ?(?:,|\+|&|and|or|to|-|–) ?\d{1,2}\b/,
  /\b(?:issues?|options?|steps?|tasks?|points?|suggestions?|items?|number|phase) #?\d{1,2}\b/,
]);
/** Answers, corrects, or has a pronoun in the place of what it is about. */
const ANSWERS = anyOf("i", [
  /^(?:continue|proceed|go (?:on|ahead)|carry on|keep going|resume|retry|try|next|done|do (?:it|so))(?: (?:it|so|please|now|again|yourself|with (?:it|that|this)))*$/,
  /^(?:y|n|um+|uh+|ah|sorry|i (?:mean|meant|was mistaken|said|should have)|you (?:said|wrote|missed|forgot)|that['’]s|it['’]s|so am i|(?:(?:how|what|why|where|can|could|should|do|does|did|is|are|was|would|will|you|we|i|use|have|check|try|put)\s)*(?:this|these|those|it|they|them|that(?! the\b)))\b/,
  /^(?!(?:check|see|ensure|verify|make|know|say|show|validate|confirm|note|so|is|are|do|does|did|was|why|how)\b)[a-z]+ (?:it|them|that|this(?! (?:branch|repo|repository|project|codebase)\b))\b/,
  /\b(?:this|that|it) (?:can|could|should|will|would|is|was|does|did)\b/,
  /\b(?:prevent|do|fix|change|handle|avoid|keep) (?:this|that|it|them|these|those)\b/,
  /\b(?:it|them|these|those|this|that)(?:[.?!,]*$| - )/,
]);
/** `fix(lock): ` */
const COMMIT_KIND = /^[a-z]+(?:\([^)]*\))?!?: +/;

const SENTENCE_END = /(?<=[.!?…]["'”’)]?)\s+(?=\S)|(?<=[。！？])/u;
const MARKS =
  /^(?:[#>*•●…✓✔✗✘\s-]|\.{3,}|[A-Za-z\d]{1,2}\)\s|\d+(?:-\d+)?:\s|(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f)(?:\p{Emoji_Modifier}|\p{Extended_Pictographic}|\u200d|\ufe0f)*)+|\*\*|__|`/gu;
/** `[the page](https://…)` */
const LINK = /\[([^\]]+)\]\([^)\s]*\)/g;
/** A folder and its name: `/home/ana/work/shop` is `shop`. */
const FOLDERS = /(?<![\w./~:-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\]){2,}(?=[\w.-]*\w)/g;
const GREETING =
  /^[A-Z]+(?:_[A-Z]+)+:\s+|^(?:(?:take a )?look at|hi|hey|hello|thanks?(?: you)?(?: so much)?|yes|yeah|yep|no|well|right|good|great|nice|cool|perfect|excellent|wow|oh|ah|sure|wait|actually|alright|hm+|(?:one |quick |learning )?(?:question|q(?=:))|context|fyi|heads[ -]up|any ideas|(?:task|step|phase|part|issue)(?: #?\d+)?(?=:\s))(?: [\p{Lu}][\p{L}]*)?\s*[,.!:;–—-]+\s*/iu;
const FILLER =
  /^(?:(?:ok(?:ay)?|right now|now|then|next|first|instead|please)\b(?:[,.!:;]+\s+|\s+(?=(?:[\p{L}'’]+\s+)?(?:i|we|you|it|they|he|she|there|let|let['’]?s|the|an?|this|that|these|those|all|both|my|our|your|their|its|every|each|some|any|me|us|them|to|in|on|at|for|from|with|into|up|how|why|what|where|whether|if|again|also|just|now|then|first|please|and|can|could|would|will|should)\b))|(?:yeah|yep|ah|hmm?|so|also|and|but|apparently|@[\w-]+)\b[,.!:;]*\s+)/iu;
/** What a person says of a statement before making it: `I think the issue is that …`, `I've just …` */
const OPINION =
  /^(?:i (?:also |still |just |now )*(?:think|guess|believe|remember|see|noticed|found|realized)(?: now)?,?(?: that)?\s+(?=(?:we|it|this|there|you|they|the|our|my|an?)\b\s)|i would(?:n['’]t| not) be surprised if\s+|basically(?: that)?\s+(?=(?:we|it|you|they|the)\b\s)|(?:the|my) (?:issue|problem|question|idea) (?:is|was) that\s+|it (?:seems|appears|looks) (?:like|as if|that)\s+|i['’]ve (?:just |now |also |successfully )*(?:(?:noticed|realized)(?: that)?\s+|(?=\w+ed\b)))(?=\S+\s+\S+\s+\S)/i;
const POLITE =
  /^(?:(?:can|could|would|will) (?:you|we)(?: please| also| now| just| maybe| again)*(?: help me)?(?: to)?|i(?:['’]d| would) (?:like|love)(?: you| us)? to|i (?:do |also )*(?:want|need)(?: you| us)? to|let me|let['’]?s|let us|i['’]?ll|i will|i['’]?m (?:\p{L}+ly )?(?:going|looking|trying|hoping) to|i should|we (?:need|should|have) to|we should|you (?:need|should) to|help me(?: to)?|go ahead and|try to)(?: (?:now|also|first|just|then|quickly|please|instead))*\s+(?!be\b)(?=\S)/iu;
/** `fix the issue where …` */
const FAULT =
  /^(?:fix|solve|address|resolve|debug) (?:the|an?) (?:issue|problem|bug) (?:where|in which|that)\s+(?=\S+\s+\S+\s+\S)/i;
/** `When the lock is stale, …` */
const CONDITION =
  /^(?:if|when|as|since|because|while|after|before|although|though|for|in|on|with|at|unless|based on)\b(?:[^,(]|\([^)]*\))*,\s+(?!(?:and|or|but)\b)/i;
/** `If the lock is stale` */
const CONDITIONAL = /^(?:if|when|as|since|because|while|after|before|although|though|unless|until)\b[^,]*$/i;
const PHRASE_END = /[;:](?=\s)|\s(?:[-–—]\s|\()/gu;
/** A part of a sentence that can be left out at its end. */
const PART_END =
  /\s(?:vs\.?|in|on|at|for|with|from|to|of|by|into|as|and|or|via|during|between|across|before|after|without|so|that|using|under)\s/giu;
const CLAUSE_END =
  /,(?=\s)|[、，](?=\S)|\s(?:so|because|but|and (?=(?:i|it|we|you|he|she|they|then)\b)|which|when|where|while|since|if|then|that|instead of|rather than|in order to)\b/giu;
/** Where a sentence is cut, best first, and the least characters before it. */
const ENDS: readonly [RegExp, number][] = [
  [PHRASE_END, CLAUSE_CHARS_MIN],
  [CLAUSE_END, LONG_CLAUSE_CHARS],
  [PART_END, LONG_CLAUSE_CHARS],
  [CLAUSE_END, CLAUSE_CHARS_MIN],
  [PART_END, CLAUSE_CHARS_MIN],
];
const TRAILING = /(?:[\s,;:.!(–—-]|\s(?:so|and|but|or|because|which|that|when|if|then)(?=[\s,;:.!(–—-]*$))+$/u;
/** A word that little follows. */
const OBJECT = /^(?:me|us|you|it|them)$/;
/** A verb without what it says: `… to understand`, `… where we parse` */
const DANGLING =
  /\s(?:(?:and|to(?! (?:me|us|you|them|it)$)|and to|that|which|who)|(?:where|that|which|if|when|what|how) (?:we|you|it|i|they))\s\p{Ll}+$/u;
const QUOTES = /["“”]/g;
const BRACKETS = /[([{)\]}]/g;
const PLAIN_WORD = /^\p{Ll}[\p{Ll}'’-]*(?=\s|$)/u;

/** Returns the lines of a message that may be a title, in order. A tool's result gives none. */
export function titleLines(role: Role, text: string): TitleLine[] {
  // What a program gave an agent is a task, unless the program says something to itself.
  if (role === "system")
    return PLACEHOLDER.test(text) || ownWords(text).trim() === "" ? [] : linesOfUser(plainText(text));
  if (role === "user") return linesOfUser(plainText(text));
  return role === "assistant" ? linesOfAssistant(plainText(text)) : [];
}

function linesOfUser(text: string): TitleLine[] {
  const [, typed, args = ""] = TYPED_COMMAND.exec(text) ?? PLACEHOLDER.exec(text) ?? [];
  if (typed !== undefined) return isProse(args) ? linesOfUser(args) : titleLine(`${typed} ${args}`, NOTED_VALUE);
  if (CONTINUED.test(text)) return [];
  const said = ownWords(text).replace(OPEN_BLOCK, " ");
  const listed = LISTED_TITLE.exec(said)?.[1];
  const lines = listed === undefined ? [] : titleLine(listed, VALUE.asked);
  const rest = listed === undefined ? said : said.replace(LISTED_TITLE, "").replace(LISTED_FIELD, "");
  let isPasted = false;
  let isAfterShown = false;
  const asking = new Set<TitleLine>();
  for (const sentence of shortSentences(rest, isSaid).flatMap(partsOf)) {
    isPasted ||= PROMPT_LINE.test(sentence);
    if (isShown(sentence)) {
      isAfterShown = true;
      continue;
    }
    const lead = withoutLead(sentence);
    const isHeading = lines.length === 0 && HEADING.test(rest);
    const asks = isPasted ? POLITE.test(lead) : isHeading || ASKS.test(lead);
    let factor = isProse(sentence) && !PAIR.test(sentence) ? 1 : NOT_PROSE_FACTOR;
    const isShownToo = !asks && (isPasted || isAfterShown);
    if (isShownToo) factor *= isPasted ? PASTED_FACTOR : BACKGROUND_FACTOR;
    if (asks && asking.size === 0) factor *= FIRST_ASK_FACTOR;
    for (const line of titleLine(sentence, (VALUE.asked * factor) / (1 + lines.length / HALVING_SENTENCES))) {
      const isPointing = points(line.text);
      if (isPointing) line.value *= LONE_WORD.test(line.text) ? PASTED_FACTOR : POINTING_FACTOR;
      line.points = isPointing || isShownToo;
      if (announces(sentence, line)) line.value *= announcementFactor(line.text);
      lines.push(line);
      if (asks) asking.add(line);
    }
    if (lines.length >= SENTENCES_MAX) break;
  }
  const factor = asking.size === 0 ? STATEMENT_FACTOR : BACKGROUND_FACTOR;
  return lines.map((line) => (asking.has(line) ? line : { ...line, value: line.value * factor }));
}

/** Returns true if only the conversation shows what a sentence is about. */
function points(sentence: string): boolean {
  const telling = (): number[] => [...weightsIn(sentence).values()].filter((weight) => weight >= TELLING_WORD_WEIGHT);
  if (POINTED.test(sentence) && telling().length < TELLING_WORDS_MIN) return true;
  return ANSWERS.test(sentence) || LONE_WORD.test(sentence) || namesNothing(sentence);
}

/** Returns a sentence, and the parts of a long one that ask for something themselves. */
function partsOf(sentence: string): string[] {
  if (sentence.length <= TITLE_CHARS_MAX) return [sentence];
  const [, ...others] = sentence.split(PART_OF_SENTENCE);
  const asks = (part: string): boolean => !RELATIVE.test(part) && ASKS.test(withoutLead(part));
  return [sentence, ...others.filter(asks).map((part) => part.replace(/[?？]$/, ""))];
}

/** `Some quality issues of the page:` says what comes, `The following plan:` does not. */
function announcementFactor(text: string): number {
  return ANNOUNCES_ONLY.test(text) || text.length < CLAUSE_CHARS_MIN ? ANNOUNCEMENT_FACTOR : ANNOUNCED_FACTOR;
}

/** Returns true if a colon ends the sentence, or the title that was cut from it. Then the title only announces what comes after it. */
function announces(sentence: string, { text }: TitleLine): boolean {
  if (/(?:[:：]|\blike\.?)$/.test(sentence)) return true;
  const said = sentence.replace(MARKS, "");
  const end = said.indexOf(text.slice(1)) + text.length - 1;
  return end >= text.length - 1 && /^\s*[:：]/.test(said.slice(end));
}

/** Returns true for what a person pasted instead of saying it. */
function isShown(sentence: string): boolean {
  const isOutput = [PLACEHOLDER, TERMINAL_LINE, VERDICT].some((pattern) => pattern.test(sentence)) || isError(sentence);
  return isOutput || ASSIGNMENT.test(sentence) || isCode(sentence);
}

function linesOfAssistant(text: string): TitleLine[] {
  const { prose, calls } = proseAndCalls(text);
  const lines: TitleLine[] = [];
  for (const sentence of shortSentences(prose, isSaid).slice(0, SENTENCES_MAX)) {
    if (isCode(sentence)) continue;
    if (POLITE.test(withoutLead(sentence))) lines.push(...titleLine(sentence, VALUE.intended));
    else if (isTelling(sentence) && isProse(sentence)) lines.push(...titleLine(sentence, VALUE.decided));
  }
  if (calls.length > 0) lines.push(...linesOfCall(calls));
  return lines.map((line) => (points(line.text) ? { ...line, value: line.value * POINTING_FACTOR } : line));
}

/** Returns what an agent says in a message that came out of the work: the subject of a commit, or sentences of its last words. */
export function outcomesIn(text: string): TitleLine[] {
  const { prose, calls } = proseAndCalls(plainText(text));
  const named = nameIn(calls);
  if (named !== undefined) return titleLine(named, VALUE.committed);
  if (calls.length > 0) return [];
  return shortSentences(prose, ({ kind }) => kind === "prose").flatMap((sentence) => {
    const said = withoutLead(sentence).replace(DONE_BY, "");
    if (!CAME_OUT.test(said) || saysNothing("agent", said) || !isProse(said) || /[:：?]$/.test(said)) return [];
    if (said.split(" ").length < SENTENCE_WORDS_MIN) return [];
    const isWeak = points(said);
    return titleLine(said, isWeak ? VALUE.cameOut * POINTING_FACTOR : VALUE.cameOut);
  });
}

/** Returns what a call names itself: the subject of a commit, or the title of a pull request or an issue that it opens. */
function nameIn([name = "", ...args]: readonly string[]): string | undefined {
  if (OPENS.test(name)) return args[0];
  const [, subject, title] = COMMIT.exec(args.join("\n")) ?? [];
  return (subject ?? title)?.replace(COMMIT_KIND, "");
}

function linesOfCall(calls: readonly string[]): TitleLine[] {
  const named = nameIn(calls);
  if (named !== undefined) return titleLine(named, VALUE.commit);
  const [, ...args] = calls;
  const [task] = openTasks(args) ?? [];
  if (task !== undefined) return titleLine(task.replace(/ \(in progress\)$/, ""), VALUE.task);
  const description = args
    .slice(1)
    .findLast((line) => line.length <= DESCRIPTION_CHARS_MAX && /^\p{Lu}/u.test(line) && isProse(line));
  return description === undefined ? [] : titleLine(description, VALUE.described);
}

/** A heading such as `What was requested` belongs to a template. */
function isSaid({ kind, text }: Sentence): boolean {
  return kind === "prose" || (kind === "heading" && !QUESTION_HEADING.test(text));
}

/** Like `sentencesOf`, but does not join short sentences. */
function shortSentences(text: string, isWanted: (sentence: Sentence) => boolean): string[] {
  return sentencesOf(text)
    .filter(isWanted)
    .flatMap((sentence) => sentence.text.split(SENTENCE_END));
}

/** Returns the first sentence of prose in a message, shortened to a title. */
export function firstSentence(text: string): string | undefined {
  const { prose } = proseAndCalls(plainText(text));
  const sentences = shortSentences(ownWords(prose).replace(OPEN_BLOCK, " "), isSaid).filter(
    (sentence) => isProse(sentence) && sentence.split(" ").length >= SENTENCE_WORDS_MIN,
  );
  return sentences.flatMap((sentence) => titleLine(sentence, 0))[0]?.text;
}

/** Returns a list of one line, or an empty list if the sentence has no words. */
function titleLine(sentence: string, value: number): TitleLine[] {
  const lead = withoutLead(sentence);
  const order = lead.replace(POLITE, "").replace(FAULT, "");
  const text = closed(atClause(order === lead ? lead : order.replace(/\?$/, ""))).replace(TRAILING, "");
  if (!/\p{L}{2}/u.test(text)) return [];
  const isHalf = text.endsWith("…") || (CONDITIONAL.test(text) && text.length < lead.length - 1);
  const worth = isHalf ? value * CUT_FACTOR : value;
  return [{ text: PLAIN_WORD.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text, value: worth }];
}

function withoutLead(sentence: string): string {
  let text = oneLine(sentence).replace(LINK, "$1").replace(MARKS, "").replace(FOLDERS, "");
  for (let before = ""; before !== text; ) {
    before = text;
    text = text.replace(GREETING, "").replace(FILLER, "").replace(OPINION, "");
  }
  return text;
}

function atClause(sentence: string): string {
  if (sentence.length <= TITLE_CHARS_MAX) return sentence;
  const main = sentence.replace(CONDITION, "").replace(POLITE, "");
  const text = main.length >= CLAUSE_CHARS_MIN ? main : sentence;
  if (text.length <= TITLE_CHARS_MAX) return text;
  for (const [pattern, charsMin] of ENDS) {
    const ends = [...text.matchAll(pattern)].map(({ index }) => index).filter((end) => end <= TITLE_CHARS_MAX);
    for (const end of ends.toReversed()) {
      if (opening(text.slice(0, end)) >= 0) continue;
      const beginning = text.slice(0, end).replace(DANGLING, "");
      if (beginning.length < charsMin) break;
      // `The issue was` is not a clause.
      const last = beginning.slice(beginning.lastIndexOf(" ") + 1).toLowerCase();
      if (!isStopWord(last) || OBJECT.test(last)) return beginning;
    }
  }
  const cut = cutLine(text, TITLE_CHARS_MAX);
  const open = opening(cut);
  if (open >= CLAUSE_CHARS_MIN) return cut.slice(0, open);
  return withoutLastStopWords(cut);
}

/** Returns a text without the brackets and quotes that it leaves open. */
function closed(text: string): string {
  const open = opening(text);
  return open < 0 ? text : closed(text.slice(0, open) + text.slice(open + 1));
}

/** Returns the index of the bracket or quote that a text leaves open; -1 if there is none. */
function opening(text: string): number {
  const open: number[] = [];
  for (const { 0: bracket, index } of text.matchAll(BRACKETS)) {
    if ("([{".includes(bracket)) open.push(index);
    else open.pop();
  }
  const quotes = [...text.matchAll(QUOTES)];
  const quote = quotes.length % 2 === 1 ? quotes.at(-1)!.index : -1;
  const bracket = open[0] ?? -1;
  return bracket < 0 || quote < 0 ? Math.max(bracket, quote) : Math.min(bracket, quote);
}

/** Returns a title that ends with a whole word, without a mark of the cut. */
export function withoutCut(title: string): string {
  if (!title.endsWith("…")) return title;
  return withoutLastStopWords(title).slice(0, -1).replace(TRAILING, "");
}

/** `the lock of the…` ends better as `the lock…`. */
function withoutLastStopWords(cut: string): string {
  const last = / ([\p{L}'’]+)[,;:.–—-]*…$/u.exec(cut);
  if (last === null || !isStopWord(last[1]!.toLowerCase())) return cut.replace(/[,;:.–—-]+…$/u, "…");
  return withoutLastStopWords(`${cut.slice(0, last.index)}…`);
}
