import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { breachesOf } from "../../scripts/eval/provider-rules.ts";
import { fromAiSdk, toAiSdk } from "../../src/adapters/ai-sdk.ts";
import { fromAnthropic, toAnthropic } from "../../src/adapters/anthropic.ts";
import { fromGemini, toGemini } from "../../src/adapters/gemini.ts";
import { fromLlxprt, toLlxprt } from "../../src/adapters/llxprt.ts";
import { type AdaptedMessage, type AnyMessage, fromOpenai, toOpenai } from "../../src/adapters/openai.ts";
import type { ContextMessage } from "../../src/index.ts";
import { aiSdkConversations, aiSdkProblems } from "../support/ai-sdk-messages.ts";
import { anthropicConversations, anthropicProblems } from "../support/anthropic-messages.ts";
import { runs } from "../support/effort.ts";
import { geminiConversations, geminiProblems } from "../support/gemini-contents.ts";
import { llxprtConversations, llxprtProblems } from "../support/llxprt-contents.ts";
import { openaiConversations, openaiProblems } from "../support/openai-messages.ts";
import { temporaryStore } from "../support/temporary-store.ts";

/** Conversations of each, as ours. */
const SOURCES: Record<string, fc.Arbitrary<AdaptedMessage[]>> = {
  openai: openaiConversations.map(fromOpenai),
  anthropic: anthropicConversations.map(fromAnthropic),
  gemini: geminiConversations.map(fromGemini),
  aiSdk: aiSdkConversations.map(fromAiSdk),
  llxprt: llxprtConversations.map(fromLlxprt),
};

type Target = (messages: readonly AnyMessage[]) => { problems: string[]; back: AdaptedMessage[] };

/** Tells what is wrong with a request, and what of ours it says. */
function target<T>(
  to: (messages: readonly AnyMessage[]) => T,
  from: (theirs: T) => AdaptedMessage[],
  problemsOf: (theirs: T) => string[],
): Target {
  return (messages) => {
    const request = to(messages);
    return { problems: problemsOf(request), back: from(request) };
  };
}

const TARGETS: Record<string, Target> = {
  openai: target(toOpenai, fromOpenai, openaiProblems),
  anthropic: target(toAnthropic, fromAnthropic, anthropicProblems),
  gemini: target(toGemini, fromGemini, geminiProblems),
  aiSdk: target(toAiSdk, fromAiSdk, aiSdkProblems),
  llxprt: target(toLlxprt, fromLlxprt, llxprtProblems),
};

/**
 * Goal: a session begun with one provider goes on with any other.
 * Method: append random conversations of the one, with all that is its own, render, and hold the request for each other one
 * against its description, which allows nothing unknown, and against the rules for calls and results.
 */
describe("a session goes on with any other provider", () => {
  test.each(Object.keys(SOURCES))("from %s", (source) => {
    const targets = Object.entries(TARGETS).filter(([target]) => target !== source);
    const store = temporaryStore();
    let callsMax = 0;
    fc.assert(
      fc.property(SOURCES[source]!, (conversation) => {
        const session = store.session(undefined, { hotSize: 1_000 });
        session.append(conversation);
        session.append({ role: "user", content: "Go on." });
        const { messages } = session.render({ strategy: "full", tokensMax: 10_000_000 });
        for (const [target, requestOf] of targets) {
          const { problems, back } = requestOf(messages);
          expect(problems).toEqual([]);
          const breaches = breachesOf(back as ContextMessage[]).filter(({ provider }) => provider === target);
          expect(breaches).toEqual([]);
          expect(callsIn(back)).toEqual(callsIn(messages));
        }
        callsMax = Math.max(callsMax, callsIn(messages).length);
      }),
      { numRuns: runs(25) },
    );
    expect(callsMax).toBeGreaterThan(1);
  });
});

/** Names of what is called, and that it is answered, in order. */
function callsIn(messages: readonly AnyMessage[]): string[] {
  return messages.flatMap(({ parts = [] }) =>
    parts.flatMap((part) => {
      if (part.type === "tool_call") return [`call ${part.name}`];
      return part.type === "tool_result" ? ["result"] : [];
    }),
  );
}
