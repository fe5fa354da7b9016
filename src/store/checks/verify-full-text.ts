import { crc32 } from "node:zlib";
import type Database from "better-sqlite3";
import { StoreError } from "../../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../../core/limits.ts";
import { indexTexts } from "../changes/write.ts";
import type { ActionsOf } from "../derived/actions.ts";
import { FULL_TEXT_TABLES, type FullTextRepository } from "../derived/full-text.ts";
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

const STEMS = "temp.messages_fts_stems";
/** How many words are in a row of the temporary index. */
const ROW_WORDS = 10_000;
/** How many words are kept before they are stemmed: about 10 MB. */
const WORDS_MAX = 50_000;
/** How many sums there are. Stems with the same remainder of their hash are summed up together. */
const ROWS = 1 << 20;
/** The remainder keeps sums of large ids exact, in 64 bits and in the numbers of JavaScript. */
const PRIME = 1_000_003;

/** How often something occurs, in which messages, and where in them: the last two as sums. */
type Sums = [count: number, messages: number, offsets: number];

/**
 * Compares the stored full-text index with the words of its messages, as sums by stem. It takes 35 MB, however many words there are:
 * a table of `ROWS` sums, to which expected occurrences are added, and from which stored ones are taken.
 */
export class FullTextSums {
  readonly #client: Database.Database;
  readonly #sumsOfWord = new Map<string, Sums>();
  readonly #table = new Float64Array(3 * ROWS);

  constructor(client: Database.Database) {
    this.#client = client;
  }

  /** Adds a message. @param words  Those by which it is indexed, in order. */
  add(id: number, words: readonly string[]): void {
    const message = id % PRIME;
    // With `entries` this loop, which runs for each word of the store, would take a third longer.
    for (let offset = 0; offset < words.length; offset++) {
      const word = words[offset]!;
      let sums = this.#sumsOfWord.get(word);
      if (sums === undefined) {
        sums = [0, 0, 0];
        // A copy, because V8 keeps a whole text for a piece of it.
        this.#sumsOfWord.set(Buffer.from(word).toString(), sums);
      }
      sums[0] += 1;
      sums[1] += message;
      sums[2] += (message * (offset + 1)) % PRIME;
    }
    if (this.#sumsOfWord.size >= WORDS_MAX) this.#addStems();
  }

  /** Counts the stems whose occurrences are not those in the stored index, or are not found there. */
  wrongCount(): number {
    this.#addStems();
    this.#client.exec(`DROP TABLE IF EXISTS ${STEMS}_stored;
      CREATE VIRTUAL TABLE ${STEMS}_stored USING fts5vocab(main, messages_fts, instance)`);
    // The list of occurrences is read from its beginning. A search looks words up, which needs other pages.
    const stored = this.#client.prepare<[], [stem: string, found: number | null, ...Sums]>(
      `SELECT term, (SELECT cnt FROM messages_fts_terms WHERE term = word.term), count(*), sum(doc % ${PRIME}),
        sum((doc % ${PRIME}) * (offset + 1) % ${PRIME}) FROM ${STEMS}_stored AS word GROUP BY term`,
    );
    for (const [stem, found, ...sums] of stored.raw().iterate()) {
      // A stem that is not found makes its sums NaN, and no later sum makes them zero.
      this.#sum(stem, sums, found === sums[0] ? -1 : Number.NaN);
    }
    this.#client.exec(`DROP TABLE ${STEMS}_stored`);
    let count = 0;
    for (let at = 0; at < 3 * ROWS; at += 3) {
      if (this.#table[at] !== 0 || this.#table[at + 1] !== 0 || this.#table[at + 2] !== 0) count += 1;
    }
    return count;
  }

  /** SQLite stems each word once, in a temporary index, which a reader may have, too. */
  #addStems(): void {
    const drop = `DROP TABLE IF EXISTS ${STEMS}_words; DROP TABLE IF EXISTS ${STEMS}`;
    this.#client.exec(`${drop}; ${FULL_TEXT_TABLES[0]!.replace("messages_fts", STEMS)};
      CREATE VIRTUAL TABLE ${STEMS}_words USING fts5vocab(temp, messages_fts_stems, instance)`);
    const insert = this.#client.prepare<[row: number, words: string]>(
      `INSERT INTO ${STEMS} (rowid, words) VALUES (?, ?)`,
    );
    const words = [...this.#sumsOfWord.keys()];
    for (let row = 0; row * ROW_WORDS < words.length; row++) {
      insert.run(row, words.slice(row * ROW_WORDS, (row + 1) * ROW_WORDS).join(" "));
    }
    const stems = this.#client.prepare<[], [stem: string, row: number, offset: number]>(
      `SELECT term, doc, offset FROM ${STEMS}_words`,
    );
    for (const [stem, row, offset] of stems.raw().iterate()) {
      this.#sum(stem, this.#sumsOfWord.get(words[row * ROW_WORDS + offset]!)!, 1);
    }
    this.#client.exec(drop);
    this.#sumsOfWord.clear();
  }

  #sum(stem: string, sums: Sums, sign: number): void {
    const at = 3 * (crc32(stem) % ROWS);
    for (const [index, sum] of sums.entries()) this.#table[at + index]! += sign * sum;
  }
}
