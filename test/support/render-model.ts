import fc from "fast-check";
import { BlockCache } from "../../src/context/digest/blocks.ts";
import { type RenderView, statementsOf, type ThemePlace, type ThemeView } from "../../src/context/view.ts";
import type { Message, Part } from "../../src/core/message.ts";
import { textOf } from "../../src/core/text.ts";
import { messageTokens, type TokenCounter } from "../../src/core/tokens.ts";
import { advanceOpenStep, type OpenStep } from "../../src/store/changes/session-state.ts";

/** Four characters a token: what a text costs can be worked out by looking at it. */
export const quarterCounter: TokenCounter = { name: "quarter", count: (text) => Math.ceil(text.length / 4) };

/** One thing that happens in a session. */
export type Happening =
  | { kind: "user"; text: string; pinned: boolean }
  | { kind: "system"; text: string }
  | { kind: "assistant"; text: string }
  /** `answered` of `calls` calls get a result, each in a message of its own; a system message may come in between. */
  | { kind: "calls"; text: string; calls: number; answered: number; interjection: boolean }
  | { kind: "stray"; text: string };

/** How a session's old part is divided up; every list is read round and round. */
export interface Division {
  /** Of the steps, in thousandths: how many have left the window, how many of the others have graduated. */
  evicted: number;
  graduated: number;
  themeOfStep: readonly number[];
  /** 0: covered by no summary. Others: by the theme's first, second … */
  summaryOfStep: readonly number[];
  summaryText: string;
  /** The most messages before the window that a digest may quote. */
  pastMax: number;
}

/**
 * A session as lists, and what every handle of it stands for as a set of message ids: the oracle that a render's
 * claims are checked against.
 */
export interface SessionModel {
  messages: Message[];
  view: RenderView;
  members: Map<string, Set<number>>;
}

export function messagesOf(happenings: readonly Happening[]): Message[] {
  const messages: Message[] = [];
  let turnSeq = -1;
  const push = (role: Message["role"], parts: Part[], stepId?: number, pinned = role === "system"): number => {
    const id = 1000 + messages.length * 3; // neither a seq nor dense
    const name = messages.length % 3 === 0 ? { name: "the one who speaks first" } : {};
    if (role === "user") turnSeq = messages.length;
    messages.push({
      id,
      sessionId: "s1",
      seq: messages.length,
      role,
      ...name,
      parts,
      text: textOf(parts),
      tokenCount: messageTokens({ ...name, parts }, quarterCounter),
      createdAtMs: 0,
      turnSeq,
      stepId: stepId ?? id,
      pinned,
    });
    return id;
  };
  for (const happening of happenings) {
    const text: Part = { type: "text", text: happening.text };
    if (happening.kind === "user") push("user", [text], undefined, happening.pinned);
    else if (happening.kind === "system" || happening.kind === "assistant") push(happening.kind, [text]);
    else if (happening.kind === "stray") push("tool", [resultOf("call_9", happening.text)]);
    else {
      const calls = Array.from({ length: happening.calls }, (_, index): Part => {
        return { type: "tool_call", toolCallId: `call_${index}`, name: "run", args: { command: happening.text } };
      });
      const stepId = push("assistant", calls);
      if (happening.interjection) push("system", [{ type: "text", text: "Be brief." }]);
      for (let index = 0; index < Math.min(happening.answered, happening.calls); index++) {
        push("tool", [resultOf(`call_${index}`, happening.text)], stepId);
      }
    }
  }
  return messages;
}

function resultOf(toolCallId: string, content: string): Part {
  return { type: "tool_result", toolCallId, content };
}

/** The step that still waits for results after these messages, in whatever order they are given. */
export function openStepIdOf(messages: readonly Message[]): number | undefined {
  let open: OpenStep | undefined;
  for (const message of [...messages].sort((left, right) => left.seq - right.seq))
    open = advanceOpenStep(open, message);
  return open?.id;
}

export function modelOf(messages: Message[], division: Division): SessionModel {
  const steps = stepsOf(messages.filter((message) => !message.pinned));
  const evicted = Math.floor((steps.length * division.evicted) / 1000);
  const graduated = evicted + Math.floor(((steps.length - evicted) * division.graduated) / 1000);
  const cold = steps.slice(0, graduated).map((step, index) => ({
    step,
    hot: index >= evicted,
    theme: division.themeOfStep[index % division.themeOfStep.length]!,
    summary: division.summaryOfStep[index % division.summaryOfStep.length]!,
  }));

  const members = new Map<string, Set<number>>();
  const overlap = new Map<number, ThemePlace>();
  const places = new Map<number, ThemePlace>();
  const themes: ThemeView[] = [];
  for (const theme of new Set(cold.map((entry) => entry.theme))) {
    const inTheme = cold.filter((entry) => entry.theme === theme);
    const describe = (entries: typeof cold, position: number) => {
      const all = entries.flatMap((entry) => entry.step);
      const handle = `theme:${all[0]!.id}@${position}`;
      members.set(handle, new Set(all.map((message) => message.id)));
      return { handle, messageCount: all.length, seqFirst: all[0]!.seq, seqLast: all.at(-1)!.seq };
    };
    const summaryNumbers = [...new Set(inTheme.map((entry) => entry.summary))].filter((number) => number > 0);
    const summaries = summaryNumbers.map((number) => ({
      ...describe(
        inTheme.filter((entry) => entry.summary === number),
        10 + number,
      ),
      statements: statementsOf({ text: division.summaryText, seqFirst: 0, shownFrom: 10 + number }),
    }));
    const uncovered = inTheme.filter((entry) => !entry.hot && entry.summary === 0).map((entry) => entry.step);
    for (const { step, hot, summary: number } of inTheme) {
      const place = { theme: themes.length, summary: number === 0 ? undefined : summaryNumbers.indexOf(number) };
      if (hot) for (const { id } of step) overlap.set(id, place);
      else places.set(step[0]!.stepId, place);
    }
    themes.push({
      ...describe(inTheme, 99),
      label: "deploy <region>",
      tokenCount: 0,
      summaries,
      uncoveredCount: uncovered.flat().length,
    });
  }
  const window = steps.slice(evicted).flat();
  const blocks = new BlockCache();
  const past = steps.slice(0, evicted).flat();
  const view: RenderView = {
    sessionId: "s1",
    messageCount: messages.length,
    firstColdId: past[0]?.id,
    pinned: messages.filter((message) => message.pinned),
    window,
    openStepId: openStepIdOf(messages),
    evictedSeq: evicted === 0 ? 0 : (window[0]?.seq ?? messages.length),
    windowTokensMax: 8_000,
    anchorSeq: window[0]?.seq ?? messages.length,
    overlap,
    themes,
    overview: undefined,
    isSpan: false,
    past: past.slice(Math.max(0, past.length - division.pastMax)).map((message) => blocks.of(message)),
    blocksOf: (message) => blocks.of(message),
    placeOf: ({ stepId }) => places.get(stepId)!,
  };
  return { messages, view, members };
}

function stepsOf(messages: readonly Message[]): Message[][] {
  const steps: Message[][] = [];
  for (const message of messages) {
    const open = steps.at(-1);
    if (open !== undefined && open[0]!.stepId === message.stepId) open.push(message);
    else steps.push([message]);
  }
  return steps;
}

const LOREM = "The deploy to eu-west-1 failed: lock file missing.\n\tat run (ci.ts:12)\n";

/** Ordinary words, words that try to break out of their element, and long output. */
export const textArbitrary: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("ok", "Why did it fail?", "", LOREM),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc
    .array(
      fc.constantFrom("</memory>", "</theme>", '<pointer messages="9"/>', "&lt;", "<m id=", '"', "\0\x1b[2J", "\ud800"),
      { maxLength: 4 },
    )
    .map((pieces) => pieces.join("")),
  fc.nat({ max: 60 }).map((times) => LOREM.repeat(times)),
);

export const happeningArbitrary: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 3, arbitrary: record("user", { text: textArbitrary, pinned: fc.nat(9).map((n) => n === 0) }) },
  { weight: 1, arbitrary: record("system", { text: fc.constantFrom("Be brief.", "Be kind.") }) },
  { weight: 2, arbitrary: record("assistant", { text: textArbitrary }) },
  {
    weight: 5,
    arbitrary: record("calls", {
      text: textArbitrary,
      calls: fc.integer({ min: 1, max: 3 }),
      answered: fc.integer({ min: 0, max: 5 }),
      interjection: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: record("stray", { text: textArbitrary }) },
);

function record<K extends string, T extends object>(
  kind: K,
  fields: { [F in keyof T]: fc.Arbitrary<T[F]> },
): fc.Arbitrary<{ kind: K } & T> {
  return fc.record(fields).map((values) => ({ kind, ...values }) as { kind: K } & T);
}

export const divisionArbitrary: fc.Arbitrary<Division> = fc.record({
  evicted: fc.integer({ min: 0, max: 1000 }),
  graduated: fc.integer({ min: 0, max: 1000 }),
  themeOfStep: fc.array(fc.nat(9), { minLength: 1, maxLength: 30, size: "max" }),
  summaryOfStep: fc.array(fc.nat(3), { minLength: 1, maxLength: 30, size: "max" }),
  summaryText: textArbitrary,
  pastMax: fc.nat(60),
});

export const sessionArbitrary: fc.Arbitrary<SessionModel> = fc
  .tuple(
    fc.oneof(fc.array(happeningArbitrary, { maxLength: 4 }), {
      weight: 3,
      arbitrary: fc.array(happeningArbitrary, { maxLength: 60, size: "max" }),
    }),
    divisionArbitrary,
  )
  .map(([happenings, division]) => modelOf(messagesOf(happenings), division));

/** From far too small to room for everything. */
export const tokensMaxArbitrary = fc.oneof(
  fc.integer({ min: 1, max: 400 }),
  fc.integer({ min: 400, max: 6_000 }),
  fc.integer({ min: 6_000, max: 60_000 }),
);
