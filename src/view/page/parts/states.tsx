import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Loaded, Refused } from "../client.ts";
import { href } from "../router.ts";
import { Data } from "./data.tsx";

/** Shows an answer; until it is there, that it loads, or why it cannot be shown. What was there before a failure stays below it. */
export function WhenLoaded<A>({ of, children }: { of: Loaded<A>; children: (data: A) => ComponentChildren }) {
  return (
    <>
      {of.error && <Failure error={of.error} onRetry={of.reload} />}
      {of.data !== undefined ? children(of.data) : !of.error && <Loading />}
    </>
  );
}

/** The heading of a view or of a part of it, with its JSON and SQL beside it. */
export function Title(props: { of: Loaded<{ sql?: string }>; level?: "h1" | "h2"; children: ComponentChildren }) {
  const { of, level: Heading = "h1" } = props;
  return (
    <div class="title-row">
      <Heading tabIndex={-1} dir="auto">
        {props.children}
      </Heading>
      <div class="tools">
        <Data url={of.url} sql={of.data?.sql} />
      </div>
    </div>
  );
}

/** Something to unfold, which is made when it is unfolded. */
export function Unfold({ summary, children }: { summary: ComponentChildren; children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="fold" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary data-row>{summary}</summary>
      {isOpen && children}
    </details>
  );
}

/** Says what went wrong, and offers another try. */
export function Failure({ error, onRetry }: { error: Refused; onRetry?: () => void }) {
  return (
    <section class="empty failure" role="alert">
      <h2>This could not be shown</h2>
      <p>{error.message}</p>
      <p class="muted small">
        <code>{error.code}</code>
      </p>
      {error.code.endsWith("_NOT_FOUND") && (
        <p>
          <a href={href({})}>Show all sessions</a>
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </section>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <section class="empty">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
    </div>
  );
}
