import type { ComponentChildren } from "preact";
import type { Refused } from "../client.ts";
import { href } from "../router.ts";

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
