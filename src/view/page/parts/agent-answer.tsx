import { useEffect, useRef, useState } from "preact/hooks";
import type { PostRoutes } from "../../api.ts";
import { post, type Refused, useGet } from "../client.ts";
import { compact, count, sessionTitle, shortDay, visible } from "../format.ts";
import { about } from "../live.ts";
import { href } from "../router.ts";
import { Failure } from "./states.tsx";
import { Place } from "./themes.tsx";

type Answer = PostRoutes["/api/ask"]["answer"];

const CITED = /\bmessage:(\d+)/;

/** Says what the agent would get for a question, and has it answer when the reader wants it. */
export function AgentAnswer({ q, project }: { q: string; project: string | undefined }) {
  const request = { q, project };
  const { data, error, url, isLoading, reload } = useGet("/api/evidence", request, { delayMs: 200 });
  const [state, setState] = useState<{ url: string; answer?: Answer; error?: Refused }>();
  const asked = useRef<AbortController>(undefined);
  // The answer to another question is not waited for, and its agent is ended.
  useEffect(() => () => asked.current?.abort(), [url]);
  if (error) return <Failure error={error} onRetry={reload} />;
  if (data === undefined || isLoading) return null;
  const agent = visible(about.value!.agent ?? "");
  const start = () => {
    const aborting = new AbortController();
    asked.current = aborting;
    setState({ url });
    post("/api/ask", request, aborting.signal).then(
      (answer) => setState({ url, answer }),
      (failed) => !aborting.signal.aborted && setState({ url, error: failed }),
    );
  };
  const stop = () => {
    asked.current?.abort();
    setState(undefined);
  };
  const { answer, error: failed } = state?.url === url ? state : {};
  const isWaiting = state?.url === url && answer === undefined && failed === undefined;
  return (
    <>
      {data.note !== null && <p class="search-note">{visible(data.note)}</p>}
      {data.messageCount === 0 ? (
        <p class="muted">Nothing would be sent.</p>
      ) : (
        <p>
          <button type="button" data-row onClick={isWaiting ? stop : start}>
            {isWaiting ? "Stop" : `Ask ${agent}`}
          </button>{" "}
          <span class="muted small" role="status">
            {count(data.messageCount, "message")} of {count(data.sessionCount, "session")}, about{" "}
            {compact(data.tokenCount)} tokens, {isWaiting ? "are with" : answer ? "went to" : "would go to"} {agent} and
            its model.
          </span>
        </p>
      )}
      {failed && <Failure error={failed} onRetry={start} />}
      {answer && <Answered answer={answer} />}
    </>
  );
}

function Answered({ answer: { answer, sources, struckOut } }: { answer: Answer }) {
  const bySource = new Map(sources.map((source) => [source.messageId, source]));
  return (
    <article class="answer" aria-live="polite">
      {answer.split("\n").map((line, index) => (
        <p key={index} dir="auto">
          {line.split(/(\bmessage:\d+)/).map((piece, at) => {
            const source = bySource.get(Number(CITED.exec(piece)?.[1]));
            return source === undefined ? (
              visible(piece)
            ) : (
              <a key={at} href={href({ view: "session", session: source.sessionId, seq: source.seq })}>
                {piece}
              </a>
            );
          })}
        </p>
      ))}
      {struckOut.length > 0 && (
        <p class="muted small">
          {count(struckOut.length, "citation")} of messages that were not sent {struckOut.length === 1 ? "was" : "were"}{" "}
          struck out.
        </p>
      )}
      {sources.length === 0 ? (
        <p class="muted small">The answer cites no message.</p>
      ) : (
        <ol class="hits">
          {sources.map((source) => (
            <Place
              key={source.messageId}
              of={source}
              name={sessionTitle({ title: source.title, id: source.sessionId })}
              facts={[`message:${source.messageId}`, source.project, shortDay(source.atMs)]}
            />
          ))}
        </ol>
      )}
    </article>
  );
}
