import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Span } from "../../../core/inline-markdown.ts";
import type { SearchHit, SearchSession } from "../../api.ts";
import type { Query } from "../../requests.ts";
import { useGet } from "../client.ts";
import { isFile } from "../file.ts";
import { count, dateTime, sessionTitle, shortDay, visible } from "../format.ts";
import { about } from "../live.ts";
import { AgentAnswer } from "../parts/agent-answer.tsx";
import { Data } from "../parts/data.tsx";
import { Empty, Failure } from "../parts/states.tsx";
import { Themes } from "../parts/themes.tsx";
import { change, href, params } from "../router.ts";
import { Choice, PeriodChoice, ProjectChoice, sinceDays } from "./sessions.tsx";

/** The most hits that are listed, of all sessions or of one. */
export const HITS_MAX = 30;

/** Explains each part of a score in words. */
const PARTS = {
  words: "its own words",
  neighborhood: "the words around it",
  session: "the words of its session",
  speaker: "who speaks",
  time: "the time",
  vector: "its vector",
} as const;

export function SearchView() {
  const { q = "", project, source, role, days, session, explain, by } = params.value;
  const { sources, roles, agent } = about.value!;
  const isByTheme = by === "theme" && session === undefined;
  const isAsked = by === "answer" && session === undefined && agent !== null;
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const { data, error, url, reload } = useGet(
    q.trim() === "" || isByTheme || isAsked ? null : "/api/search",
    {
      q,
      limit: HITS_MAX,
      session,
      project,
      source,
      role: role as Query<"/api/search">["role"],
      ...sinceDays(days),
      explain: explain === "1" ? 1 : undefined,
    },
    { delayMs: 40 },
  );
  const themesRoute = q.trim() === "" || !isByTheme ? null : "/api/themes";
  const nearby = useGet(themesRoute, { q, limit: HITS_MAX, project }, { delayMs: 40 });
  const hits = data?.sessions.flatMap((one) => one.hits) ?? [];
  const toFirst = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    const first = document.querySelector<HTMLElement>("main [data-row]");
    if (first === null) return;
    event.preventDefault();
    if (event.key === "Enter") first.click();
    else first.focus();
  };
  return (
    <section class="page search">
      <h1 class="visually-hidden">Search</h1>
      <input
        id="search-box"
        data-start
        ref={box}
        type="search"
        class="search-box"
        placeholder={session === undefined ? "Search all sessions" : "Search this session"}
        aria-label="Search"
        autocomplete="off"
        spellcheck={false}
        value={q}
        onInput={(event) => change({ q: event.currentTarget.value })}
        onKeyDown={toFirst}
      />
      <div class="filters">
        {session === undefined && (
          <select
            class="needs-server"
            aria-label="What to find"
            value={isByTheme ? "theme" : isAsked ? "answer" : ""}
            onChange={(event) => change({ by: event.currentTarget.value })}
          >
            <option value="">Messages</option>
            <option value="theme">Themes</option>
            {agent !== null && <option value="answer">An answer by {visible(agent)}</option>}
          </select>
        )}
        <ProjectChoice />
        {!isByTheme && !isAsked && (
          <>
            <Choice
              label="Agent"
              all="All agents"
              value={source}
              values={sources}
              onChange={(value) => change({ source: value })}
            />
            <Choice
              label="Role"
              all="All roles"
              value={role}
              values={roles}
              onChange={(value) => change({ role: value })}
            />
            <PeriodChoice />
            <label class="check needs-server">
              <input
                type="checkbox"
                checked={explain === "1"}
                onChange={(event) => change({ explain: event.currentTarget.checked ? 1 : null })}
              />
              Explain the scores
            </label>
          </>
        )}
        {session !== undefined && (
          <button type="button" class="plain" onClick={() => change({ session: null })}>
            Search all sessions
          </button>
        )}
        {q.trim() !== "" && !isAsked && <Data url={isByTheme ? nearby.url : url} sql={data?.sql} />}
      </div>
      {(error ?? nearby.error) ? (
        <Failure error={(error ?? nearby.error)!} onRetry={isByTheme ? nearby.reload : reload} />
      ) : q.trim() === "" ? (
        <Empty title="What are you looking for?">
          <p>Type words, a file, an error, a question. A phrase in double quotes must occur exactly.</p>
        </Empty>
      ) : isAsked ? (
        <AgentAnswer q={q.trim()} project={project} />
      ) : isByTheme ? (
        nearby.data !== undefined && (
          <>
            <p class="muted small" role="status">
              {nearby.data.themes.length === 0 ? "Nothing found" : count(nearby.data.themes.length, "theme")} in{" "}
              {Math.max(1, Math.round(nearby.data.tookMs))} ms
            </p>
            <Themes themes={nearby.data.themes} />
          </>
        )
      ) : data === undefined ? null : (
        <>
          <p class="muted small" role="status">
            {data.sessions.length === 0
              ? "Nothing found"
              : `${count(hits.length, "message")}${!data.more ? "" : isFile ? ", and there are more," : ", the best of more,"}`}{" "}
            in {Math.max(1, Math.round(data.tookMs))} ms
          </p>
          {data.note !== null && <p class="search-note">{visible(data.note)}</p>}
          <ol class="hits">
            {data.sessions.map((one) => (
              <SessionHits
                key={one.hits[0]!.messageId}
                session={one}
                best={Math.max(...hits.map(({ score }) => score))}
              />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function SessionHits({ session, best }: { session: SearchSession; best: number }) {
  const { sessionId, title, project, agent, author, atMs, changedFileCount, hits } = session;
  return (
    <li class="session-hits">
      <p class="hit-head">
        <span class="row-title" dir="auto">
          {sessionTitle({ title, id: sessionId })}
        </span>
        <span class="row-facts">
          {project !== null && <span class="fact-wide">{visible(project)}</span>}
          {agent !== null && <span>{visible(agent)}</span>}
          {author !== null && <span>by {visible(author)}</span>}
          <span>{shortDay(atMs)}</span>
          {changedFileCount > 0 && <span>{count(changedFileCount, "file")} changed since</span>}
        </span>
      </p>
      {hits.map((hit) => (
        <Hit key={hit.messageId} hit={hit} session={sessionId} best={best} />
      ))}
    </li>
  );
}

function Hit({ hit, session, best }: { hit: SearchHit; session: string; best: number }) {
  const { seq, role, name, createdAtMs, asked, spans, supersededBy, copyCount, parts, score, verdict } = hit;
  return (
    <div class="hit">
      <a class="row" data-row href={href({ view: "session", session, seq, q: params.value.q })}>
        {asked !== null && (
          <span class="asked muted small" dir="auto">
            user: {visible(asked)}
          </span>
        )}
        <span class="snippet" dir="auto">
          <span class={`role role-${role}`}>{visible(name ?? role)}</span>{" "}
          {spans.map((span, index) => (
            <SpanText key={index} {...span} />
          ))}
        </span>
        <span class="muted small">
          message {seq} · {dateTime(createdAtMs)}
          {supersededBy !== undefined &&
            verdict === null &&
            " · A newer message above says something else of the same."}
          {copyCount > 0 && ` · ${count(copyCount, "message that says", "messages that say")} nearly the same`}
        </span>
        {verdict !== null && (
          <span class="verdict small" dir="auto">
            {visible(verdict)}
          </span>
        )}
      </a>
      {parts && <Parts parts={parts} score={score} best={best} />}
    </div>
  );
}

function SpanText({ text, style, isMatch }: Span): ComponentChildren {
  const shown = isMatch ? <mark>{visible(text)}</mark> : visible(text);
  return style === "code" ? <code>{shown}</code> : style === "strong" ? <strong>{shown}</strong> : shown;
}

function Parts({ parts, score, best }: { parts: NonNullable<SearchHit["parts"]>; score: number; best: number }) {
  const shown = Object.entries(PARTS).filter(([name]) => parts[name as keyof typeof PARTS] !== 0);
  const most = Math.max(...shown.map(([name]) => Math.abs(parts[name as keyof typeof PARTS])), 0.001);
  return (
    <dl class="parts">
      <div class="parts-sum">
        <dt>Score</dt>
        <dd>
          {score.toFixed(3)} <span class="muted">({Math.round((100 * score) / best)} % of the best)</span>
        </dd>
      </div>
      {shown.map(([name, meaning]) => {
        const value = parts[name as keyof typeof PARTS];
        return (
          <div key={name}>
            <dt>{meaning}</dt>
            <dd>
              <span class="meter">
                <span class={value < 0 ? "negative" : ""} style={{ width: `${(100 * Math.abs(value)) / most}%` }} />
              </span>
              {value.toFixed(3)}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
