import type { JsonObject } from "../lines.ts";
import { derivedId, stringOf } from "../values.ts";

/** Codex writes a past again at once: all of its lines have about the time of the description before them. */
const COPY_MS = 2_000;

/**
 * The past that Codex writes again. The file of a fork begins with the past of the session from which it was forked. When a session
 * is resumed, some versions write its past again into the same file, behind another description of the session.
 */
export class CopiedPast {
  #id: string | undefined;
  #isFork = false;
  #untilMs: number | undefined;
  /** The items of the file, in order, as far as they are no copies. */
  readonly #items: string[] = [];
  /** How many items come before the first words of the user, with these. */
  #startCount: number | undefined;
  /** How many items of the past the copy has reached; undefined outside of a copy of this session. */
  #reached: number | undefined;

  begin({ id, forked_from_id: forkedFrom }: JsonObject, timeMs: number | undefined): void {
    const isSame = this.#id !== undefined && stringOf(id) === this.#id;
    this.#isFork ||= this.#id === undefined && forkedFrom !== undefined && forkedFrom !== null;
    this.#id ??= stringOf(id);
    if (timeMs === undefined) return;
    if (isSame) this.#reached = 0;
    if (isSame || this.#isFork) this.#untilMs = timeMs + COPY_MS;
  }

  isRunning(timeMs: number | undefined): boolean {
    if (timeMs === undefined || this.#untilMs === undefined) return false;
    if (timeMs > this.#untilMs) this.#untilMs = this.#reached = undefined;
    return this.#untilMs !== undefined;
  }

  /** Returns true for an item that the file has before. A copy begins at the beginning of the past and keeps its order. */
  isKnown(item: JsonObject, timeMs: number | undefined): boolean {
    const digest = derivedId(item);
    if (this.isRunning(timeMs) && this.#reached !== undefined) {
      const end = this.#reached === 0 ? this.#startCount : undefined;
      const at = this.#items.slice(0, end).indexOf(digest, this.#reached);
      if (at !== -1) {
        this.#reached = at + 1;
        return true;
      }
    }
    this.#items.push(digest);
    if (item.role === "user" && this.#reached === undefined) this.#startCount ??= this.#items.length;
    return false;
  }
}
