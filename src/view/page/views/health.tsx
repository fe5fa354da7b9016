import { useEffect, useState } from "preact/hooks";
import type { Cost, GetRoutes } from "../../api.ts";
import { get, type Refused, useGet } from "../client.ts";
import { isFile } from "../file.ts";
import { bytes, compact, count, dateTime, number, usd, visible } from "../format.ts";
import { about } from "../live.ts";
import { Failure, Title, WhenLoaded } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { href } from "../router.ts";
import { Usage } from "./usage.tsx";

export function HealthView() {
  // A file of a project tells nothing of the rest of its store.
  if (!isFile || about.value!.project === null) return <Health />;
  return (
    <section class="page">
      <h1 tabIndex={-1}>Health</h1>
      <Usage />
    </section>
  );
}

function Health() {
  const loaded = useGet("/api/health", {}, { live: true });
  const { data } = loaded;
  if (data === undefined) return <WhenLoaded of={loaded}>{() => null}</WhenLoaded>;
  const { stats, queues, costsByDay, costsBySession } = data;
  const tiles: [value: string, label: string][] = [
    [number(stats.sessionCount), "sessions"],
    [compact(stats.messageCount), "messages"],
    [compact(stats.tokenCount), "tokens"],
    [compact(stats.clusterCount), "clusters"],
    [compact(stats.themeCount), "themes"],
    [compact(stats.summaryCount), "summaries"],
    [bytes(stats.fileBytes), "in the file"],
    [bytes(stats.walBytes), "in its log"],
    [number(stats.unindexedCount), "messages not indexed yet"],
    [usd(stats.summaryCostUsd), "paid for summaries"],
  ];
  return (
    <section class="page">
      <Title of={loaded}>Health</Title>
      <p class="facts">
        <code>{stats.path}</code>
        <span>{stats.embedderId ?? "no embedder yet"}</span>
      </p>
      <dl class="tiles">
        {tiles.map(([value, label]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div class="two needs-server">
        <Doctor />
        <Verify />
      </div>
      <section>
        <h2>Waiting</h2>
        {queues.length === 0 ? (
          <p class="muted">No summary and no vector is waited for.</p>
        ) : (
          <Table
            head={["What", "State", "How many", "Oldest"]}
            rows={queues.map((one) => [
              one.queue,
              one.status,
              number(one.count),
              one.oldestAtMs === null ? "–" : dateTime(one.oldestAtMs),
            ])}
          />
        )}
      </section>
      <Usage />
      <section>
        <h2>What summaries cost by day</h2>
        <Costs costs={costsByDay} head="Day" name={(cost) => cost.key} />
      </section>
      <section>
        <h2>What summaries cost by session</h2>
        <Costs
          costs={costsBySession}
          head="Session"
          name={(cost) => (
            <a href={href({ view: "session", session: cost.key })}>
              {visible((cost as { title?: string | null }).title ?? cost.key)}
            </a>
          )}
        />
      </section>
    </section>
  );
}

function Costs(props: { costs: readonly Cost[]; head: string; name: (cost: Cost) => preact.ComponentChildren }) {
  const { costs, head, name } = props;
  if (costs.length === 0) return <p class="muted">No model was paid for a summary.</p>;
  return (
    <Table
      head={[head, "Model", "Summaries", "Tokens read", "Tokens written", "Cost"]}
      rows={costs.map((cost) => [
        name(cost),
        cost.summarizerId,
        number(cost.summaryCount),
        compact(cost.inputTokens),
        compact(cost.outputTokens),
        usd(cost.costUsd),
      ])}
    />
  );
}

/** Asks for what takes its time, when a person wants it. */
function useCheck<R extends "/api/doctor" | "/api/verify">(route: R) {
  const [state, setState] = useState<{ isRunning: boolean; answer?: GetRoutes[R]; error?: Refused }>({
    isRunning: false,
  });
  const run = () => {
    setState({ isRunning: true });
    get<"/api/doctor" | "/api/verify">(route, {}).then(
      (answer) => setState({ isRunning: false, answer: answer as GetRoutes[R] }),
      (error) => setState({ isRunning: false, error }),
    );
  };
  return { ...state, run };
}

function Doctor() {
  const { isRunning, answer, error, run } = useCheck("/api/doctor");
  return (
    <section>
      <h2>Doctor</h2>
      <p class="muted">Looks for problems, and says how to fix them.</p>
      <button type="button" onClick={() => run()} disabled={isRunning}>
        {isRunning ? "Looking…" : "Look for problems"}
      </button>
      {error && <Failure error={error} />}
      {answer && (
        <ul class="plain-list findings" aria-live="polite">
          {answer.findings.map((finding) => (
            <li key={finding.text} class={`finding-${finding.level}`}>
              <span class="finding-level">{finding.level}</span>
              <span>
                {finding.text}
                {finding.fix !== null && <span class="muted"> {finding.fix}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const PROGRESS_MS = 500;

/** How far `verify` has come. */
function Progress() {
  const [{ sessionCount, totalCount }, setProgress] = useState({ sessionCount: 0, totalCount: 0 });
  useEffect(() => {
    const look = () => get("/api/progress", {}).then(setProgress, () => undefined);
    const timer = setInterval(look, PROGRESS_MS);
    return () => clearInterval(timer);
  }, []);
  if (totalCount === 0) return null;
  return (
    <p class="muted small" role="status">
      <progress value={sessionCount} max={totalCount} /> {number(sessionCount)} of {count(totalCount, "session")}
    </p>
  );
}

function Verify() {
  const { isRunning, answer, error, run } = useCheck("/api/verify");
  return (
    <section>
      <h2>Verify</h2>
      <p class="muted">Reads every message, derives the forest again and compares. It changes nothing.</p>
      <button type="button" onClick={() => run()} disabled={isRunning}>
        {isRunning ? "Reading…" : "Verify the store"}
      </button>
      {isRunning && <Progress />}
      {error && <Failure error={error} />}
      {answer && (
        <div aria-live="polite">
          <p class={answer.ok ? "is-good" : "is-bad"}>
            {answer.ok
              ? `All ${count(answer.messageCount, "message")} of ${count(answer.sessionCount, "session")} are as they were stored.`
              : `${count(answer.problemCount, "problem")} found.`}
          </p>
          <ul class="plain-list">
            {answer.problems.map((problem) => (
              <li key={problem.text}>{problem.text}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
