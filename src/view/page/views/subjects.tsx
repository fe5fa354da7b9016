import { withVerdict } from "../../../core/verdicts.ts";
import type { SubjectPage } from "../../../session/aids/subject-page.ts";
import { useGet } from "../client.ts";
import { compact, count, dateTime, number, shortDay, tokens, visible } from "../format.ts";
import { projectName } from "../live.ts";
import { Sources } from "../parts/sources.tsx";
import { Empty, Title, Unfold, WhenLoaded } from "../parts/states.tsx";
import { href, params } from "../router.ts";
import { ProjectChoice } from "./sessions.tsx";

export function SubjectsView() {
  const { subject } = params.value;
  return subject === undefined ? <Subjects /> : <Subject handle={subject} />;
}

function Subjects() {
  const { project } = params.value;
  const loaded = useGet("/api/subjects", { limit: 200, project }, { live: true });
  return (
    <section class="page">
      <Title of={loaded}>Subjects</Title>
      <p class="muted">What came up in more than one session.</p>
      <div class="filters">
        <ProjectChoice push />
      </div>
      <WhenLoaded of={loaded}>
        {({ subjects }) =>
          subjects.length === 0 ? (
            <Empty title="No subjects yet">
              <p>A subject appears when clusters of two sessions are about the same thing and have settled.</p>
            </Empty>
          ) : (
            <ul class="rows">
              {subjects.map((one) => (
                <li key={one.subject}>
                  <a class="row" data-row href={href({ view: "subjects", subject: one.subject })}>
                    <span class="row-main">
                      <span class="row-title" dir="auto">
                        {visible(one.label) || one.subject}
                      </span>
                      <span class="row-sub">
                        {shortDay(one.firstAtMs)} – {shortDay(one.lastAtMs)}
                      </span>
                    </span>
                    <span class="row-facts">
                      <span class="fact-wide">{visible(projectName(one.project ?? ""))}</span>
                      <span>{count(one.sessionCount, "session")}</span>
                      <span>{count(one.messageCount, "message")}</span>
                      <span class="fact-wide">{compact(one.tokenCount)} tokens</span>
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </WhenLoaded>
    </section>
  );
}

function Subject({ handle }: { handle: string }) {
  const loaded = useGet("/api/subject", { handle, limit: 200 }, { live: true });
  const { data } = loaded;
  if (data === undefined) return <WhenLoaded of={loaded}>{() => null}</WhenLoaded>;
  return (
    <section class="page">
      <div class="crumbs">
        <a href={href({ view: "subjects" })}>Subjects</a>
      </div>
      <Title of={loaded}>{visible(data.title) || data.subject}</Title>
      <p class="facts">
        <code>{data.subject}</code>
        {data.project !== null && <span>{visible(projectName(data.project))}</span>}
        <span>{count(data.sessionCount, "session")}</span>
        <span>{count(data.messageCount, "message")}</span>
        <span>{tokens(data.tokenCount)}</span>
      </p>
      <div class="two">
        <div>
          <Lines title="Decided last" lines={data.decided} none="Nothing was decided in words that can be quoted." />
          <Lines title="Still open" lines={data.open} none="Nothing was left open." />
          <Lines title="Files" lines={data.files} none="It names no files." isCode />
        </div>
        <section aria-labelledby="when">
          <h2 id="when">When it came up</h2>
          <ol class="plain-list line-of-time">
            {data.timeline.toReversed().map((one) => (
              <WorkedOn key={one.cluster} one={one} />
            ))}
          </ol>
        </section>
      </div>
    </section>
  );
}

function WorkedOn({ one }: { one: SubjectPage["timeline"][number] }) {
  const summary = (
    <>
      <span class="fold-name" dir="auto">
        {visible(one.title) || one.cluster}
      </span>
      <span class="fold-size">{count(one.messageCount, "message")}</span>
    </>
  );
  return (
    <li>
      <p class="small muted">{dateTime(one.firstAtMs)}</p>
      <Unfold summary={summary}>
        <div>
          <a class="small" href={href({ view: "session", session: one.sessionId, seq: one.seqFirst })}>
            Open in its session, message {number(one.seqFirst)}
          </a>
          <Sources of={{ root: one.cluster }} />
        </div>
      </Unfold>
    </li>
  );
}

type Line = SubjectPage["files"][number] & { replaces?: unknown };

function Lines(props: { title: string; lines: readonly Line[]; none: string; isCode?: boolean }) {
  const { title, lines, none, isCode = false } = props;
  const id = title.replaceAll(" ", "-");
  return (
    <section class="lines" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {lines.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <ul class="plain-list">
          {lines.map((line) => (
            <li key={`${line.messageId} ${line.text}`}>
              <a class="line" data-row href={href({ view: "session", session: line.sessionId, seq: line.seq })}>
                <span dir="auto">
                  {isCode ? <code>{visible(line.text)}</code> : visible(withVerdict(line).replaceAll("**", ""))}
                </span>
                <span class="muted small">{dateTime(line.atMs)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
