import type { Placed } from "../../src/recall/ranking.ts";

/** A message that a search ranked by its words alone, with this score. */
export function rankedMessage(messageId: number, words: number): Placed {
  return {
    candidate: {
      messageId,
      sessionId: "s",
      seq: messageId,
      name: null,
      createdAtMs: 0,
      speaker: "user",
      tokenCount: 10,
      wordScores: [words],
      isNamed: false,
      datedness: 0,
      closeness: 0,
    },
    score: words,
    worth: 1,
    parts: { words, neighborhood: 0, session: 0, speaker: 0, time: 0, vector: 0 },
  };
}
