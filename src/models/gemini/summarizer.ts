import { StoreError } from "../../core/errors.ts";
import { labelOf } from "../label.ts";
import { beginningThatFits, cutLine } from "../lines.ts";
import { replyLine } from "../prompt-text.ts";
import { Pace, wordlessLine } from "../source-reader.ts";
import type { SummarizeRequest, Summarizer, SummaryText } from "../summarizer.ts";
import { ANSWER_SCHEMA, type Answer, parseAnswer } from "./answer.ts";
import { takeCitations } from "./citations.ts";
import { GeminiClient } from "./client.ts";
import { evidenceOf, type Piece } from "./evidence.ts";
import { type GroundedClaim, groundName, groundStatement, isGrounded } from "./grounding.ts";
import { checkWhole, type GeminiOptions, geminiSettings } from "./options.ts";
import { PROMPT_VERSION, promptOf, promptTexts, SYSTEM } from "./prompt.ts";
import { type GroundedAnswer, mostImportant, writeSummary } from "./write-summary.ts";

export interface GeminiSummarizerOptions extends GeminiOptions {
  /**
   * Most tokens of one reply, by the model's count, from 1 to 65,536; 8,192, unless told otherwise. A reply that needs more
   * fails, so leave room for three times `summaryTokensMax`: names, citations and JSON take theirs.
   */
  outputTokensMax?: number;
}

const OUTPUT_TOKENS_MAX = 8_192;
const OUTPUT_TOKENS_LIMIT = 65_536;
const TITLE_CHARS_MAX = 80;

const HAS_WORDS = /[\p{L}\p{N}]/u;

/**
 * Summaries by Gemini: sentences a person would have written, each with the seqs of the messages behind it, as in
 * `Decided: The old host stays for a week. [5,7-9]`.
 *
 * What leaves the machine are the texts of the messages and earlier summaries of the theme in question, each passed through
 * `redact` and cut to 8,000 characters; no ids, times or reasoning. One call is one request: nothing is tried again here.
 *
 * An answer is checked against what was sent before anything of it is kept. Citations of messages that were not sent are
 * dropped or mended; identifiers and files that stand nowhere are left out; a statement that names something that stands
 * nowhere, a number say, or that nothing speaks for, is marked `[unverified]`, and is no evidence for later summaries. This
 * tells invented names from real ones, not true sentences from false ones.
 *
 * By `countTokens` the text costs at most `tokensMax`, and no more than what it was made from. Messages without words are
 * counted, and nothing is sent.
 *
 * @throws {StoreError} at once: `MODEL_KEY_MISSING`, `OPTION_INVALID`. `summarize` rejects with the signal's reason once that
 *   is aborted; else with `MODEL_REFUSED`, where the same request would be refused again; `MODEL_UNAVAILABLE`, with
 *   `retryAfterMs` where the service says how long to wait; `MODEL_ANSWER_INVALID`; `REDACT_FAILED`. No error holds the key.
 */
export function geminiSummarizer(options: GeminiSummarizerOptions = {}): Summarizer {
  const { outputTokensMax = OUTPUT_TOKENS_MAX, ...shared } = options;
  checkWhole("outputTokensMax", outputTokensMax, OUTPUT_TOKENS_LIMIT);
  const client = new GeminiClient(geminiSettings(shared));
  return {
    id: client.settings.model,
    promptVersion: PROMPT_VERSION,
    summarize: (request) => summarize(request, client, outputTokensMax),
  };
}

async function summarize(
  request: SummarizeRequest,
  client: GeminiClient,
  outputTokensMax: number,
): Promise<SummaryText> {
  const { countTokens, signal, onUsage } = request;
  const { model, redact } = client.settings;
  const pace = new Pace(signal);
  const texts = await promptTexts(request, redact, pace);
  const given = [...texts.previous, ...texts.sources].map(({ text }) => text);
  const tokensMax = await smallerCost(given, request, pace);
  if (!given.some((text) => HAS_WORDS.test(text))) {
    const line = wordlessLine(given.length);
    return {
      title: line,
      text: beginningThatFits(line, line.length, (text) => countTokens(text) <= request.tokensMax),
    };
  }

  const prompt = promptOf(texts, tokensMax);
  const reply = await client.generate({
    system: SYSTEM,
    prompt,
    schema: ANSWER_SCHEMA,
    outputTokensMax,
    signal,
    onUsage,
  });
  const answer = parseAnswer(reply, model);
  const pieces = evidenceOf(texts);
  const grounded = await groundAnswer(answer, pieces, pace);
  const first = mostImportant(grounded);
  if (first === undefined) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it says nothing" });
  const title = cutLine(takeCitations(replyLine(answer.title)).text, TITLE_CHARS_MAX);
  const isUsable = HAS_WORDS.test(title) && isGrounded(title, pieces);
  const label = labelOf(given);
  // A title cannot be marked without being spoiled: it names what stands somewhere, or gives way to what does.
  const instead = first.isVerified ? first.text : label;
  const fits = (text: string): boolean => countTokens(text) <= tokensMax;
  return {
    title: cutLine(isUsable ? title : instead, TITLE_CHARS_MAX),
    // Nor can a few words: where no statement has room with its mark and its seqs, it is words of the messages.
    text: (await writeSummary(grounded, fits, pace)) || beginningThatFits(label, label.length, fits),
  };
}

/** What the texts cost, up to `tokensMax`: a summary is never longer than what it stands for. */
async function smallerCost(
  texts: readonly string[],
  { tokensMax, countTokens }: SummarizeRequest,
  pace: Pace,
): Promise<number> {
  let cost = 0;
  for (const text of texts) {
    if (cost >= tokensMax) break;
    cost += countTokens(text);
    await pace.worked(text.length);
  }
  return Math.min(tokensMax, cost);
}

async function groundAnswer(answer: Answer, pieces: readonly Piece[], pace: Pace): Promise<GroundedAnswer> {
  const grounded = async (kind: keyof GroundedAnswer, ground: typeof groundName): Promise<GroundedClaim[]> => {
    const claims: (GroundedClaim | undefined)[] = [];
    for (const claim of answer[kind]) claims.push(await ground(claim, pieces, pace));
    return distinct(claims);
  };
  const files = await grounded("files", groundName);
  const paths = new Set(files.map(({ text }) => text));
  return {
    summary: await grounded("summary", groundStatement),
    decisions: await grounded("decisions", groundStatement),
    openQuestions: await grounded("openQuestions", groundStatement),
    identifiers: (await grounded("identifiers", groundName)).filter(({ text }) => !paths.has(text)),
    files,
  };
}

/** Each text once, with the seqs of all that say it. */
function distinct(claims: readonly (GroundedClaim | undefined)[]): GroundedClaim[] {
  const byText = new Map<string, GroundedClaim>();
  for (const claim of claims) {
    if (claim === undefined) continue;
    const before = byText.get(claim.text);
    if (before === undefined) byText.set(claim.text, claim);
    else before.seqs = [...new Set([...before.seqs, ...claim.seqs])];
  }
  return [...byText.values()];
}
