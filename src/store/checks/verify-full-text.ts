import { StoreError } from "../../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../../core/limits.ts";
import { indexTexts } from "../changes/write.ts";
import type { ActionsOf } from "../derived/actions.ts";
import type { FullTextRepository } from "../derived/full-text.ts";
import { FullTextSums } from "../derived/full-text-sums.ts";
import type { StoreDatabase } from "../file/open.ts";
import type { Repositories } from "../repositories.ts";

type WordsOf = (text: string) => readonly string[];

/** Returns true for a problem of the full-text index. `verify --rebuild` repairs it. */
export function isOfFullText(problem: string): boolean {
  return /fts5|messages_fts/i.test(problem);
}

/** Compares the full-text index with the words of the messages now. Splitting a message into words takes 50 µs. */
export function fullTextProblems({ database, fullText }: Repositories, wordsOf: WordsOf): string[] {
  try {
    // One transaction, so that no other process changes the index meanwhile.
    return database.read(() => differencesOf(database, fullText, wordsOf));
  } catch (error) {
    if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    return [`the full-text index cannot be read: ${error.details.reason}`];
  }
}

function differencesOf({ client }: StoreDatabase, fullText: FullTextRepository, wordsOf: WordsOf): string[] {
  const [missingCount, orphanCount] = [fullText.missingCount(), fullText.orphanCount()];
  const wrongClaim = fullText.wrongClaim();
  fullText.anyWord(); // fails if the list of words cannot be read
  const sums = new FullTextSums(client);
  let differentCount = 0;
  for (let afterId = 0; ; ) {
    const page = fullText.wordCounts(afterId, BATCH_MESSAGES_MAX);
    for (const { id, text, wordCount } of page) {
      // A damaged row may have no text. The check of the messages reports it.
      const words = wordsOf(text ?? "");
      if (words.length !== wordCount) differentCount += 1;
      sums.add(id, words);
    }
    if (page.length < BATCH_MESSAGES_MAX) break;
    afterId = page.at(-1)!.id;
  }
  const wrongWordCount = sums.wrongCount();
  const problems: string[] = [];
  if (missingCount > 0) problems.push(`the full-text index lacks ${missingCount} messages`);
  if (orphanCount > 0) problems.push(`the full-text index has ${orphanCount} messages that do not exist`);
  if (differentCount > 0)
    problems.push(`the full-text index has a wrong number of words for ${differentCount} messages`);
  if (wrongWordCount > 0) problems.push(`the full-text index has wrong messages for ${wrongWordCount} words`);
  if (wrongClaim !== undefined) problems.push(`the full-text index ${wrongClaim}`);
  return problems;
}

/** Adds all missing messages to the index, and their actions. A damaged index is emptied first. */
export function rebuildFullText(
  repositories: Repositories,
  { searchWords, actionsOf }: { searchWords: WordsOf; actionsOf: ActionsOf },
  isDamaged: boolean,
): void {
  let count = indexTexts(repositories, searchWords, { fromScratch: isDamaged, actionsOf });
  while (count > 0) count = indexTexts(repositories, searchWords, { actionsOf });
}
