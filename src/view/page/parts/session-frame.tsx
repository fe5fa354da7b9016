import type { ComponentChildren } from "preact";
import type { SessionAnswer } from "../../api.ts";
import { type Loaded, useGet } from "../client.ts";
import { count, dateTime, sessionTitle, tokens, visible } from "../format.ts";
import { projectName } from "../live.ts";
import { href, params } from "../router.ts";
import { Actions } from "../views/acting.tsx";
import { Copy, Data } from "./data.tsx";
import { Failure, Loading } from "./states.tsx";

const TABS = [
  ["session", "Read"],
  ["context", "What the model sees"],
  ["forest", "Forest"],
] as const;

/** The head of a session over each of its views. */
export function SessionFrame(props: {
  /** The JSON and SQL of the view; by default those of the session. */
  data?: { url: string; sql?: string | undefined };
  children: (answer: SessionAnswer) => ComponentChildren;
}) {
  const { data, children } = props;
  const session = params.value.session ?? "";
  const loaded: Loaded<SessionAnswer> = useGet("/api/session", { session }, { live: true });
  const answer = loaded.data?.session.id === session ? loaded.data : undefined;
  if (answer === undefined)
    return loaded.error ? <Failure error={loaded.error} onRetry={loaded.reload} /> : <Loading />;
  const { project, source, messageCount, tokenCount, updatedAtMs } = answer.session;
  const current = params.value.view;
  return (
    <article class="session">
      <header class="session-head">
        <div class="crumbs">
          <a href={href({})}>Sessions</a>
          {project !== null && <a href={href({ project })}>{visible(projectName(project))}</a>}
          {answer.parent && (
            <a href={href({ view: "session", session: answer.parent.session, seq: answer.parent.forkSeq })}>
              ↖ {sessionTitle(answer.parent)}
            </a>
          )}
        </div>
        <div class="title-row">
          <h1 tabIndex={-1} dir="auto">
            {sessionTitle(answer.session)}
          </h1>
          <div class="tools">
            <Actions answer={answer} onDone={loaded.reload} />
            <details class="menu">
              <summary>Continue</summary>
              <div class="menu-body">
                <p class="small muted">This command goes on with the session:</p>
                <pre class="sql" tabIndex={0}>
                  {answer.resume}
                </pre>
                <Copy label="Copy the command" text={() => answer.resume} />
              </div>
            </details>
            <Data url={data?.url ?? loaded.url} sql={data?.url === undefined ? answer.sql : data.sql} />
          </div>
        </div>
        <p class="facts">
          {[
            source,
            count(messageCount, "message"),
            tokens(tokenCount),
            messageCount > 1 ? `${dateTime(answer.beganAtMs)} – ${dateTime(updatedAtMs)}` : dateTime(updatedAtMs),
          ]
            .filter((fact) => fact !== null)
            .map((fact) => (
              <span key={fact}>{fact}</span>
            ))}
        </p>
        <nav class="tabs" aria-label="Views of the session">
          {TABS.map(([view, label]) => (
            <a key={view} href={href({ view, session })} aria-current={current === view ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
      </header>
      {children(answer)}
    </article>
  );
}
