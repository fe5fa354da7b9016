import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import type { Repositories } from "./repositories.ts";
import { indexTexts } from "./write.ts";

type WordsOf = (text: string) => readonly string[];

/** Returns true for a problem of the full-text index. `verify --rebuild` repairs it. */
export function isOfFullText(problem: string): boolean {
  return /fts5|messages_fts/i.test(problem);
}

/** Compares the full-text index with the messages, a hundred in each read transaction. Splitting a message takes 50 µs. */
export function fullTextProblems({ database, fullText }: Repositories, wordsOf: WordsOf): string[] {
  try {
    const { missingCount, orphanCount, totals, counted, anyWord } = database.read(() => ({
      missingCount: fullText.missingCount(),
      orphanCount: fullText.orphanCount(),
      totals: fullText.totals(),
      counted: fullText.countedTotals(),
      anyWord: fullText.anyWord(),
    }));
    let differentCount = 0;
    for (let afterId = 0; ; ) {
      const page = database.read(() => fullText.wordCounts(afterId, BATCH_MESSAGES_MAX));
      // A damaged row may have no text. The check of the messages reports it.
      for (const { text, wordCount } of page) if (wordsOf(text ?? "").length !== wordCount) differentCount += 1;
      if (page.length < BATCH_MESSAGES_MAX) break;
      afterId = page.at(-1)!.id;
    }
    const problems: string[] = [];
    if (missingCount > 0) problems.push(`the full-text index lacks ${missingCount} messages`);
    if (orphanCount > 0) problems.push(`the full-text index has ${orphanCount} messages that do not exist`);
    if (differentCount > 0)
      problems.push(`the full-text index has a wrong number of words for ${differentCount} messages`);
    if (totals.messageCount !== counted.messageCount || totals.wordCount !== counted.wordCount) {
      const [claimed, found] = [totals, counted].map(
        ({ messageCount, wordCount }) => `${wordCount} words of ${messageCount}`,
      );
      problems.push(`the full-text index claims to hold ${claimed} messages, but holds ${found}`);
    }
    if ((anyWord !== undefined) !== counted.wordCount > 0)
      problems.push("the full-text index holds words although its messages have none, or the reverse");
    return problems;
  } catch (error) {
    if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    return [`the full-text index cannot be read: ${error.details.reason}`];
  }
}

/** Adds all missing messages to the index. A damaged index is emptied first. */
export function rebuildFullText(repositories: Repositories, wordsOf: WordsOf, isDamaged: boolean): void {
  let count = indexTexts(repositories, wordsOf, { fromScratch: isDamaged });
  while (count > 0) count = indexTexts(repositories, wordsOf);
}
