import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SearchAnswer, SearchHit, SessionAnswer, SessionLink, ViewMessage } from "../../api.ts";
import { get, type Refused, useGet } from "../client.ts";
import { compact, count, number, sessionTitle } from "../format.ts";
import { viewKeys } from "../keyboard.ts";
import { about } from "../live.ts";
import { Lost } from "../parts/lost.tsx";
import { Message } from "../parts/message.tsx";
import { MessagePages } from "../parts/message-pages.ts";
import { indexOfSeq, loadOutline, type Outline } from "../parts/outline.ts";
import { DeedLegend, Overview } from "../parts/overview.tsx";
import { SessionFrame } from "../parts/session-frame.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { type ListHandle, VirtualList } from "../parts/virtual-list.tsx";
import { change, href, params } from "../router.ts";
import { MessageTools } from "./acting.tsx";
import { HITS_MAX } from "./search.tsx";

/** Browsers draw no element that is higher than 17 or 33 million pixels, so a longer session is shown in chapters. */
const CHAPTER_MESSAGES = 100_000;
/** Fewer messages can be overlooked without a strip. */
const OVERVIEW_MESSAGES_MIN = 12;
const chapterOf = (index: number): number => Math.floor(index / CHAPTER_MESSAGES);

export function SessionView() {
  return <SessionFrame>{(answer) => <Reading key={answer.supersededAtMs} answer={answer} />}</SessionFrame>;
}

function Reading({ answer }: { answer: SessionAnswer }) {
  const session = answer.session.id;
  const [outline, setOutline] = useState<Outline>();
  const [error, setError] = useState<Refused>();
  const [hasBegun, setHasBegun] = useState(false);
  useEffect(() => {
    // The server answers one request at a time, and the first messages come before the outline of all.
    if (!hasBegun) return;
    const aborting = new AbortController();
    loadOutline(session, answer.seqEnd, aborting.signal).then(setOutline, (failure) => {
      if (!aborting.signal.aborted) setError(failure);
    });
    return () => aborting.abort();
  }, [session, answer.seqEnd, answer.session.messageCount, hasBegun]);
  if (error !== undefined) return <Failure error={error} />;
  if (outline === undefined) return <Beginning session={session} onRead={() => setHasBegun(true)} />;
  if (outline.count === 0) return <Empty title="This session has no messages" />;
  return <Messages answer={answer} outline={outline} />;
}

/** The first messages to read, until the whole session is known: a long one takes its time. */
function Beginning({ session, onRead }: { session: string; onRead: () => void }) {
  const { data, error } = useGet("/api/messages", { session, seqFrom: Number(params.value.seq ?? 0), limit: 12 });
  const isRead = data !== undefined || error !== undefined;
  useEffect(() => {
    if (isRead) onRead();
  }, [isRead]);
  return (
    <>
      <Loading />
      <div class="reading">
        <div class="column">
          {data?.messages.map((message) => (
            <Message key={message.id} message={message} />
          ))}
        </div>
      </div>
    </>
  );
}

function Messages({ answer, outline }: { answer: SessionAnswer; outline: Outline }) {
  const session = answer.session.id;
  const pages = useMemo(() => new MessagePages(session, outline), [session]);
  const [shown, setShown] = useState<[first: number, last: number]>([0, 0]);
  const list = useRef<ListHandle>(null);
  const { seq: wanted, q = "" } = params.value;
  const { data: found } = useGet(q === "" ? null : "/api/search", { q, session, limit: HITS_MAX });
  const hits = useMemo(() => (q === "" ? [] : seqsOf(found)), [q, found]);
  const start = wanted === undefined ? undefined : indexOfSeq(outline, Number(wanted));
  const [chapter, setChapter] = useState(chapterOf(start ?? 0));
  const first = chapter * CHAPTER_MESSAGES;
  const end = Math.min(outline.count, first + CHAPTER_MESSAGES);
  const before = useRef(outline);
  const [appended, setAppended] = useState(0);
  // Reading it draws the list again when messages have come.
  pages.loaded.value;

  useEffect(() => {
    if (outline === before.current) return;
    setAppended((sum) => sum + Math.max(0, outline.count - before.current.count));
    before.current = outline;
    pages.grow(outline);
    pages.show(...shown);
  }, [outline]);

  const showAt = (index: number) => {
    // The list of another chapter begins at the address.
    if (chapterOf(index) !== chapter) setChapter(chapterOf(index));
    else list.current?.scrollTo(index - first);
  };
  const isMounted = useRef(false);
  useEffect(() => {
    // The list begins there; later changes of the address move it.
    if (isMounted.current && start !== undefined) showAt(start);
    isMounted.current = true;
  }, [wanted]);

  const jump = (index: number) => {
    const to = Math.max(0, Math.min(outline.count - 1, index));
    showAt(to);
    change({ seq: outline.seqs[to]! });
  };
  const toHit = (step: 1 | -1) => {
    // The address, because a key that is held comes before the next drawing.
    const here = Number(params.value.seq ?? outline.seqs[shown[0]]);
    const seq = step > 0 ? hits.find((hit) => hit > here) : hits.findLast((hit) => hit < here);
    jump(indexOfSeq(outline, seq ?? hits.at(step > 0 ? 0 : -1)!));
  };
  const turn = outline.turnOf[shown[0]]!;
  useEffect(() => {
    viewKeys.value = (key) => {
      if ((key === "n" || key === "N") && hits.length > 0) {
        toHit(key === "n" ? 1 : -1);
        return true;
      }
      if (key !== "[" && key !== "]") return false;
      const at = outline.turnOf[shown[0]]!;
      const isInside = shown[0] > outline.turns[at]!.index;
      const to = key === "]" ? at + 1 : isInside ? at : at - 1;
      const found = outline.turns[Math.max(0, Math.min(outline.turns.length - 1, to))];
      if (found) jump(found.index);
      return true;
    };
    return () => {
      viewKeys.value = undefined;
    };
  }, [outline, shown, hits]);

  const { bySeq, atHead } = useMemo(() => childrenOf(answer, outline), [answer, outline]);
  const sharedSeqLast = answer.sharedSeqLast ?? -1;
  const sharedEnd = useMemo(() => countUpTo(outline, sharedSeqLast), [outline, sharedSeqLast]);
  const row = (index: number) => {
    const message = pages.at(index);
    const here = outline.turnOf[index]!;
    const isFirst = outline.turns[here]!.index === index;
    const role = outline.roles[index]!;
    const isFollowing =
      !isFirst && role !== "u" && index > 0 && outline.roles[index - 1] !== "u" && outline.roles[index - 1] !== "s";
    return (
      <>
        {index === sharedEnd && index > 0 && <ForkMark />}
        {isFirst && (
          <p class="turn">
            <span>Turn {number(here + 1)}</span>
            <span>{compact(outline.turns[here]!.tokenCount)} tokens</span>
          </p>
        )}
        {message === undefined ? (
          <div class="message is-waiting" style={{ height: `${Math.min(400, estimateOf(outline, index) - 12)}px` }} />
        ) : (
          <Message
            message={message}
            inSession={session}
            isFollowing={isFollowing}
            isMarked={wanted !== undefined && message.seq === Number(wanted)}
            isShared={index < sharedEnd}
            tools={
              about.value!.isWritable &&
              index >= sharedEnd && (
                <MessageTools message={message} graduatedSeq={answer.graduatedSeq} onDone={() => pages.forget(index)} />
              )
            }
          />
        )}
        {message !== undefined && isSummary(message) && !isSummary(pages.at(index - 1)) && (
          <Lost summary={message} inSession={session} />
        )}
        {bySeq.get(index)?.map((child) => (
          <Child key={child.session} child={child} />
        ))}
      </>
    );
  };
  return (
    <>
      <div class="place" role="group" aria-label="Place in the session">
        <PlaceInput
          seq={outline.seqs[shown[0]]!}
          min={outline.seqs[0]!}
          max={outline.seqs[outline.count - 1]!}
          onChange={(seq) => jump(indexOfSeq(outline, seq))}
        />
        <span class="muted">
          turn {number(turn + 1)} of {number(outline.turns.length)}
        </span>
        {outline.count >= OVERVIEW_MESSAGES_MIN && <DeedLegend outline={outline} />}
        <span class="spring" />
        {hits.length > 0 && (
          <span role="group" aria-label="Hits of the search">
            <button type="button" class="plain" aria-label="Previous hit" onClick={() => toHit(-1)}>
              ↑
            </button>
            <span role="status">{placeOf(hits, found?.more === true, Number(wanted))}</span>
            <button type="button" class="plain" aria-label="Next hit" onClick={() => toHit(1)}>
              ↓
            </button>
          </span>
        )}
        {appended > 0 && (
          <button
            type="button"
            onClick={() => {
              jump(outline.count - 1);
              setAppended(0);
            }}
          >
            {count(appended, "new message")} ↓
          </button>
        )}
        <button type="button" class="plain" onClick={() => jump(0)}>
          First
        </button>
        <button type="button" class="plain" onClick={() => jump(outline.count - 1)}>
          Newest
        </button>
        <a class="plain" href={href({ view: "search", session, q })}>
          Search it
        </a>
      </div>
      {pages.error.value && <Failure error={pages.error.value} onRetry={() => pages.show(...shown)} />}
      <div class="reading">
        <div class="column">
          {atHead.map((child) => (
            <Child key={child.session} child={child} />
          ))}
          {sharedEnd > 0 && (
            <p class="fork-note">
              This is a fork. It shares its first {count(sharedEnd, "message")} with{" "}
              <a href={href({ view: "session", session: answer.parent?.session, seq: sharedSeqLast })}>
                {answer.parent ? sessionTitle(answer.parent) : "another session"}
              </a>
              .{" "}
              {sharedEnd < outline.count && (
                <button type="button" class="plain" onClick={() => jump(sharedEnd)}>
                  To its own messages
                </button>
              )}
            </p>
          )}
          {first > 0 && (
            <button type="button" onClick={() => jump(first - 1)}>
              Earlier messages ↑
            </button>
          )}
          <VirtualList
            key={`${session} ${chapter}`}
            count={end - first}
            estimate={(index) => estimateOf(outline, first + index)}
            row={(index) => row(first + index)}
            start={start !== undefined && chapterOf(start) === chapter ? start - first : undefined}
            handle={list}
            onShow={(top, bottom) => {
              const [from, to] = [first + top, first + bottom];
              pages.show(from, to);
              setShown((before) => (before[0] === from && before[1] === to ? before : [from, to]));
            }}
          />
          {end < outline.count && (
            <button type="button" onClick={() => jump(end)}>
              Later messages ↓
            </button>
          )}
          {sharedEnd === outline.count && <ForkMark />}
        </div>
        {outline.count >= OVERVIEW_MESSAGES_MIN && (
          <Overview outline={outline} evictedSeq={answer.evictedSeq} shown={shown} onJump={jump} />
        )}
      </div>
    </>
  );
}

/** The place in the session. What is being typed stays, although the list moves on as messages come. */
function PlaceInput(props: { seq: number; min: number; max: number; onChange: (seq: number) => void }) {
  const [typed, setTyped] = useState<string>();
  const settle = (input: HTMLInputElement, isWanted: boolean): void => {
    const { value } = input;
    setTyped(undefined);
    input.value = String(props.seq);
    // The browser also tells of a change after the number was put back.
    if (isWanted && value !== "" && value !== input.value) props.onChange(Number(value));
  };
  return (
    <label>
      Message{" "}
      <input
        type="number"
        min={props.min}
        max={props.max}
        value={typed ?? props.seq}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => settle(event.currentTarget, true)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" && event.key !== "Escape") return;
          // The browser tells of no change if the number is the one that stood there when the typing began.
          if (event.key === "Enter") event.preventDefault();
          settle(event.currentTarget, event.key === "Enter");
        }}
        onBlur={() => setTyped(undefined)}
      />{" "}
      of {number(props.max)}
    </label>
  );
}

/** Returns where the hits of a search in one session are, in the session's order. */
function seqsOf(answer: SearchAnswer | undefined): number[] {
  const seqsOfHit = ({ seq, questionSeq = seq }: SearchHit): number[] => [...new Set([seq, questionSeq])];
  return (answer?.sessions ?? []).flatMap(({ hits }) => hits.flatMap(seqsOfHit)).sort((left, right) => left - right);
}

function placeOf(hits: readonly number[], more: boolean, seq: number): string {
  const index = hits.indexOf(seq);
  const all = `${number(hits.length)}${more ? "+" : ""}`;
  return index < 0 ? `${all} ${hits.length === 1 ? "hit" : "hits"}` : `${index + 1} of ${all}`;
}

/** Returns true for a message of the summary with which an agent went on after a compaction. */
function isSummary(message: ViewMessage | undefined): boolean {
  return message?.metadata?.isCompactSummary === true;
}

/** A guess, in pixels: about 60 characters of prose for 15 tokens. */
function estimateOf({ roles, tokenCounts, turns, turnOf }: Outline, index: number): number {
  const head = turns[turnOf[index]!]!.index === index ? 52 : 0;
  if (roles[index] === "t") return head + 44;
  const lines = Math.ceil(tokenCounts[index]! / 18);
  return head + 48 + Math.min(roles[index] === "u" ? 30 : 16, lines) * 25;
}

function childrenOf({ children }: SessionAnswer, outline: Outline) {
  const bySeq = new Map<number, SessionLink[]>();
  const atHead: SessionLink[] = [];
  for (const child of children) {
    if (child.forkSeq === null) atHead.push(child);
    else {
      const index = indexOfSeq(outline, child.forkSeq);
      bySeq.set(index, [...(bySeq.get(index) ?? []), child]);
    }
  }
  return { bySeq, atHead };
}

/** Returns how many messages have this seq or an earlier one. */
function countUpTo(outline: Outline, seq: number): number {
  const index = indexOfSeq(outline, seq + 1);
  return index < outline.count && outline.seqs[index]! <= seq ? index + 1 : index;
}

/** Where the own messages of a fork begin. */
function ForkMark() {
  return (
    <p class="fork-mark">
      <span>The fork begins here</span>
    </p>
  );
}

/** A subagent or a fork, to unfold in its place. What a fork shares is above it, so it unfolds to its own messages. */
function Child({ child }: { child: SessionLink }) {
  const [messages, setMessages] = useState<ViewMessage[]>();
  const isFork = child.sharedSeqLast !== null;
  const begin = isFork ? child.sharedSeqLast! + 1 : 0;
  const [next, setNext] = useState<number | null>(begin);
  const load = async () => {
    if (next === null) return;
    const answer = await get("/api/messages", { session: child.session, seqFrom: next, limit: 20 }).catch(
      () => undefined,
    );
    if (answer === undefined) return;
    setMessages([...(messages ?? []), ...answer.messages]);
    setNext(answer.next);
  };
  return (
    <details class="fold child" onToggle={(event) => event.currentTarget.open && messages === undefined && void load()}>
      <summary>
        <span class="fold-name">{isFork ? "Fork from here" : "Session from here"}</span>{" "}
        <span class="preview">{sessionTitle(child)}</span>
        <span class="fold-size">{count(child.messageCount, "message")}</span>
      </summary>
      <p class="small">
        <a href={href({ view: "session", session: child.session, seq: isFork ? begin : null })}>Open it by itself</a>
      </p>
      {messages?.length === 0 && <p class="muted">It has no messages of its own yet.</p>}
      {messages?.map((message) => (
        <Message key={message.id} message={message} inSession={child.session} />
      ))}
      {messages !== undefined && next !== null && (
        <button type="button" class="plain" onClick={load}>
          More of it
        </button>
      )}
    </details>
  );
}
