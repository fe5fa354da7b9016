import type { ThemesAnswer } from "../../api.ts";
import { count, factsLine, sessionTitle, shortDay, visible } from "../format.ts";
import { href } from "../router.ts";

/** Themes, each with the session that it is from. A click opens the session where it begins. */
export function Themes({ themes }: { themes: ThemesAnswer["themes"] }) {
  return (
    <ol class="hits">
      {themes.map(({ theme, label, sessionId, seq, title, project, agent, author, messageCount, atMs }) => (
        <li key={theme} class="session-hits">
          <a class="row" data-row href={href({ view: "session", session: sessionId, seq })}>
            <span class="snippet" dir="auto">
              {visible(label || sessionTitle({ title, id: sessionId }))}
            </span>
            <span class="muted small" dir="auto">
              {factsLine([
                sessionTitle({ title, id: sessionId }),
                project,
                agent,
                author === null ? null : `by ${author}`,
                shortDay(atMs),
                count(messageCount, "message"),
              ])}
            </span>
          </a>
        </li>
      ))}
    </ol>
  );
}
