import type { WorkAnswer, WorkCount } from "../../api.ts";
import { useGet } from "../client.ts";
import { isFile } from "../file.ts";
import { count, dateTime, number, shortDay, visible } from "../format.ts";
import { projectName } from "../live.ts";
import { Empty, Title, WhenLoaded } from "../parts/states.tsx";
import { change, href, params } from "../router.ts";
import { PeriodChoice, ProjectChoice, sinceDays } from "./sessions.tsx";

/** What can be asked, with the words around the box. */
const QUESTIONS = {
  file: { name: "A file", placeholder: "src/store/lease.ts", none: "No stored session has read or changed this file." },
  error: { name: "An error", placeholder: "TypeError: …", none: "No stored session had this error and got rid of it." },
  command: { name: "A command", placeholder: "npm run", none: "No stored session has run this." },
} as const;
type Question = keyof typeof QUESTIONS;

/** The life of a file, of an error and of a command in all sessions. */
export function WorkView() {
  const { of = "file", q = "", project, days } = params.value;
  const question: Question = of in QUESTIONS ? (of as Question) : "file";
  const asked = q.trim();
  const found = useGet(asked === "" ? null : "/api/work", { [question]: asked, project }, { delayMs: 80 });
  const overview = useGet(asked === "" ? "/api/work-overview" : null, { project, ...sinceDays(days) });
  return (
    <section class="page search">
      <Title of={asked === "" ? overview : found}>Work</Title>
      <p class="muted">What was done to a file, what made an error go, and how a command is run.</p>
      {isFile && (
        <p class="muted small">
          {asked === ""
            ? "Each row leads to what was done with it. Other questions need the running page."
            : visible(asked)}{" "}
          {asked !== "" && <a href={href({ view: "work", project })}>All work</a>}
        </p>
      )}
      <div class={asked === "" ? "filters" : "filters needs-server"}>
        <select
          class="needs-server"
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
          class="needs-server"
          data-start
          aria-label={QUESTIONS[question].name}
          placeholder={QUESTIONS[question].placeholder}
          autocomplete="off"
          spellcheck={false}
          value={q}
          onInput={(event) => change({ q: event.currentTarget.value })}
        />
        <ProjectChoice />
        {asked === "" && !isFile && <PeriodChoice />}
      </div>
      {asked === "" ? (
        <WhenLoaded of={overview}>{(data) => <Overview {...data} />}</WhenLoaded>
      ) : (
        <WhenLoaded of={found}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={QUESTIONS[question].none}>
                <p>
                  <a href={href({ view: "search", q: asked, project })}>Search for messages that name it</a>
                </p>
              </Empty>
            ) : (
              <ol class="hits">
                {items.map((item) => (
                  <Item key={`${item.sessionId} ${item.about}`} item={item} />
                ))}
              </ol>
            )
          }
        </WhenLoaded>
      )}
    </section>
  );
}

/** What comes up most. Each row leads to what was done with it, and its time to the place where it was last. */
function Overview({ files, errors, commands }: Record<"files" | "errors" | "commands", WorkCount[]>) {
  if (files.length + errors.length + commands.length === 0)
    return (
      <Empty title="No work was stored">
        <p>Upkeep reads what tool calls did. What was imported just now may follow in a moment.</p>
      </Empty>
    );
  return (
    <>
      <Counts title="Files changed most" of="file" rows={files} counted={({ count: n }) => count(n, "change")} />
      <Counts title="Errors that came back" of="error" rows={errors} counted={({ count: n }) => count(n, "time")} />
      <Counts
        title="Commands that fail"
        of="command"
        rows={commands}
        counted={({ count: n, totalCount }) => `${n} of ${number(totalCount)} failed`}
      />
    </>
  );
}

function Counts(props: {
  title: string;
  of: Question;
  rows: readonly WorkCount[];
  counted: (row: WorkCount) => string;
}) {
  const { title, of, rows, counted } = props;
  if (rows.length === 0) return null;
  return (
    <section class="day">
      <h2>{title}</h2>
      <ul class="rows counts">
        {rows.map((row) => (
          <li key={`${row.project} ${row.name}`}>
            <a
              class="row"
              data-row
              href={href({ view: "work", of, q: row.name, project: params.value.project ?? row.project })}
            >
              <span class="row-main">
                <span class={of === "file" ? "row-title path" : "row-title"} title={visible(row.name)}>
                  <bdi>{visible(withoutFolder(row.name, row.project))}</bdi>
                </span>
                {row.detail !== null && <span class="row-sub">{visible(withoutFolder(row.detail, row.project))}</span>}
              </span>
              <span class="row-facts">
                <span>{params.value.project === undefined && visible(projectName(row.project ?? ""))}</span>
                <span>{counted(row)}</span>
                <span>{count(row.sessionCount, "session")}</span>
              </span>
            </a>
            <a
              class="small"
              href={href({ view: "session", session: row.sessionId, seq: row.seq })}
              title="Where it was last"
            >
              {shortDay(row.lastAtMs)}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function withoutFolder(text: string, project: string | null): string {
  return project === null ? text : text.replaceAll(`${project}/`, "");
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
