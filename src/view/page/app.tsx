import { useEffect } from "preact/hooks";
import type { Refused } from "./client.ts";
import { isFile } from "./file.ts";
import { dateTime, visible } from "./format.ts";
import { isHelpOpen, KEYS, search } from "./keyboard.ts";
import { about, isConnected, projectName } from "./live.ts";
import { Dialog } from "./parts/dialog.tsx";
import { Failure } from "./parts/states.tsx";
import { href, moves, params } from "./router.ts";
import { ContextView } from "./views/context.tsx";
import { ForestView } from "./views/forest.tsx";
import { HealthView } from "./views/health.tsx";
import { SearchView } from "./views/search.tsx";
import { SessionView } from "./views/session.tsx";
import { SessionsView } from "./views/sessions.tsx";
import { SubjectsView } from "./views/subjects.tsx";
import { WorkView } from "./views/work.tsx";

const VIEWS: Record<string, () => preact.JSX.Element> = {
  sessions: SessionsView,
  search: SearchView,
  session: SessionView,
  context: ContextView,
  forest: ForestView,
  subjects: SubjectsView,
  work: WorkView,
  health: HealthView,
};

/** The views that the head links to, and those within them. */
const LISTED: readonly [view: string, label: string, ...within: string[]][] = [
  ["sessions", "Sessions", "session", "context", "forest"],
  ["subjects", "Subjects"],
  ["work", "Work"],
  ["health", "Health"],
];

export function App({ refused }: { refused?: Refused }) {
  const view = params.value.view ?? "sessions";
  const View = VIEWS[view] ?? SessionsView;
  const moved = moves.value;
  useEffect(() => {
    if (moved === 0) return;
    window.scrollTo(0, 0);
    document.querySelector<HTMLElement>("[data-start], main h1")?.focus({ preventScroll: true });
  }, [moved]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={href({})} aria-label="Coppice, all sessions">
          <Mark />
          <span>Coppice</span>
        </a>
        <nav aria-label="Views">
          {LISTED.map(([name, label, ...within]) => (
            <a
              key={name}
              href={href({ view: name === "sessions" ? null : name })}
              aria-current={[name, ...within].includes(view) ? "page" : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
        <button type="button" class="search-button" onClick={search} aria-keyshortcuts="Control+K Meta+K">
          <span>Search</span>
          <kbd>{/Mac/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <button type="button" class="quiet help-button" onClick={() => (isHelpOpen.value = true)} aria-label="Keys">
          ?
        </button>
      </header>
      {!isConnected.value && refused === undefined && (
        <p class="notice" role="status">
          The server does not answer. What you see may be old. Start <code>coppice view</code> again.
        </p>
      )}
      {isFile && <MadeOf />}
      <main id="main" key={view === "search" ? "search" : `${view} ${params.value.session ?? ""}`}>
        {refused ? <NoEntry refused={refused} /> : <View />}
      </main>
      {isHelpOpen.value && <Help />}
    </>
  );
}

/** Says what a page in a file is. */
function MadeOf() {
  const { nowMs, project } = about.value!;
  return (
    <aside class="notice small" aria-label="About this file">
      <span>
        Made on {dateTime(nowMs)} of {project ? `the project ${visible(projectName(project))}` : "the whole store"}.
        Secrets that were recognized are replaced, and pictures and files are left out.
      </span>
    </aside>
  );
}

function NoEntry({ refused }: { refused: Refused }) {
  if (refused.code === "UNREACHABLE") return <Failure error={refused} />;
  return (
    <section class="empty">
      <h1>This page needs the link that was printed</h1>
      <p>
        <code>coppice view</code> prints a link that lets one browser in. Open that link, or start{" "}
        <code>coppice view</code> again for a new one.
      </p>
      <p class="muted">{refused.message}</p>
    </section>
  );
}

function Help() {
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {KEYS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>{keys}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      {about.value && (
        <p class="muted small">
          Coppice {about.value.version}, {about.value.isWritable ? "with changes allowed" : "for reading only"}.
        </p>
      )}
    </Dialog>
  );
}

/** A stump with a shoot. */
function Mark() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d="M4 17h12v-4.5H4z" fill="currentColor" opacity=".35" />
      <path
        d="M10 12.5V8m0 0c0-3 2-5 5.5-5.2C15.6 6.200 13.500 8 10 8Zm0 1.500C9.900 7 8.200 5.600 5 5.500c.1 2.700 1.800 4.200 5 4z"
        fill="none"
        stroke="currentColor"
        stroke-width="1.600"
        stroke-linejoin="round"
      />
    </svg>
  );
}
