import type { MessageInput, PartInput } from "../../src/index.ts";
import { randomFrom } from "../bench/messages.ts";

const LENGTH_MEDIAN = 300;
/** The deviation of the logarithm: one message in about 700 has more than 16,384 characters, so it is kept as an artifact. */
const LENGTH_SIGMA = 1.35;

const SUBJECTS = [
  "the deploy fails because src/region.ts finds no bucket for its lock\n",
  "the parser swallows a brace in templates nested past depth 12 é 漢字\n",
  "an invoice of 1,200.50 shows the currency of the former country 🎉\n",
  "thumbnails take minutes while resizeQueue waits for a worker's pid\n",
];

/** A message as it is appended, with everything that must be read back. */
export type Said = MessageInput & { parts: PartInput[]; metadata: { number: number } };

/**
 * Returns the message with a seq of a conversation. Every process computes the same one, so a checker need not be told.
 *
 * A turn has four messages: a question, a call, its result and an answer. Lengths are log-normal, and a few messages are
 * pinned. All messages differ.
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
