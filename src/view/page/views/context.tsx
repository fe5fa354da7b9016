import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { ContextAnswer, ContextMessageView, CoverageRun, SessionAnswer, Stretch } from "../../api.ts";
import { urlOf } from "../../questions.ts";
import type { Query } from "../../requests.ts";
import { type Loaded, useGet } from "../client.ts";
import { isFile } from "../file.ts";
import { count, number, tokens, visible } from "../format.ts";
import { about } from "../live.ts";
import { Canvas, colorOf } from "../parts/canvas.tsx";
import { countsOf, differences, HOWS, labelOf } from "../parts/coverage.ts";
import { SessionFrame } from "../parts/session-frame.tsx";
import { Sources } from "../parts/sources.tsx";
import { Failure, Loading, Unfold } from "../parts/states.tsx";
import { change, href, params } from "../router.ts";

/** The stops of the slider; the box beside it takes any number. */
const BUDGETS = [
  500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000, 128_000,
  200_000,
];
const RUNS_MAX = 200;
const FEW = 12;
const CLAMP_CHARS = 700;
const NOW = "now";
/** The only strategy that takes a question. */
const ANSWERING = "union-find";
/** A context of an earlier moment takes a copy of the session, so it is asked for when the reader has stopped. */
const PAST_DELAY_MS = 300;

export function ContextView() {
  const request = requestOf(params.value, "");
  const first = useContext("/api/context", request);
  return (
    <SessionFrame data={{ url: urlOf("/api/context", request), sql: first.data?.sql }}>
      {(answer) => <Context answer={answer} first={first} />}
    </SessionFrame>
  );
}

/** @param suffix  What the names of the parameters end with: those of the context to compare with end with 2. */
function requestOf(given: Readonly<Record<string, string>>, suffix: string): Query<"/api/context"> {
  const tokensMax = Number(given[`tokens${suffix}`] ?? given.tokens);
  const strategy = given[`strategy${suffix}`] ?? given.strategy;
  const moment = given[`moment${suffix}`] ?? given.moment ?? NOW;
  return {
    session: given.session ?? "",
    ...(tokensMax > 0 && { tokensMax }),
    ...(strategy !== undefined && { strategy: strategy as NonNullable<Query<"/api/context">["strategy"]> }),
    ...(given.query !== undefined && (strategy ?? ANSWERING) === ANSWERING && { query: given.query }),
    ...(moment !== NOW && { at: moment }),
  };
}

/** Only the context of now changes with the store. */
function useContext(route: "/api/context" | null, request: Query<"/api/context">): Loaded<ContextAnswer> {
  const isPast = request.at !== undefined;
  return useGet(route, request, { live: !isPast, delayMs: isPast ? PAST_DELAY_MS : 60 });
}

function Context({ answer, first }: { answer: SessionAnswer; first: Loaded<ContextAnswer> }) {
  const { compare } = params.value;
  const second = useContext(compare === "1" ? "/api/context" : null, requestOf(params.value, "2"));
  const other = compare === "1" ? second.data : undefined;
  const isGoingBack = [first, second].some(({ isLoading, url }) => isLoading && url.includes("&at="));
  return (
    <>
      {isFile && (
        <p class="controls muted small">
          The context of now, with the budget of the session. Others need the running page.
        </p>
      )}
      <Controls answer={first.data} other={compare === "1" ? (other ?? null) : undefined} seqLast={answer.seqEnd - 1} />
      {first.error && <Failure error={first.error} onRetry={first.reload} />}
      {compare === "1" && second.error && <Failure error={second.error} onRetry={second.reload} />}
      {isGoingBack && <GoingBack />}
      {first.data === undefined || first.data.messages === undefined ? (
        !first.error && !isGoingBack && <Loading />
      ) : (
        <div class={first.isLoading || second.isLoading ? "is-stale" : ""}>
          <Measure context={first.data} session={answer} name={other ? "First" : undefined} />
          {other && <Measure context={other} session={answer} name="Second" />}
          <Legend />
          {other && <Changes before={first.data} after={other} session={answer.session.id} />}
          <div class="context">
            <Shown context={first.data} session={answer.session.id} />
            <Missing runs={first.data.coverage} session={answer.session.id} />
          </div>
        </div>
      )}
    </>
  );
}

/** Tells that an earlier moment takes its time. */
function GoingBack() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="going-back">
      <progress aria-label="Going back" />
      <span role="status">A copy of the session goes back to this moment. A long session takes some seconds.</span>
      <span aria-hidden="true" class="muted">
        {seconds} s
      </span>
    </p>
  );
}

function Controls(props: {
  answer: ContextAnswer | undefined;
  other: ContextAnswer | null | undefined;
  seqLast: number;
}) {
  const { answer, other, seqLast } = props;
  const { query, compare } = params.value;
  return (
    <div class="controls needs-server" role="group" aria-label="The context">
      <ControlSet suffix="" nth={other === undefined ? "" : "First "} answer={answer} seqLast={seqLast} />
      {other !== undefined && <ControlSet suffix="2" nth="Second " answer={other ?? undefined} seqLast={seqLast} />}
      <label class="control control-wide">
        <span>Question</span>
        <input
          type="search"
          value={query ?? ""}
          placeholder="Also show what answers this"
          onInput={(event) => change({ query: event.currentTarget.value })}
        />
      </label>
      <button
        type="button"
        aria-pressed={compare === "1"}
        onClick={() =>
          compare === "1"
            ? change({ compare: null, tokens2: null, strategy2: null, moment2: null }, { push: true })
            : change({ compare: 1, tokens2: Math.round((answer?.tokensMax ?? 8_000) / 2) }, { push: true })
        }
      >
        {compare === "1" ? "Do not compare" : "Compare"}
      </button>
      {query !== undefined && [answer, other].some((one) => one && one.strategy !== ANSWERING) && (
        <p class="muted small">Only {ANSWERING} looks for what answers the question.</p>
      )}
    </div>
  );
}

interface ControlProps {
  /** What the names of the parameters end with. */
  suffix: string;
  /** Before each label: which of two contexts it is for. */
  nth: string;
  answer: ContextAnswer | undefined;
  /** The newest message of the session. */
  seqLast: number;
}

function ControlSet(props: ControlProps) {
  return (
    <div class="control-set">
      <Budget {...props} />
      <Strategy {...props} />
      <Moment {...props} />
    </div>
  );
}

const labelWith = (nth: string, label: string): string => (nth === "" ? label : nth + label.toLowerCase());

function Budget({ suffix, nth, answer }: ControlProps) {
  const [name, label, value] = [`tokens${suffix}`, labelWith(nth, "Budget"), answer?.tokensMax ?? 8_000];
  const typed = Number(params.value[name]);
  const budget = typed > 0 ? typed : value;
  const stop = BUDGETS.findIndex((one) => one >= budget);
  return (
    <div class="control control-budget">
      <span>{label}</span>
      <input
        type="range"
        aria-label={`${label} in tokens`}
        aria-valuetext={tokens(budget)}
        min={0}
        max={BUDGETS.length - 1}
        value={stop < 0 ? BUDGETS.length - 1 : stop}
        onInput={(event) => change({ [name]: BUDGETS[Number(event.currentTarget.value)]! })}
      />
      <input
        type="number"
        aria-label={`${label}, exactly`}
        min={1}
        max={10_000_000}
        step={100}
        value={budget}
        onChange={(event) => change({ [name]: event.currentTarget.value })}
      />
    </div>
  );
}

/** The message that was the newest, or now. The box takes the position of a log entry, too. */
function Moment({ suffix, nth, answer, seqLast }: ControlProps) {
  const [name, label] = [`moment${suffix}`, labelWith(nth, "Moment")];
  const moment = params.value[name] ?? params.value.moment ?? NOW;
  const shown = moment === NOW ? seqLast : moment.startsWith("@") ? (answer?.atSeq ?? seqLast) : Number(moment);
  const choose = (next: string) =>
    change({ [name]: next.trim() === "" || next === String(seqLast) ? NOW : next.trim() });
  return (
    <div class="control control-budget">
      <span>{label}</span>
      <input
        type="range"
        aria-label={`${label}, as the newest message`}
        aria-valuetext={moment === NOW ? NOW : `message ${number(shown)}`}
        min={0}
        max={Math.max(0, seqLast)}
        value={shown}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      <input
        type="text"
        aria-label={`${label}, exactly: a message, or @ and a log position`}
        title="A message, such as 120, or @ and a log position, such as @4711"
        value={moment}
        onChange={(event) => choose(event.currentTarget.value)}
      />
    </div>
  );
}

function Strategy({ suffix, nth, answer }: ControlProps) {
  const name = `strategy${suffix}`;
  return (
    <label class="control">
      <span>{labelWith(nth, "Strategy")}</span>
      <select
        value={params.value[name] ?? answer?.strategy ?? ""}
        onChange={(event) => change({ [name]: event.currentTarget.value })}
      >
        {about.value!.strategies.map((strategy) => (
          <option key={strategy} value={strategy}>
            {strategy}
          </option>
        ))}
      </select>
    </label>
  );
}

/** How much of the budget is used, and how each message of the session is there, along the session. */
function Measure(props: { context: ContextAnswer; session: SessionAnswer; name: string | undefined }) {
  const { context, session, name } = props;
  const { atSeq, coverage, tokensMax, tokenCount, strategy, stablePrefixTokens } = context;
  const counts = useMemo(() => countsOf(coverage), [coverage]);
  const draw = useCallback(
    (picture: CanvasRenderingContext2D, width: number, height: number) => {
      const end = Math.max(1, session.seqEnd);
      for (const { how, seqFirst, seqLast } of coverage) {
        picture.fillStyle = colorOf(`--how-${how}`);
        const x = (seqFirst / end) * width;
        const inset = how === "pointer" || how === "absent" ? height * 0.36 : 0;
        picture.fillRect(x, inset, Math.max(0.7, ((seqLast + 1) / end) * width - x), height - 2 * inset);
      }
    },
    [coverage, session.seqEnd],
  );
  const said = HOWS.flatMap(({ how, label }) => {
    const found = counts.get(how);
    return found ? [`${number(found)} ${label}`] : [];
  });
  return (
    <figure class="measure">
      <figcaption>
        <strong>
          {name && `${name}: `}
          {number(tokenCount)} of {number(tokensMax)} tokens
        </strong>
        <span>{strategy}</span>
        {atSeq < session.seqEnd - 1 && <span>when message {number(atSeq)} was the newest</span>}
        <span>{tokens(stablePrefixTokens)} of them in the stable prefix</span>
      </figcaption>
      <Canvas
        height={30}
        draw={draw}
        label={`The ${number(session.seqEnd)} messages of the session from first to newest: ${said.join(", ")}`}
      />
      <p class="facts">
        {said.map((one) => (
          <span key={one}>{one}</span>
        ))}
      </p>
    </figure>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Colors">
      {HOWS.map(({ how, label, meaning }) => (
        <li key={how} title={meaning}>
          <span class={`swatch how-${how}`} />
          {label}
        </li>
      ))}
    </ul>
  );
}

function Changes({ before, after, session }: { before: ContextAnswer; after: ContextAnswer; session: string }) {
  const found = useMemo(() => differences(before.coverage, after.coverage), [before, after]);
  const [isWhole, setIsWhole] = useState(false);
  const messageCount = found.reduce((sum, { seqFirst, seqLast }) => sum + seqLast - seqFirst + 1, 0);
  return (
    <section class="changes" aria-labelledby="changes">
      <h2 id="changes">
        {messageCount === 0
          ? "Both show every message in the same way"
          : `${count(messageCount, "message")} ${messageCount === 1 ? "is" : "are"} there in another way`}
      </h2>
      <Between before={before.atSeq} after={after.atSeq} />
      <ul class="plain-list columns">
        {found.slice(0, isWhole ? RUNS_MAX : FEW).map((one) => (
          <li key={one.seqFirst}>
            <Expandable title={rangeOf(one)} session={session} range={one}>
              <span class="how-names">
                <span class={`how how-${one.before}`}>{labelOf(one.before)}</span>
                <span>
                  <span aria-hidden="true">→</span>
                  <span class="visually-hidden">becomes</span>
                </span>
                <span class={`how how-${one.after}`}>{labelOf(one.after)}</span>
              </span>
            </Expandable>
          </li>
        ))}
      </ul>
      {!isWhole && found.length > FEW && (
        <button type="button" class="plain" onClick={() => setIsWhole(true)}>
          Show all {count(found.length, "place")}
        </button>
      )}
      {isWhole && found.length > RUNS_MAX && (
        <p class="muted small">and {number(found.length - RUNS_MAX)} more places</p>
      )}
    </section>
  );
}

function Between({ before, after }: { before: number; after: number }) {
  if (before === after) return null;
  const [earlier, later] = [Math.min(before, after), Math.max(before, after)];
  return (
    <p class="muted small">
      {rangeOf({ seqFirst: earlier + 1, seqLast: later })} came in between. What was forgotten since is in neither, and
      both have today’s settings.
    </p>
  );
}

const rangeOf = ({ seqFirst, seqLast }: { seqFirst: number; seqLast: number }): string =>
  seqFirst === seqLast ? `Message ${number(seqFirst)}` : `Messages ${number(seqFirst)}–${number(seqLast)}`;

function Shown({ context, session }: { context: ContextAnswer; session: string }) {
  const { messages, stablePrefixEnd, stablePrefixTokens } = context;
  const marker = (
    <p class="stable" role="note">
      Everything above stays the same, byte for byte, until the frontier moves: prompt caches keep its{" "}
      {tokens(stablePrefixTokens)}.
    </p>
  );
  return (
    <section aria-labelledby="shown">
      <h2 id="shown">In the context</h2>
      {messages.map((message) => (
        <div key={message.index}>
          {message.index === stablePrefixEnd && message.index > 0 && marker}
          <Shape message={message} session={session} />
        </div>
      ))}
      {stablePrefixEnd >= messages.length && messages.length > 0 && marker}
    </section>
  );
}

function Shape({ message, session }: { message: ContextMessageView; session: string }) {
  return (
    <article class="shape" data-row tabIndex={0} aria-label={`${message.role}, ${tokens(message.tokenCount)}`}>
      <header>
        <span class={`role role-${message.role}`}>
          {message.name === null ? message.role : `${message.role}, ${visible(message.name)}`}
        </span>
        {message.isComposed && <span class="badge">written by Coppice</span>}
        <span class="message-facts">{tokens(message.tokenCount)}</span>
      </header>
      {message.stretches.map((stretch, index) => (
        <StretchView key={index} stretch={stretch} session={session} isComposed={message.isComposed} />
      ))}
    </article>
  );
}

/** The tags that Coppice wrote are there for the model, so they are shown, and step back. */
function Tagged({ text, isComposed }: { text: string; isComposed: boolean }) {
  if (!isComposed) return <>{text}</>;
  return (
    <>
      {text.split(/(<[^<>]*>)/).map((piece, index) =>
        index % 2 === 1 ? (
          <code key={index} class="tag">
            {piece}
          </code>
        ) : (
          piece
        ),
      )}
    </>
  );
}

function StretchView({ stretch, session, isComposed }: { stretch: Stretch; session: string; isComposed: boolean }) {
  const [isWhole, setIsWhole] = useState(false);
  const [isOpen, setIsOpen] = useState(false);
  const { how, handle, seqFirst, seqLast } = stretch;
  const text = visible(stretch.text).trim();
  const isLong = text.length > CLAMP_CHARS;
  const from = stretch.session ?? session;
  const source =
    handle !== null
      ? { root: handle }
      : seqFirst === null
        ? undefined
        : { session: from, seqFirst, seqLast: seqLast ?? seqFirst };
  return (
    <div class={`stretch how-${how}`}>
      <p class="plain-text">
        <Tagged text={isLong && !isWhole ? `${text.slice(0, CLAMP_CHARS)}…` : text} isComposed={isComposed} />
      </p>
      <p class="stretch-facts">
        <span class={`how how-${how}`}>{labelOf(how)}</span>
        {isLong && (
          <button type="button" class="plain" onClick={() => setIsWhole(!isWhole)}>
            {isWhole ? "Less" : `All ${number(text.length)} characters`}
          </button>
        )}
        {source && (
          <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {handle ?? rangeOf({ seqFirst: seqFirst!, seqLast: seqLast ?? seqFirst! })}
            {stretch.session !== undefined && " of another session"}
          </button>
        )}
      </p>
      {isOpen && source && <Sources of={source} />}
    </div>
  );
}

/** Lists the messages that the model does not get, or gets only in a line. */
function Missing({ runs, session }: { runs: readonly CoverageRun[]; session: string }) {
  const missing = runs.filter(({ how }) => how === "pointer" || how === "absent" || how === "summary");
  return (
    <section aria-labelledby="missing">
      <h2 id="missing">Not word for word</h2>
      {missing.length === 0 ? (
        <p class="muted">Nothing is missing: every message is there, or a line of it.</p>
      ) : (
        <>
          <p class="muted small">The model can still ask for these messages, and you can read them here.</p>
          <ul class="plain-list">
            {missing.slice(0, RUNS_MAX).map((run) => (
              <li key={run.seqFirst}>
                {run.how === "absent" ? (
                  <span>
                    {rangeOf(run)} <span class="how how-absent">{labelOf("absent")}</span>
                  </span>
                ) : (
                  <Expandable title={rangeOf(run)} session={session} range={run}>
                    <span class={`how how-${run.how}`}>{labelOf(run.how)}</span>
                  </Expandable>
                )}
              </li>
            ))}
          </ul>
          {missing.length > RUNS_MAX && <p class="muted small">and {number(missing.length - RUNS_MAX)} more places</p>}
        </>
      )}
    </section>
  );
}

function Expandable(props: {
  title: string;
  session: string;
  range: { seqFirst: number; seqLast: number };
  children: preact.ComponentChildren;
}) {
  const { title, session, range, children } = props;
  const summary = (
    <>
      <span class="fold-name">{title}</span> {children}
    </>
  );
  return (
    <Unfold summary={summary}>
      <div>
        <a class="small" href={href({ view: "session", session, seq: range.seqFirst })}>
          Open in the session
        </a>
        <Sources of={{ session, seqFirst: range.seqFirst, seqLast: range.seqLast }} />
      </div>
    </Unfold>
  );
}
