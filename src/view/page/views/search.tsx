import { Fragment } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SearchHit, SearchRequest } from "../../api.ts";
import { useGet } from "../client.ts";
import { count, dateTime, sessionTitle, visible } from "../format.ts";
import { about, projectName } from "../live.ts";
import { Data } from "../parts/data.tsx";
import { Empty, Failure } from "../parts/states.tsx";
import { change, href, params } from "../router.ts";
import { Choice, ProjectChoice } from "./sessions.tsx";

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
  const { q = "", project, source, role, days, session, explain } = params.value;
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const sinceMs = Number(days) > 0 ? new Date().setHours(0, 0, 0, 0) - (Number(days) - 1) * 86_400_000 : undefined;
  const { data, error, url, reload } = useGet(
    q.trim() === "" ? null : "/api/search",
    {
      q,
      limit: HITS_MAX,
      ...(session !== undefined && { session }),
      ...(project !== undefined && { project }),
      ...(source !== undefined && { source }),
      ...(role !== undefined && { role: role as NonNullable<SearchRequest["role"]> }),
      ...(sinceMs !== undefined && { sinceMs }),
      ...(explain === "1" && { explain: 1 }),
    },
    { delayMs: 40 },
  );
  const { sources, roles } = about.value!;
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
        <ProjectChoice />
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
        <select aria-label="Time" value={days ?? ""} onChange={(event) => change({ days: event.currentTarget.value })}>
          <option value="">Any time</option>
          <option value="7">Last 7 days</option>
          <option value="30">Last 30 days</option>
          <option value="365">Last year</option>
        </select>
        <label class="check">
          <input
            type="checkbox"
            checked={explain === "1"}
            onChange={(event) => change({ explain: event.currentTarget.checked ? 1 : null })}
          />
          Explain the scores
        </label>
        {session !== undefined && (
          <button type="button" class="plain" onClick={() => change({ session: null })}>
            Search all sessions
          </button>
        )}
        {q.trim() !== "" && <Data url={url} sql={data?.sql} />}
      </div>
      {error ? (
        <Failure error={error} onRetry={reload} />
      ) : q.trim() === "" ? (
        <Empty title="What are you looking for?">
          <p>Type words, a file, an error, a question. A phrase in double quotes must occur exactly.</p>
        </Empty>
      ) : data === undefined ? null : (
        <>
          <p class="muted small" role="status">
            {data.hits.length === 0
              ? "Nothing found"
              : `${count(data.hits.length, "message")}${data.more ? ", the best of more," : ""}`}{" "}
            in {Math.max(1, Math.round(data.tookMs))} ms
            {data.corrections.map(({ typed, meant }) => `; no message has “${typed}”, so “${meant}” was searched`)}
            {data.phrasesMissing && "; the phrase occurs nowhere, so its words were searched"}
          </p>
          <ol class="hits">
            {data.hits.map((hit) => (
              <Hit key={hit.messageId} hit={hit} best={data.hits[0]!.score} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function Hit({ hit, best }: { hit: SearchHit; best: number }) {
  const title = sessionTitle({ title: hit.sessionTitle, id: hit.sessionId });
  return (
    <li class="hit">
      <a class="row" data-row href={href({ view: "session", session: hit.sessionId, seq: hit.seq, q: params.value.q })}>
        <span class="hit-head">
          <span class={`role role-${hit.role}`}>{hit.role}</span>
          <span class="row-title" dir="auto">
            {title}
          </span>
          <span class="row-facts">
            <span class="fact-wide">{visible(projectName(hit.project ?? ""))}</span>
            <span>message {hit.seq}</span>
            <span>{dateTime(hit.createdAtMs)}</span>
          </span>
        </span>
        {hit.neighbors
          .filter(({ seq }) => seq < hit.seq)
          .map((neighbor) => (
            <NeighborLine key={neighbor.seq} neighbor={neighbor} />
          ))}
        <span class="snippet" dir="auto">
          <Marked {...hit} />
        </span>
        {hit.neighbors
          .filter(({ seq }) => seq > hit.seq)
          .map((neighbor) => (
            <NeighborLine key={neighbor.seq} neighbor={neighbor} />
          ))}
        {hit.supersededBy !== undefined && (
          <span class="muted small">A newer message above says something else of the same.</span>
        )}
        {hit.copies.length > 0 && (
          <span class="muted small">
            and {count(hit.copies.length, "message that says", "messages that say")} nearly the same
          </span>
        )}
      </a>
      {hit.parts && <Parts parts={hit.parts} score={hit.score} best={best} />}
    </li>
  );
}

function NeighborLine({ neighbor: { name, role, snippet } }: { neighbor: SearchHit["neighbors"][number] }) {
  return (
    <span class="neighbor muted small" dir="auto">
      {visible(name ?? role)}: {visible(snippet)}
    </span>
  );
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

function Marked({ snippet, marks }: Pick<SearchHit, "snippet" | "marks">) {
  const end = marks.at(-1)?.[1] ?? 0;
  return (
    <>
      {marks.map(([from, to], index) => (
        <Fragment key={from}>
          {visible(snippet.slice(marks[index - 1]?.[1] ?? 0, from))}
          <mark>{visible(snippet.slice(from, to))}</mark>
        </Fragment>
      ))}
      {visible(snippet.slice(end))}
    </>
  );
}
