import { takeCitations } from "../../core/citations.ts";
import { StoreError } from "../../core/errors.ts";
import { labelOf } from "../label.ts";
import { beginningThatFits, cutLine } from "../lines.ts";
import { Pace } from "../pace.ts";
import { type Redact, replyLine } from "../prompt-text.ts";
import { wordlessLine } from "../source-reader.ts";
import type { SummarizeRequest, Summarizer, SummaryText } from "../summarizer.ts";
import type { Generation } from "./client.ts";
import {
  type GroundedClaim,
  groundName,
  groundStatement,
  isGrounded,
  type SourcePiece,
  sourcePieces,
} from "./grounding.ts";
import { promptOf, promptTexts, SYSTEM } from "./prompt.ts";
import { type Answer, answerJsonSchema, parseAnswer } from "./reply.ts";
import { type GroundedAnswer, mostImportant, writeSummary } from "./write-summary.ts";

const TITLE_CHARS_MAX = 80;

const HAS_WORDS = /[\p{L}\p{N}]/u;

/** A model that answers a prompt with JSON of a schema. */
interface SummaryModel {
  settings: { model: string; redact: Redact | undefined };
  generate(generation: Generation): Promise<string>;
}

export function summarizeWith(client: SummaryModel, outputTokensMax = 8_192): Summarizer["summarize"] {
  return (request) => summarize(request, client, outputTokensMax);
}

async function summarize(
  request: SummarizeRequest,
  client: SummaryModel,
  outputTokensMax: number,
): Promise<SummaryText> {
  const { countTokens, signal, onUsage, onSend } = request;
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
    onSend,
  });
  const answer = parseAnswer(reply, model);
  const pieces = sourcePieces(texts);
  const grounded = await groundAnswer(answer, pieces, pace);
  const first = mostImportant(grounded);
  if (first === undefined) throw new StoreError("MODEL_ANSWER_INVALID", { model, reason: "it says nothing" });
  const title = cutLine(takeCitations(replyLine(answer.title)).text, TITLE_CHARS_MAX);
  const isUsable = HAS_WORDS.test(title) && isGrounded(title, pieces);
  const label = labelOf(given);
  // A title has no room for an `[unverified]` mark. So a title with an unknown name is replaced.
  const instead = first.isVerified ? first.text : label;
  const fits = (text: string): boolean => countTokens(text) <= tokensMax;
  return {
    title: cutLine(isUsable ? title : instead, TITLE_CHARS_MAX),
    // If no statement fits with its mark and seqs, the label is used, because its words come from the messages.
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
