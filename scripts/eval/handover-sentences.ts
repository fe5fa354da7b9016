import type { Message } from "../../src/index.ts";
import { folded, newestWithin, textOfTokens, tokensOf } from "./handover.ts";

const SHARE = 0.9;
const NARRATION =
  /^(now,? )?(let me|i'll|i will|now i|next,? i|i need to|i'm going to|first,? let|okay|ok,|great|perfect|good)\b/i;
const TELLING =
  /\b(decid|instead|because|root cause|the (issue|problem|bug|fix)|turns out|found|fixed|pass(ed|es|ing)?|fail(ed|s|ing)?|commit|revert|reject|must|never|always|don't|do not|should|open|todo|remain|pending|next step|blocked|only|not yet|decision|chose|option)\b/i;
const HARNESS = /^(<local-command|<command-|Caveat:|<system-reminder>|\[Request interrupted)/;
const SENTENCE = /\n+|(?<=[.!?。])\s+(?=[A-Z"`*[#(\p{Lo}])/u;

/** The strongest simple text for whoever goes on: sentences of both sides, chosen one by one by who says them, where and in which words. */
export function sentencesArm(messages: readonly Message[], budget: number): string {
  const turns: Message[][] = [[]];
  for (const message of messages) {
    if (isAsk(message)) turns.push([]);
    turns.at(-1)!.push(message);
  }
  const sentences = turns.flatMap((turn, index) => sentencesOf(turn, index <= 1, messages.length));
  const seen = new Set<string>();
  const room = Math.floor(budget * SHARE);
  let left = room;
  const kept = sentences
    .toSorted((one, other) => other.worth - one.worth)
    .filter(({ text }) => {
      const [key, tokens] = [folded(text).slice(0, 60), tokensOf(text).length + 1];
      if (seen.has(key) || tokens > left) return false;
      seen.add(key);
      left -= tokens;
      return true;
    });
  const chosen = new Set(kept);
  const story = sentences.filter((sentence) => chosen.has(sentence)).map(({ by, text }) => `${by}: ${text}`);
  return `${story.join("\n")}\n${newestWithin(
    messages.map(({ role, text }) => `${role}: ${text}`),
    budget - room + left,
  )}`;
}

interface Candidate {
  by: "U" | "A";
  text: string;
  worth: number;
}

function sentencesOf(turn: readonly Message[], isFirst: boolean, count: number): Candidate[] {
  const answers = turn.filter((message) => message.role === "assistant" && said(message) !== "");
  return turn.flatMap((message) => {
    const isUsers = isAsk(message);
    if (!isUsers && !answers.includes(message)) return [];
    const isClosing = message === answers.at(-1);
    const age = message.seq / count;
    return split(said(message)).map((line, index): Candidate => {
      const tokens = tokensOf(line);
      const [most, by] = isUsers ? [45, "U" as const] : [40, "A" as const];
      const text = tokens.length <= most ? line : `${textOfTokens(tokens.slice(0, most))}…`;
      let worth = isUsers
        ? 2.2 - 0.25 * index + (isFirst ? 0.5 : 0) + 0.4 * age
        : (isClosing ? 1.3 - 0.05 * index : 0.7 - 0.1 * index) + 0.5 * age;
      if (TELLING.test(line)) worth += isUsers ? 0.5 : 0.45;
      if (!isUsers) {
        if (NARRATION.test(line)) worth -= 0.8;
        if (/\d/.test(line)) worth += 0.1;
        if (/`|\/\w|\w\.\w{1,4}\b/.test(line)) worth += 0.15;
      }
      return { by, text, worth: worth / (8 + text.length / 4) ** 0.35 };
    });
  });
}

function said({ parts }: Message): string {
  const texts = parts.flatMap((part) => (part.type === "text" && !("injected" in part) ? [part.text ?? ""] : []));
  return texts.join("\n").trim();
}

function isAsk(message: Message): boolean {
  return message.role === "user" && said(message) !== "" && !HARNESS.test(said(message));
}

function split(text: string): string[] {
  const lines = text.split(SENTENCE).map((line) => line.trim());
  return lines.filter((line) => line.length > 3 && !line.startsWith("```") && !/^[|\-=+\s]+$/.test(line));
}
