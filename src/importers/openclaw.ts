import { dirname, join } from "node:path";
import type { Part } from "../core/message.ts";
import { jsonAt } from "./beside.ts";
import type { MessageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { readJsonLines } from "./lines.ts";
import { isOfOpenclaw, PiTranslator } from "./pi.ts";
import { objectOf, objectsOf, stringOf } from "./values.ts";

/** What the gateway writes before the words of a user: events, facts about the chat as JSON, and the sender with the time. */
const BEFORE = [
  /System: \[\d{4}-\d\d-\d\d[^\n]*(?:\n+|$)/y,
  /[A-Z][^\n(]* \(untrusted[^)\n]*\):\n```json\n[\s\S]*?\n```\s*/y,
  /\[[^\]\n]{0,200}\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? (?:[A-Z]{2,4}|(?:GMT|UTC)[+-]\d{1,2}(?::?\d\d)?)\] /y,
];

const AFTER = "\n[message_id: ";

/** The prompt with which the gateway wakes the agent now and then. */
const WAKING = /^\s*Read HEARTBEAT\.md if it exists\b/;

/** Reads the sessions of OpenClaw, `~/.openclaw/agents/<agent>/sessions/<session>.jsonl`: those of pi, listed in `sessions.json`. */
export const openclaw: Importer = {
  name: "openclaw",
  isFollowable: true,
  detect: isOfOpenclaw,
  read: (file) => new OpenclawTranslator(file, "openclaw").translate(readJsonLines(file)),
};

class OpenclawTranslator extends PiTranslator {
  protected override marked({ message: { role, parts, metadata } }: MessageEntry): Part[] {
    if (role !== "user") return parts;
    return metadata.runtimeContext === undefined ? parts.flatMap(wordsIn) : injected(parts);
  }

  protected override nameBeside(sessionId: string): string | undefined {
    const listed = objectsOf(Object.values(objectOf(jsonAt(join(dirname(this.file.path), "sessions.json")))));
    const own = listed.find((one) => one.sessionId === sessionId);
    return stringOf(own?.label) ?? stringOf(own?.displayName) ?? stringOf(own?.subject);
  }
}

/** Marks what stands around the words of the user, word for word. */
function wordsIn(part: Part): Part[] {
  if (part.type !== "text" || part.injected === true) return [part];
  const { text } = part;
  const from = endOfBlocks(text);
  const last = text.lastIndexOf(AFTER);
  const to = last >= from && /^[^\]\n]*\]\s*$/.test(text.slice(last + AFTER.length)) ? last : text.length;
  if (WAKING.test(text.slice(from, to))) return injected([part]);
  const pieces = [text.slice(0, from), text.slice(from, to), text.slice(to)].map((piece) => ({ ...part, text: piece }));
  return pieces.flatMap((piece, index) => (piece.text === "" ? [] : index === 1 ? [piece] : injected([piece])));
}

function endOfBlocks(text: string): number {
  let end = 0;
  for (let start = -1; start < end && end < text.length; ) {
    start = end;
    for (const pattern of BEFORE) {
      pattern.lastIndex = end;
      if (pattern.test(text)) end = pattern.lastIndex;
    }
  }
  return end;
}
