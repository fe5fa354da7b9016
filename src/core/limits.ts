// Maximums with their units and reasons. The options that a caller may set are in `options.ts`.

/** Parts of one message. An agent's step has tens of parts, a long paste a thousand; more than ten thousand are a bug. */
export const PARTS_MAX = 10_000;

/** Characters (UTF-16 units) in all strings of one message: SQLite rows stop at 1e9 bytes, and V8 strings at 2^29. */
export const MESSAGE_CHARS_MAX = 64 * 1024 * 1024;

/** The most bytes of an item's value that is not JSON. SQLite rows stop at 1e9 bytes, and a call holds the value twice. */
export const VALUE_BYTES_MAX = 256 * 1024 * 1024;

/** An entry or an item of at least this many bytes is stored compressed. A shorter one can be read with SQL. */
export const VALUE_COMPRESSED_MIN = 4_096;

/** The most characters of an item's key, and of each element of its namespace. An index holds all of them. */
export const KEY_CHARS_MAX = 2_048;
/** The most elements of an item's namespace. */
export const NAMESPACE_ELEMENTS_MAX = 32;

/** The most bytes of a row on a hub, and of its JSON: whoever follows the session has it in memory several times at once. */
export const HUB_BODY_BYTES_MAX = 64 * 1024 * 1024;

/** Levels of nesting in a message's JSON. Deeper JSON overflows the stack of recursive readers. */
export const JSON_DEPTH_MAX = 200;

/** Graphemes of a message's text that are embedded and searched. `parts` has the whole message. */
export const TEXT_GRAPHEMES_MAX = 8_000;

/** A string of at least this many UTF-16 units is stored compressed in `artifacts`, once. A shorter one is not worth a row. */
export const ARTIFACT_CHARS_MIN = 16_384;

/** The most messages that long work writes in one transaction. So an append of another process waits milliseconds, not seconds. */
export const BATCH_MESSAGES_MAX = 100;

/** The largest distance of a time from 1970 that `Date` can hold, in milliseconds: the year 275760. */
export const TIME_MS_MAX = 8.64e15;

/** The most messages that `expand` and `messages` return at once. */
export const PAGE_LIMIT_MAX = 10_000;

/** The most hits of one `recall`, and the most messages on each side of a hit. */
export const RECALL_LIMIT_MAX = 1_000;

/** The messages that `expand` returns at most without a `limit`. */
export const EXPAND_LIMIT_DEFAULT = 50;
export const RECALL_NEIGHBORS_MAX = 10;

/** Characters of a query that a model may send: a long page. The library itself takes longer queries. */
export const MODEL_QUERY_CHARS_MAX = 10_000;

/** Characters of an identifier that a caller gives: a session id, an external id, a project. */
export const ID_CHARS_MAX = 512;

/** Milliseconds without a message after which a session is idle: a day. A user who returns the same day finds the same window. */
export const IDLE_AFTER_MS = 24 * 60 * 60 * 1_000;

/**
 * The clusters of an idle session settle after this many milliseconds at the latest: thirty days. They settle earlier if the
 * session has been silent for longer than it lasted.
 */
export const SETTLE_AFTER_MS_MAX = 30 * 24 * 60 * 60 * 1_000;

/** Milliseconds for which a window waits for the vector of a message: four hours. Most outages of a service are shorter. */
export const VECTOR_WAIT_MS_MAX = 4 * 60 * 60 * 1_000;

/** After this many newer messages, a window no longer waits for a vector. Loading such a window takes 100 ms. */
export const VECTOR_WAIT_MESSAGES_MAX = 5_000;

/** Milliseconds for which an idle session waits for a vector: thirty days. Its window is not under pressure, so it can wait. */
export const VECTOR_WAIT_IDLE_MS_MAX = SETTLE_AFTER_MS_MAX;

/**
 * SQLite must return from each call on a foreign database within this time, in seconds. A disk that has to start takes less, and
 * so does the recovery of a log of a gigabyte.
 */
export const DATABASE_SECONDS_MAX = 10;
