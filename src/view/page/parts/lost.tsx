import { useState } from "preact/hooks";
import type { ViewMessage } from "../../api.ts";
import { useGet } from "../client.ts";
import { visible } from "../format.ts";
import { href } from "../router.ts";
import { Failure, Loading } from "./states.tsx";

/** What stood before a compaction and is not in the agent's summary, to unfold below the summary. */
export function Lost({ summary, inSession }: { summary: ViewMessage; inSession: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="fold" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary data-row>
        <span class="fold-name">What this summary left out</span>
      </summary>
      {isOpen && <Lines summaryId={summary.id} session={inSession} />}
    </details>
  );
}

function Lines({ summaryId, session }: { summaryId: number; session: string }) {
  const { data, error, reload } = useGet("/api/lost", { session, summary: summaryId });
  if (data === undefined) return error ? <Failure error={error} onRetry={reload} /> : <Loading />;
  const lines = data.lost?.lines.toSorted((left, right) => left.place - right.place) ?? [];
  if (lines.length === 0) return <p class="muted">It left nothing out.</p>;
  return (
    <ul class="work-lines">
      {lines.map(({ kind, text, seq, place }) => (
        <li key={place}>
          <span class="muted small">{kind}</span>{" "}
          <a href={href({ view: "session", session, seq })} dir="auto">
            {visible(text)}
          </a>
        </li>
      ))}
    </ul>
  );
}
