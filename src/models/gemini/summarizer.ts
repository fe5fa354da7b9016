import { StoreError } from "../../core/errors.ts";
import { wholeNumber } from "../../core/options.ts";
import { labelOf } from "../label.ts";
import { beginningThatFits, cutLine } from "../lines.ts";
import { replyLine } from "../prompt-text.ts";
import { Pace, wordlessLine } from "../source-reader.ts";
import type { SummarizeRequest, Summarizer, SummaryText } from "../summarizer.ts";
import { type Answer, answerJsonSchema, parseAnswer } from "./answer.ts";
import { takeCitations } from "./citations.ts";
import { GeminiClient } from "./client.ts";
import { type SourcePiece, sourcePieces } from "./evidence.ts";
import { type GroundedClaim, groundName, groundStatement, isGrounded } from "./grounding.ts";
import { type GeminiOptions, geminiSettings } from "./options.ts";
import { PROMPT_VERSION, promptOf, promptTexts, SYSTEM } from "./prompt.ts";
import { type GroundedAnswer, mostImportant, writeSummary } from "./write-summary.ts";

export interface GeminiSummarizerOptions extends GeminiOptions {
  /**
   * The most tokens of a reply, by the model's count: 1 to 65,536. Default: 8,192. A longer reply fails, so leave room for
   * three times `summaryTokensMax`: names, citations and JSON need tokens too.
   */
  outputTokensMax?: number;
}

const TITLE_CHARS_MAX = 80;

const HAS_WORDS = /[\p{L}\p{N}]/u;

/**
 * Creates a summarizer that uses Gemini. It writes sentences, each with the seqs of its source messages:
 * `Decided: The old host stays for a week. [5,7-9]`.
 *
 * The theme's messages and earlier summaries leave the machine, each text after `redact` and cut to 8,000 characters. Ids,
 * times and reasoning do not. One call is one request, and nothing is retried here.
 *
 * An answer is checked against the sources before it is kept. Citations of messages that were not sent are dropped or
 * corrected. Identifiers and files that occur nowhere are left out. A statement is marked `[unverified]` if it has no
 * source, or contains a name or number that occurs nowhere. Such a statement is not a source for later summaries. The check
 * finds invented names; it cannot tell true sentences from false ones.
 *
 * The text costs at most `tokensMax` by `countTokens`, and never more than its sources. Messages without words are only
 * counted, and nothing is sent for them.
 *
 * @throws {StoreError} `MODEL_KEY_MISSING`, `OPTION_INVALID`. `summarize` rejects with the signal's reason once it is
 *   aborted; with `MODEL_REFUSED` if another try is useless; with `MODEL_UNAVAILABLE`, and `retryAfterMs` if the service
 *   names a delay; with `MODEL_ANSWER_INVALID`; or with `REDACT_FAILED`. No error contains the key.
 */
export function geminiSummarizer(options: GeminiSummarizerOptions = {}): Summarizer {
  const { outputTokensMax = 8_192, ...shared } = options;
  wholeNumber("outputTokensMax", outputTokensMax, 1, 65_536);
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
  const tokensMax = await sourceTokens(given, request, pace);
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
    schema: answerJsonSchema(),
    outputTokensMax,
    signal,
    onUsage,
  });
  const answer = parseAnswer(reply, model);
  const pieces = sourcePieces(texts);
  const grounded = await groundAnswer(answer, pieces, pace);
  const first = mostImportant(grounded);
  if (first === undefined) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it says nothing" });
  const title = cutLine(takeCitations(replyLine(answer.title)).text, TITLE_CHARS_MAX);
  const isUsable = HAS_WORDS.test(title) && isGrounded(title, pieces);
  const label = labelOf(given);
  // A title has no room for a mark, so one with an unknown name is replaced.
  const instead = first.isVerified ? first.text : label;
  const fits = (text: string): boolean => countTokens(text) <= tokensMax;
  return {
    title: cutLine(isUsable ? title : instead, TITLE_CHARS_MAX),
    // If no statement fits with its mark and seqs, the label is used. Its words come from the messages.
    text: (await writeSummary(grounded, fits, pace)) || beginningThatFits(label, label.length, fits),
  };
}

/** Returns the tokens of the texts, at most `tokensMax`, because a summary is never longer than its sources. */
async function sourceTokens(
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

async function groundAnswer(answer: Answer, pieces: readonly SourcePiece[], pace: Pace): Promise<GroundedAnswer> {
  const grounded = async (kind: keyof GroundedAnswer, ground: typeof groundName): Promise<GroundedClaim[]> => {
    const claims: (GroundedClaim | undefined)[] = [];
    for (const claim of answer[kind]) claims.push(await ground(claim, pieces, pace));
    return mergeEqual(claims);
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

/** Merges claims with the same text, and joins their seqs. */
function mergeEqual(claims: readonly (GroundedClaim | undefined)[]): GroundedClaim[] {
  const byText = new Map<string, GroundedClaim>();
  for (const claim of claims) {
    if (claim === undefined) continue;
    const before = byText.get(claim.text);
    if (before === undefined) byText.set(claim.text, claim);
    else before.seqs = [...new Set([...before.seqs, ...claim.seqs])];
  }
  return [...byText.values()];
}
