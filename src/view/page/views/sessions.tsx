import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DaysAnswer, ListedSession, NewsAnswer, SessionsAnswer } from "../../api.ts";
import { get, type Refused, useGet } from "../client.ts";
import { isFile } from "../file.ts";
import { compact, count, day, oneLine, sessionTitle, shortDay, time, visible } from "../format.ts";
import { about, projectName, version } from "../live.ts";
import { Empty, Failure, Loading, Title } from "../parts/states.tsx";
import { change, href, params } from "../router.ts";

const DAY_MS = 86_400_000;
/** The fewest and the most days of the timeline. */
const DAYS_MIN = 30;
const DAYS_MAX = 180;
/** By the number of days. */
const PERIODS = new Map([
  ["1", "Last day"],
  ["7", "Last 7 days"],
  ["30", "Last 30 days"],
  ["365", "Last year"],
]);

export function SessionsView() {
  const { project, source, text, days, on } = params.value;
  const request = useMemo(() => requestOf({ project, source, text, days, on }), [project, source, text, days, on]);
  const first = useGet("/api/sessions", request, { live: true, delayMs: text ? 80 : 0 });
  const [more, setMore] = useState<{ request: object; answers: SessionsAnswer[]; error?: Refused }>();
  const answers = [...(first.data ? [first.data] : []), ...(more?.request === request ? more.answers : [])];
  const sessions = answers.flatMap((answer) => answer.sessions);
  const next = answers.at(-1)?.next ?? null;
  const news = useNews();

  const newest = useRef(0);
  const loadMore = async (pageCount: number) => {
    const load = ++newest.current;
    const loaded: SessionsAnswer[] = [];
    try {
      for (let offset = first.data!.next; offset !== null && loaded.length < pageCount; offset = loaded.at(-1)!.next)
        loaded.push(await get("/api/sessions", { ...request, offset }));
      if (load === newest.current) setMore({ request, answers: loaded });
    } catch (error) {
      if (load === newest.current) setMore({ request, answers: answers.slice(1), error: error as Refused });
    }
  };
  // A session that is used moves to the first page, so all later pages change with it.
  useEffect(() => {
    if (more?.request === request && first.data !== undefined) void loadMore(more.answers.length);
  }, [first.data]);

  const isFiltered = Object.values({ project, source, text, days, on }).some(Boolean);
  return (
    <section class="page">
      <Title of={first}>Sessions</Title>
      <News news={news} />
      <Timeline />
      <Filters />
      {first.error ? (
        <Failure error={first.error} onRetry={first.reload} />
      ) : first.data === undefined ? (
        <Loading />
      ) : sessions.length === 0 ? (
        isFiltered ? (
          <Empty title="No session fits">
            <p>
              <a href={href({})}>Show all sessions</a>
            </p>
          </Empty>
        ) : (
          <Empty title="No sessions yet">
            <p>
              <code>coppice watch --once</code> imports what your coding agents have kept. This page follows the store,
              so they appear here.
            </p>
          </Empty>
        )
      ) : (
        <SessionList sessions={sessions} news={news.bySession} />
      )}
      {more?.error && <Failure error={more.error} />}
      {next !== null && (
        <p class="more">
          <button type="button" onClick={() => loadMore(answers.length)}>
            More sessions
          </button>
        </p>
      )}
    </section>
  );
}

function requestOf({ project, source, text, days, on }: Record<string, string | undefined>) {
  const from = on === undefined ? Number.NaN : new Date(`${on}T00:00`).getTime();
  return {
    project,
    source,
    text,
    ...(Number.isFinite(from) ? { sinceMs: from, untilMs: from + DAY_MS } : sinceDays(days)),
  };
}

/** Returns the time at which the last days began, as a part of a request. */
export function sinceDays(days: string | undefined): { sinceMs?: number } {
  return Number(days) > 0 ? { sinceMs: new Date().setHours(0, 0, 0, 0) - (Number(days) - 1) * DAY_MS } : {};
}

function Filters() {
  const { source, text } = params.value;
  const { sources } = about.value!;
  return (
    <form class="filters" role="search" aria-label="Filter sessions" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        aria-label="Title, first words or id"
        placeholder="Title, first words or id"
        value={text ?? ""}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <ProjectChoice push />
      <Choice
        label="Agent"
        all="All agents"
        value={source}
        values={sources}
        onChange={(value) => change({ source: value }, { push: true })}
      />
      <PeriodChoice push />
    </form>
  );
}

export function Choice(props: {
  label: string;
  all: string;
  value: string | undefined;
  values: readonly string[];
  nameOf?: (value: string) => string;
  onChange: (value: string) => void;
}) {
  const { label, all, value, values, nameOf = (one) => one, onChange } = props;
  return (
    <select aria-label={label} value={value ?? ""} onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">{all}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {visible(nameOf(one))}
        </option>
      ))}
    </select>
  );
}

/** @param props.push  True if the way back leads to the project before. */
export function ProjectChoice({ push = false }: { push?: boolean }) {
  return (
    <Choice
      label="Project"
      all="All projects"
      value={params.value.project}
      values={about.value!.projects.map(({ project }) => project)}
      nameOf={projectName}
      onChange={(project) => change({ project }, { push })}
    />
  );
}

/** @param props.push  As for `ProjectChoice`. */
export function PeriodChoice({ push = false }: { push?: boolean }) {
  const { days, on } = params.value;
  return (
    <Choice
      label="Time"
      all="Any time"
      value={on ?? days}
      values={[...(on === undefined ? [] : [on]), ...PERIODS.keys()]}
      nameOf={(value) => PERIODS.get(value) ?? value}
      onChange={(value) => change({ days: value, on: null }, { push })}
    />
  );
}

/** The messages of each day as bars; a bar filters by its day. */
function Timeline() {
  const { project, source, on } = params.value;
  const { data } = useGet(
    "/api/days",
    { project, source, offsetMinutes: -new Date().getTimezoneOffset() },
    { live: true },
  );
  if (data === undefined || data.days.length < 2) return null;
  const days = withGaps(data.days.slice(0, 120));
  const most = Math.max(...days.map(({ messageCount }) => messageCount));
  return (
    <figure class="timeline" aria-label="Messages by day">
      <div class="bars">
        {days.map(({ day: date, messageCount, sessionCount }) => {
          const share = Math.sqrt(messageCount / most);
          const label = `${date}: ${count(messageCount, "message")} in ${count(sessionCount, "session")}`;
          if (sessionCount === 0) return <span key={date} class="gap" />;
          return (
            <a
              key={date}
              href={href({ ...params.value, on: on === date ? null : date, days: null })}
              title={label}
              aria-label={label}
              aria-current={on === date ? "date" : undefined}
            >
              <span style={{ height: `${Math.max(6, share * 100)}%` }} />
            </a>
          );
        })}
      </div>
      <figcaption>
        <span>{shortDay(Date.parse(`${days[0]!.day}T00:00`))}</span>
        <span>{shortDay(Date.parse(`${days.at(-1)!.day}T00:00`))}</span>
      </figcaption>
    </figure>
  );
}

/** Returns the days oldest first, a month at least, with empty days between them unless these are too many to draw. */
function withGaps(newestFirst: DaysAnswer["days"]): DaysAnswer["days"] {
  const days = newestFirst.toReversed();
  const last = Date.parse(days.at(-1)!.day);
  const span = Math.max(DAYS_MIN, Math.round((last - Date.parse(days[0]!.day)) / DAY_MS) + 1);
  if (span > DAYS_MAX) return days;
  const known = new Map(days.map((one) => [one.day, one]));
  return Array.from({ length: span }, (_, index) => {
    const date = new Date(last - (span - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return known.get(date) ?? { day: date, fromMs: 0, sessionCount: 0, messageCount: 0, tokenCount: 0 };
  });
}

function SessionList({ sessions, news }: { sessions: ListedSession[]; news: News["bySession"] }) {
  const groups: [string, ListedSession[]][] = [];
  for (const session of sessions) {
    const date = day(session.updatedAtMs);
    const group = groups.at(-1);
    if (group?.[0] === date) group[1].push(session);
    else groups.push([date, [session]]);
  }
  return (
    <>
      {groups.map(([date, ofDay]) => (
        <section key={date} class="day">
          <h2>{date}</h2>
          <ul class="rows">
            {ofDay.map((session) => (
              <SessionRow key={session.id} session={session} news={news.get(session.id)} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

function SessionRow(props: { session: ListedSession; news: { messageCount: number; seqFirst: number } | undefined }) {
  const { session, news } = props;
  const isEmpty = session.messageCount === 0 && session.title === null;
  const title = sessionTitle(session);
  const opening = oneLine(session.opening);
  // What was asked first is mostly the title.
  const isTitle = opening.toLowerCase().startsWith(title.replace(/…$/, "").toLowerCase());
  const told = oneLine(session.outcome) || (isTitle ? "" : opening);
  return (
    <li>
      <a class="row" data-row href={href({ view: "session", session: session.id, seq: news?.seqFirst })}>
        <span class="row-main">
          <span class="row-title" dir="auto">
            {session.parentSessionId !== null && (
              <span class="muted" title="Started by another session, or a fork of it">
                ↳{" "}
              </span>
            )}
            {isEmpty ? <span class="muted">No messages yet</span> : title}
            {session.tags.map((tag) => (
              <span key={tag} class="muted">
                {" "}
                #{visible(tag)}
              </span>
            ))}
            {news && <span class="badge">{news.messageCount} new</span>}
          </span>
          {isEmpty ? (
            <span class="row-sub">{title}</span>
          ) : (
            told && (
              <span class="row-sub" dir="auto">
                {told}
              </span>
            )
          )}
        </span>
        <span class="row-facts">
          <span class="fact-wide">{visible(projectName(session.project ?? ""))}</span>
          <span class="fact-wide">{session.source}</span>
          {session.author !== null && <span>by {visible(session.author)}</span>}
          <span>{count(session.messageCount, "message")}</span>
          <span class="fact-wide">{compact(session.tokenCount)} tokens</span>
          <span>
            <time dateTime={new Date(session.updatedAtMs).toISOString()} title={shortDay(session.updatedAtMs)}>
              {time(session.updatedAtMs)}
            </time>
          </span>
        </span>
      </a>
    </li>
  );
}

interface News {
  answer: NewsAnswer | undefined;
  bySession: Map<string, NewsAnswer["sessions"][number]>;
  seeAll: () => void;
}

const LOOKED = "coppice.looked";

/** Lists the messages that were appended since the reader marked everything as seen; at first, since the first visit. */
function useNews(): News {
  const [looked, setLooked] = useState(() =>
    isFile ? 0 : Number(localStorage.getItem(`${LOOKED} ${about.value!.path}`) ?? Number.NaN),
  );
  const [answer, setAnswer] = useState<NewsAnswer>();
  const seen = version.value;
  const look = (messageId: number) => {
    localStorage.setItem(`${LOOKED} ${about.value!.path}`, String(messageId));
    setLooked(messageId);
  };
  useEffect(() => {
    const isFirst = Number.isNaN(looked);
    get("/api/news", { after: isFirst ? Number.MAX_SAFE_INTEGER : looked }).then(
      (found) => (isFirst ? look(found.newestMessageId) : setAnswer(found)),
      () => undefined,
    );
  }, [looked, seen]);
  const bySession = new Map((answer?.sessions ?? []).map((session) => [session.session, session]));
  return { answer, bySession, seeAll: () => answer && look(answer.newestMessageId) };
}

function News({ news: { answer, seeAll } }: { news: News }) {
  if (!answer || answer.sessions.length === 0) return null;
  const messageCount = answer.sessions.reduce((sum, session) => sum + session.messageCount, 0);
  return (
    <p class="notice" role="status">
      {count(messageCount, "new message")} in {count(answer.sessions.length, "session")} since you looked.
      <button type="button" class="plain" onClick={seeAll}>
        Mark as seen
      </button>
    </p>
  );
}
