import type { MessageInput, PartInput } from "../../src/index.ts";
import { randomFrom } from "../bench/messages.ts";

const LENGTH_MEDIAN = 300;
/** Of the logarithm: one message in about 700 is longer than 16,384 characters, and kept apart from its row. */
const LENGTH_SIGMA = 1.35;

const SUBJECTS = [
  "the deploy fails because src/region.ts finds no bucket for its lock\n",
  "the parser swallows a brace in templates nested past depth 12 é 漢字\n",
  "an invoice of 1,200.50 shows the currency of the former country 🎉\n",
  "thumbnails take minutes while resizeQueue waits for a worker's pid\n",
];

/** A message of a conversation as it goes in, with all that must come out again. */
export type Said = MessageInput & { parts: PartInput[]; metadata: { number: number } };

/**
 * What is said at a place of a conversation: the same in every process, so that it need not be told to whoever checks it.
 *
 * Turns of four: a question, a call, its result, an answer; of log-normal length, now and then pinned. No two are alike.
 */
export function saidAt(conversation: string, seq: number): Said {
  const random = randomFrom(seedOf(`${conversation} ${seq}`));
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const length = Math.max(1, Math.round(LENGTH_MEDIAN * Math.exp(LENGTH_SIGMA * normal)));
  const subject = SUBJECTS[Math.floor(random() * SUBJECTS.length)]!;
  const text = `${seq} of ${conversation}: ${subject.repeat(Math.ceil(length / subject.length)).slice(0, length)}`;
  const toolCallId = `call_${seq - (seq % 4)}`;
  const common = { metadata: { number: seq }, ...(random() < 0.5 && { createdAt: 1_700_000_000_000 + seq }) };
  switch (seq % 4) {
    case 1:
      return {
        role: "assistant",
        parts: [{ type: "tool_call", toolCallId, name: "run", args: { text, limit: random() } }],
        ...common,
      };
    case 2:
      return { role: "tool", parts: [{ type: "tool_result", toolCallId, content: text }], ...common };
    case 3:
      return { role: "assistant", parts: [{ type: "text", text }], ...common };
    default:
      return { role: "user", parts: [{ type: "text", text }], name: "ada", pinned: random() < 0.01, ...common };
  }
}

/** 32-bit FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
