/** Every maximum, with its unit and its reason. Options that a caller may set are in `options.ts`. */

/** Parts of one message. A step of an agent has tens; a thousand is a long paste, ten thousand is a bug. */
export const PARTS_MAX = 10_000;

/** Characters (UTF-16 units) in all strings of one message: SQLite rows stop at 1e9 bytes, and V8 strings at 2^29. */
export const MESSAGE_CHARS_MAX = 64 * 1024 * 1024;

/** Levels of nesting in a message's JSON. Past this, recursive readers of the file overflow their stacks. */
export const JSON_DEPTH_MAX = 200;

/** Graphemes of a message that are embedded and searched. The whole message is in `parts`. */
export const TEXT_GRAPHEMES_MAX = 8_000;

/** UTF-16 units from which a string in a message is stored apart, once, compressed. Below, a row of its own costs more than it saves. */
export const ARTIFACT_CHARS_MIN = 16_384;

/** Messages written in one transaction by long work, so that another process's append waits milliseconds, not seconds. */
export const BATCH_MESSAGES_MAX = 100;

/** Members that `expand` and `messages` return at once, at most. */
export const PAGE_LIMIT_MAX = 10_000;

/** Hits of one `recall`, and messages shown on each side of one: more is a job for `messages` and `expand`. */
export const RECALL_LIMIT_MAX = 1_000;
export const RECALL_NEIGHBORS_MAX = 10;

/** Characters of a query that a model may send: a long page. A library's caller may ask for more. */
export const MODEL_QUERY_CHARS_MAX = 10_000;

/** Characters of an identifier that a caller gives: session ids, external ids, project names. */
export const ID_CHARS_MAX = 512;

/**
 * Milliseconds without a message after which a session comes to rest. A day: whoever comes back the same day goes on where
 * the window was, and what was said yesterday is found by what it was about today.
 */
export const IDLE_AFTER_MS = 24 * 60 * 60 * 1_000;

/**
 * Milliseconds without a message after which the clusters of a session at rest settle, at most. They do once it has been
 * silent for longer than it lasted; so one that goes on once a week keeps its clusters, and one of a day settles the day
 * after. Thirty days: nobody who comes back after that expects to be in the middle of something.
 */
export const SETTLE_AFTER_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

/**
 * Milliseconds for which a window waits for the vector of a message. Four hours: most outages of a service are shorter, and
 * a step that enters the forest without its vector never gets it.
 */
export const VECTOR_WAIT_MS_MAX = 4 * 60 * 60 * 1_000;

/** Newer messages after which a window no longer waits for a vector: what a process holds in memory and loads in 100 ms. */
export const VECTOR_WAIT_MESSAGES_MAX = 5_000;

/** Milliseconds for which an idle session waits for a vector: thirty days, as nothing puts it under pressure. */
export const VECTOR_WAIT_IDLE_MS_MAX = SETTLE_AFTER_MS_MAX;
