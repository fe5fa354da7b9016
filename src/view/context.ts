import { estimatingTokenCounter, messageTokens } from "../core/tokens.ts";
import type { ContextMessage, RenderResult, Store } from "../index.ts";
import type { ContextAnswer, ContextMessageView, CoverageRun, How, Stretch } from "./api.ts";
import { textOfPart } from "./part-text.ts";
import type { Query } from "./requests.ts";
import { isOfSession, sql } from "./sql.ts";

type Source = RenderResult["sources"][number];
type Omission = RenderResult["omitted"][number];

/** Stretches are for people. `rendered` has every text as a whole. */
const STRETCH_CHARS_MAX = 20_000;

/** Every tag of a composed message. Its texts are escaped, so that no text has one. */
const TAG = /<(\/?)([a-z]+)([^<>]*?)(\/?)>/g;
const ATTRIBUTE = /([a-z]+)="([^"]*)"/g;

export function contextAnswer(
  store: Store,
  { session: id, ...options }: Omit<Query<"/api/context">, "at">,
): ContextAnswer {
  const session = store.resume(id);
  const [row] = store.query(sql`
    SELECT settings, (SELECT max(seq) + 1 FROM messages WHERE ${isOfSession(store, id)}) AS seqEnd
    FROM sessions WHERE id = ${id}`);
  const settings = JSON.parse(String(row?.settings ?? "{}"));
  const result = session.render(options);
  const inSession = new Map(
    result.sources.flatMap((source) => ("messageId" in source ? [[source.messageId, source]] : [])),
  );
  const messages = result.messages.map((message, index): ContextMessageView => {
    const isComposed = result.composed.includes(index);
    const sources = result.sources.filter((source) => source.messageIndex === index);
    const tokenCount = messageTokens(message, estimatingTokenCounter);
    return {
      index,
      role: message.role,
      name: message.name ?? null,
      tokenCount,
      isComposed,
      isStable: true,
      stretches: isComposed
        ? composedStretches(message, index, result, id)
        : [appendedStretch(message, sources[0], tokenCount)],
    };
  });
  const evidenceIndex = result.recalled[0]?.messageIndex;
  const stablePrefixEnd = evidenceIndex ?? stableEnd(messages, result);
  for (const message of messages) message.isStable = message.index < stablePrefixEnd;
  const seqEnd = Number(row?.seqEnd ?? 0);
  return {
    atSeq: seqEnd - 1,
    tokensMax: options.tokensMax ?? settings.contextTokensMax ?? null,
    strategy: options.strategy ?? settings.strategy ?? "union-find",
    tokenCount: result.tokenCount,
    stablePrefixTokens: result.stablePrefixTokens,
    stablePrefixEnd,
    messageCount: messages.length,
    messages,
    coverage: coverageOf(store, id, seqEnd, result, inSession),
    rendered: result.messages.map(({ role, name, parts }) => ({ role, ...(name !== undefined && { name }), parts })),
    sql: sql`
      SELECT seq, role, token_count, pinned, seq >= (SELECT evicted_seq FROM sessions WHERE id = ${id}) AS is_hot, text
      FROM messages WHERE ${isOfSession(store, id)} AND seq < ${seqEnd} ORDER BY seq DESC`,
  };
}

/** Counts the messages that do not depend on the query. With evidence, these are all but the newest step. */
function stableEnd(messages: readonly ContextMessageView[], { tokenCount, stablePrefixTokens }: RenderResult): number {
  return stablePrefixTokens === tokenCount ? messages.length : Math.max(0, messages.length - 1);
}

function appendedStretch(message: ContextMessage, source: Source | undefined, tokenCount: number): Stretch {
  const text = message.parts.map(textOfPart).join("\n");
  return {
    how: source?.how ?? "verbatim",
    text: text.slice(0, STRETCH_CHARS_MAX),
    tokenCount,
    seqFirst: source?.seqFirst ?? null,
    seqLast: source?.seqLast ?? null,
    messageCount: source?.messageCount ?? 0,
    handle: null,
  };
}

/** Divides a message that Coppice wrote into its elements, and says what each stands for. */
function composedStretches(message: ContextMessage, index: number, result: RenderResult, session: string): Stretch[] {
  const recalled = result.recalled.filter(({ messageIndex }) => messageIndex === index);
  const sources = new Map(
    result.sources.flatMap((source) =>
      "messageId" in source && source.messageIndex === index ? [[source.messageId, source]] : [],
    ),
  );
  const stretches: Stretch[] = [];
  for (const part of message.parts) {
    if (part.type !== "text") continue;
    for (const { name, attributes, text } of [...elementsOf(part.text)].flatMap(toldLines)) {
      let about: Partial<Stretch> = {};
      if (name === "m" && recalled.length > 0) {
        const shown = recalled.shift()!;
        about = {
          ...at(shown.how, shown.seq, shown.seq, 1),
          ...(shown.sessionId !== session && { session: shown.sessionId }),
        };
      } else if (name === "m") {
        const source = sources.get(Number(attributes.id));
        if (source !== undefined) about = at(source.how, source.seqFirst, source.seqLast, 1);
      } else if (name === "theme") {
        const [first, last] = rangeOf(attributes.seq);
        about = { ...at("pointer", first, last, Number(attributes.messages ?? 0)), handle: attributes.handle ?? null };
      } else if (name === "overview" || name === "notes") {
        const [first, last] = rangeOf(attributes.seq);
        about = { ...at("summary", first, last, 0), handle: attributes.handle ?? null };
      } else if (name === "pointer") {
        const [first, last] = rangeOf(attributes.seq);
        about = at("pointer", first, last, Number(attributes.messages ?? 0));
      } else if (attributes.seq !== undefined) {
        const [first, last] = rangeOf(attributes.seq);
        about = at("quoted", first, last, 0);
      }
      const tokenCount = estimatingTokenCounter.count(text);
      const frame: Stretch = {
        how: "frame",
        text: text.slice(0, STRETCH_CHARS_MAX),
        tokenCount,
        seqFirst: null,
        seqLast: null,
        messageCount: 0,
        handle: null,
      };
      stretches.push({ ...frame, ...about });
    }
  }
  return stretches;
}

function at(how: How, seqFirst: number | null, seqLast: number | null, messageCount: number): Partial<Stretch> {
  return { how, seqFirst, seqLast, messageCount };
}

function rangeOf(seq: string | undefined): [first: number | null, last: number | null] {
  const [first, last = first] = seq?.split("-").map(Number) ?? [];
  return [first ?? null, last ?? null];
}

interface Element {
  /** Undefined for text between elements. */
  name: string | undefined;
  attributes: Record<string, string>;
  text: string;
}

/** A line of a story: the number of its message, and who says it. */
const TOLD_LINE = /^(?=(\d+) (?:user|agent|summary): )/m;

/** Divides the text of a story into its lines, each with the number of its message. */
function toldLines(element: Element): Element[] {
  if (element.name !== undefined) return [element];
  const pieces = element.text.split(/(?=^\d+ (?:user|agent|summary): )/m);
  return pieces.map((text) => {
    const seq = TOLD_LINE.exec(text)?.[1];
    return { ...element, text, attributes: seq === undefined ? element.attributes : { seq } };
  });
}

/** The elements that frame others. */
const FRAMES = new Set(["memory", "story", "recalled", "passage"]);

/** Yields the innermost elements and the texts around them. An empty `<m/>` takes the text up to the next tag. */
function* elementsOf(text: string): Generator<Element> {
  let end = 0;
  let open: { name: string | undefined; attributes: Record<string, string>; start: number } | undefined;
  const take = (until: number): Element[] => {
    const start = open?.start ?? end;
    const piece = text.slice(start, until);
    const element = { name: open?.name, attributes: open?.attributes ?? {}, text: piece };
    open = undefined;
    end = until;
    return piece.trim() === "" ? [] : [element];
  };
  for (const match of text.matchAll(TAG)) {
    const [tag, closing, name, attributes, empty] = match;
    const after = match.index + tag.length;
    if (closing !== "" && open?.name === name) {
      yield* take(after);
    } else if (closing !== "" || FRAMES.has(name!)) {
      yield* take(match.index);
      end = match.index; // the tag is a part of the next frame
    } else {
      yield* take(match.index);
      open = { name, attributes: attributesOf(attributes!), start: match.index };
      if (empty !== "" && name !== "m") yield* take(after);
    }
  }
  yield* take(text.length);
}

function attributesOf(written: string): Record<string, string> {
  return Object.fromEntries([...written.matchAll(ATTRIBUTE)].map(([, name, value]) => [name!, value!]));
}

const HOWS = ["absent", "pointer", "summary", "quoted", "shortened", "verbatim"] as const;

/**
 * Returns how each message of the session is there. `sources` and `omitted` count every message once, so a message that is
 * neither shown nor summarized has a pointer. A forgotten message is absent.
 */
function coverageOf(
  store: Store,
  session: string,
  seqEnd: number,
  result: RenderResult,
  shown: ReadonlyMap<number, Source>,
): CoverageRun[] {
  const hows = new Uint8Array(seqEnd).fill(HOWS.indexOf("pointer"));
  const mark = (how: How, first: number, last: number): void =>
    void hows.fill(HOWS.indexOf(how as "quoted"), first, last + 1);
  const forgotten = store.query(sql`SELECT seq FROM forgotten_messages WHERE ${isOfSession(store, session)}`);
  for (const { seq } of forgotten) hows[Number(seq)] = HOWS.indexOf("absent");
  for (const source of result.sources) {
    if (source.how === "summary") for (const seq of seqsOf(store, source.handle, source)) mark("summary", seq, seq);
  }
  for (const { seq } of result.story) mark("quoted", seq, seq);
  for (const { how, seqFirst } of shown.values()) mark(how, seqFirst, seqFirst);
  const runs: CoverageRun[] = [];
  for (let seq = 0; seq < seqEnd; seq++) {
    const how = HOWS[hows[seq]!]!;
    const last = runs.at(-1);
    if (last?.how === how) last.seqLast = seq;
    else runs.push({ how, seqFirst: seq, seqLast: seq });
  }
  return runs;
}

/** The messages that a summary covers: those of its cluster at its position, or all between two messages. */
function seqsOf(store: Store, handle: string, { seqFirst, seqLast }: Pick<Omission, "seqFirst" | "seqLast">): number[] {
  const [, level, root, position] = /^([a-z]+):(\d+)@(\d+)$/.exec(handle) ?? [];
  if (level !== "cluster") return Array.from({ length: seqLast - seqFirst + 1 }, (_, index) => seqFirst + index);
  const rows = store.query(sql`
    SELECT seq FROM cluster_members WHERE cluster_id = ${Number(root)} AND log_position <= ${Number(position)}`);
  return rows.map(({ seq }) => Number(seq));
}
