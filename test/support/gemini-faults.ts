import type { ErrorCode } from "../../src/index.ts";
import { failure, finished, type Reply, retryIn } from "./gemini-server.ts";

export const TEST_KEY = "AQ.test-0123456789/abcdefghijklmnopqr";

/** The timeout of the client in these tests, in milliseconds. A loaded machine still answers within it. */
export const TEST_TIMEOUT_MS = 1_500;

export interface Fault {
  reply: Reply;
  code: ErrorCode;
  details: { reason: string; status?: number; retryAfterMs?: number; concerns?: "account" };
}

const invalidAnswer = (reply: Reply, reason: string): Fault => ({
  reply,
  code: "MODEL_ANSWER_INVALID",
  details: { reason },
});
const refused = (reply: Reply, reason: string, status?: number): Fault => ({
  reply,
  code: "MODEL_REFUSED",
  details: { reason, ...(status !== undefined && { status }) },
});
/** Refused for what every request has in common. */
const refusedAccount = (reply: Reply, reason: string, status: number): Fault => ({
  reply,
  code: "MODEL_REFUSED",
  details: { reason, status, concerns: "account" },
});
const unavailable = (reply: Reply, details: Fault["details"]): Fault => ({ reply, code: "MODEL_UNAVAILABLE", details });

const quotaExceeded = (headers: Record<string, string>, ...details: object[]): Reply => ({
  ...(failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", ...details) as { status: number; body: unknown }),
  headers,
});

const TIMED_OUT = { reason: `nothing came within ${TEST_TIMEOUT_MS} ms` };

/** What a service can do to any request, and what that is to whoever sent it. */
const SERVICE_FAULTS: Record<string, Fault> = {
  "400": refused(
    failure(400, "INVALID_ARGUMENT", "Invalid JSON payload received."),
    "Invalid JSON payload received",
    400,
  ),
  "400 that repeats the key": refusedAccount(
    failure(400, "INVALID_ARGUMENT", `API key not valid: ${TEST_KEY}`),
    "API key not valid: [key]",
    400,
  ),
  "400 that repeats what looks like a key": refusedAccount(
    failure(400, "INVALID_ARGUMENT", "API key expired: AIzaSyTest-0123456789abcdefghijklmnopqr"),
    "API key expired: [key]",
    400,
  ),
  "401": refusedAccount(failure(401, "UNAUTHENTICATED", "No credentials."), "No credentials", 401),
  "403": refusedAccount(failure(403, "PERMISSION_DENIED", "The API is switched off."), "The API is switched off", 403),
  "404": refusedAccount(failure(404, "NOT_FOUND", "models/x is not found"), "models/x is not found", 404),
  "429 with a delay": unavailable(failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", retryIn("0.15s")), {
    reason: "Quota exceeded",
    status: 429,
    retryAfterMs: 150,
  }),
  "429 with a delay in its header": unavailable(quotaExceeded({ "retry-after": "0.2" }), {
    reason: "Quota exceeded",
    status: 429,
    retryAfterMs: 200,
  }),
  "429 with two delays": unavailable(quotaExceeded({ "retry-after": "0.2" }, retryIn("0.1s")), {
    reason: "Quota exceeded",
    status: 429,
    retryAfterMs: 200,
  }),
  "429 without a delay": unavailable(failure(429, "RESOURCE_EXHAUSTED", ""), {
    reason: "RESOURCE_EXHAUSTED",
    status: 429,
  }),
  "500": unavailable(failure(500, "INTERNAL", "An internal error has occurred."), {
    reason: "An internal error has occurred",
    status: 500,
  }),
  "503": unavailable(failure(503, "UNAVAILABLE", "The model is overloaded."), {
    reason: "The model is overloaded",
    status: 503,
  }),
  "502 without a reason": unavailable({ status: 502, body: "<html>" }, { reason: "no reason was given", status: 502 }),
  "a body that is no JSON": invalidAnswer("malformed", "it is not JSON"),
  "a reset before the answer": unavailable("reset", { reason: "fetch failed (ECONNRESET)" }),
  "a reset in the answer": unavailable("broken", { reason: "terminated (ECONNRESET)" }),
  "a hang": unavailable("hang", TIMED_OUT),
  "a hang in the answer": unavailable("stall", TIMED_OUT),
  "an answer that comes too late": unavailable({ afterMs: TEST_TIMEOUT_MS * 3, reply: "good" }, TIMED_OUT),
  "null for a reply": invalidAnswer({ status: 200, body: null }, "it has another shape"),
  "a word for a reply": invalidAnswer({ status: 200, body: "x" }, "it has another shape"),
  "a number for a reply": invalidAnswer({ status: 200, body: 3 }, "it has another shape"),
};

/** What it can do to `generateContent`. */
export const GENERATION_FAULTS: Record<string, Fault> = {
  ...SERVICE_FAULTS,
  "an empty reply": invalidAnswer({ status: 200, body: {} }, "it is empty"),
  "a reply without a list": invalidAnswer(
    { status: 200, body: { candidates: {} } },
    "candidates: Invalid input: expected array, received object",
  ),
  "a reply of white space": invalidAnswer(finished("STOP", " \n"), "it is empty"),
  "a blocked prompt": refused(
    { status: 200, body: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } } },
    "the prompt is blocked (PROHIBITED_CONTENT)",
  ),
  "a blocked reply": refused(finished("SAFETY"), "the reply is blocked (SAFETY)"),
  "a reply that is cut off": invalidAnswer(finished("MAX_TOKENS", '{"summary": [{"te'), "it is cut off (MAX_TOKENS)"),
};

const vectors = (...embeddings: unknown[]): Reply => ({ status: 200, body: { embeddings } });
const ofLength = (length: number, value: unknown = 1): object => ({ values: new Array(length).fill(value) });

/** What it can do to `batchEmbedContents` for two texts in 768 dimensions. */
export const EMBEDDING_FAULTS: Record<string, Fault> = {
  ...SERVICE_FAULTS,
  "an empty reply": invalidAnswer({ status: 200, body: {} }, "it has no vectors"),
  "no list of vectors": invalidAnswer({ status: 200, body: { embeddings: { values: [1] } } }, "it has no vectors"),
  "one vector for both": invalidAnswer(vectors(ofLength(768)), "it has 1 vectors for 2 texts"),
  "three vectors": invalidAnswer(vectors(ofLength(768), ofLength(768), ofLength(768)), "it has 3 vectors for 2 texts"),
  "another dimension": invalidAnswer(
    vectors(ofLength(768), ofLength(3_072)),
    "embeddings.1: it has 3072 numbers, not 768",
  ),
  "null for a vector": invalidAnswer(vectors(null, ofLength(768)), "embeddings.0: it has no numbers"),
  "a vector without values": invalidAnswer(vectors(ofLength(768), {}), "embeddings.1: it has no numbers"),
  "null for a number": invalidAnswer(vectors(ofLength(768, null), ofLength(768)), "embeddings.0: not all are numbers"),
  "a word for a number": invalidAnswer(
    vectors(ofLength(768), ofLength(768, "NaN")),
    "embeddings.1: not all are numbers",
  ),
  "a vector of zeros": invalidAnswer(vectors(ofLength(768, 0), ofLength(768)), "embeddings.0: it has no direction"),
  "numbers too large for their type": invalidAnswer(
    vectors(ofLength(768), ofLength(768, 1e300)),
    "embeddings.1: it has no direction",
  ),
};

/** What a model can answer instead of a summary. */
export const ANSWER_FAULTS: Record<string, Fault> = {
  "prose instead of JSON": invalidAnswer({ says: "Here is the summary:" }, "it is not JSON"),
  "JSON of another shape": invalidAnswer(
    { says: '{"summary": "all of it"}' },
    "summary: Invalid input: expected array, received string",
  ),
  "an answer that says nothing": invalidAnswer(
    { says: '{"summary":[],"decisions":[],"openQuestions":[],"identifiers":[],"files":[],"title":"Nothing"}' },
    "it says nothing",
  ),
};
