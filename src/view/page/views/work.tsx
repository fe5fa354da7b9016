import type { WorkAnswer } from "../../api.ts";
import { useGet } from "../client.ts";
import { dateTime, visible } from "../format.ts";
import { Data } from "../parts/data.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { change, href, params } from "../router.ts";
import { ProjectChoice } from "./sessions.tsx";

/** What can be asked, with the words around the box. */
const QUESTIONS = {
  file: { name: "A file", placeholder: "src/store/lease.ts", none: "No stored session has read or changed this file." },
  error: { name: "An error", placeholder: "TypeError: …", none: "No stored session had this error and got rid of it." },
  command: { name: "A command", placeholder: "npm run", none: "No stored session has run this." },
} as const;
type Question = keyof typeof QUESTIONS;

/** The life of a file, of an error and of a command in all sessions. */
export function WorkView() {
  const { of = "file", q = "", project } = params.value;
  const question: Question = of in QUESTIONS ? (of as Question) : "file";
  const asked = q.trim();
  const { data, error, url, reload } = useGet(
    "/api/work",
    { ...(asked !== "" && { [question]: asked }), ...(project !== undefined && { project }) },
    { delayMs: 80 },
  );
  return (
    <section class="page search">
      <div class="title-row">
        <h1 tabIndex={-1}>Work</h1>
        <div class="tools">
          <Data url={url} sql={data?.sql} />
        </div>
      </div>
      <p class="muted">What was done to a file, what made an error go, and how a command is run.</p>
      <div class="filters">
        <select
          aria-label="What to ask about"
          value={question}
          onChange={(event) => change({ of: event.currentTarget.value })}
        >
          {Object.entries(QUESTIONS).map(([value, { name }]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        <input
          type="search"
          data-start
          aria-label={QUESTIONS[question].name}
          placeholder={QUESTIONS[question].placeholder}
          autocomplete="off"
          spellcheck={false}
          value={q}
          onInput={(event) => change({ q: event.currentTarget.value })}
        />
        <ProjectChoice />
      </div>
      {asked === "" && <h2>Errors that keep coming back</h2>}
      {error ? (
        <Failure error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Loading />
      ) : data.items.length === 0 ? (
        <Empty title={asked === "" ? "No error came back in three sessions" : QUESTIONS[question].none}>
          <p>Upkeep reads what tool calls did. What was imported just now may follow in a moment.</p>
        </Empty>
      ) : (
        <ol class="hits">
          {data.items.map((item) => (
            <Item key={`${item.sessionId} ${item.about}`} item={item} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Item({ item }: { item: WorkAnswer["items"][number] }) {
  return (
    <li class="hit">
      <a class="row" data-row href={href({ view: "session", session: item.sessionId, seq: item.lines[0]?.seq })}>
        <span class="hit-head">
          <span class="row-title" dir="auto">
            {visible(item.about)}
          </span>
          <span class="row-facts">
            <span>{dateTime(item.atMs)}</span>
          </span>
        </span>
      </a>
      <ul class="work-lines">
        {item.lines.map(({ kind, text, messageId, seq }) => (
          <li key={`${messageId} ${kind} ${text}`}>
            <span class="muted small">{kind}</span>{" "}
            <a href={href({ view: "session", session: item.sessionId, seq })} dir="auto">
              {visible(text) || "(nothing was said)"}
            </a>
          </li>
        ))}
      </ul>
    </li>
  );
}
