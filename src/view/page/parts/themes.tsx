import type { ThemesAnswer } from "../../api.ts";
import { count, factsLine, sessionTitle, shortDay, visible } from "../format.ts";
import { href } from "../router.ts";

/** Themes, each with the session that it is from. A click opens the session where it begins. */
export function Themes({ themes }: { themes: ThemesAnswer["themes"] }) {
  return (
    <ol class="hits">
      {themes.map(({ theme, label, sessionId, seq, title, project, agent, author, messageCount, atMs }) => {
        const name = sessionTitle({ title, id: sessionId });
        const by = author === null ? null : `by ${author}`;
        const facts = [name, project, agent, by, shortDay(atMs), count(messageCount, "message")];
        return <Place key={theme} of={{ sessionId, seq }} name={visible(label) || name} facts={facts} />;
      })}
    </ol>
  );
}

/** A row of a list that leads to a message of a session. */
export function Place(props: { of: { sessionId: string; seq: number }; name: string; facts: (string | null)[] }) {
  const { sessionId, seq } = props.of;
  return (
    <li class="session-hits">
      <a class="row" data-row href={href({ view: "session", session: sessionId, seq })}>
        <span class="snippet" dir="auto">
          {props.name}
        </span>
        <span class="muted small" dir="auto">
          {factsLine(props.facts)}
        </span>
      </a>
    </li>
  );
}
