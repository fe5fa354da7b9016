import type { ViewMessage } from "../../api.ts";
import { useGet } from "../client.ts";
import { visible } from "../format.ts";
import { href } from "../router.ts";
import { Unfold, WhenLoaded } from "./states.tsx";

/** What stood before a compaction and is not in the agent's summary, to unfold below the summary. */
export function Lost({ summary, inSession }: { summary: ViewMessage; inSession: string }) {
  return (
    <Unfold summary={<span class="fold-name">What this summary left out</span>}>
      <Lines summary={summary.id} session={inSession} />
    </Unfold>
  );
}

function Lines({ summary, session }: { summary: number; session: string }) {
  const loaded = useGet("/api/lost", { session, summary });
  return (
    <WhenLoaded of={loaded}>
      {({ lost }) =>
        lost === null || lost.lines.length === 0 ? (
          <p class="muted">It left nothing out.</p>
        ) : (
          <ul class="work-lines">
            {lost.lines
              .toSorted((left, right) => left.place - right.place)
              .map(({ kind, text, seq, place }) => (
                <li key={place}>
                  <span class="muted small">{kind}</span>{" "}
                  <a href={href({ view: "session", session, seq })} dir="auto">
                    {visible(text)}
                  </a>
                </li>
              ))}
          </ul>
        )
      }
    </WhenLoaded>
  );
}
