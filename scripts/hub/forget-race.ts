import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { inflateRawSync } from "node:zlib";
import { Client } from "pg";
import { openHub } from "../../src/hub/index.ts";
import { decodeSegment, wordsIn } from "../../src/hub/segment.ts";
import { type MessageInput, openStore, StoreError } from "../../src/index.ts";

const PROJECT = "forget-race";
/** No text of these rounds has such words but those that are forgotten. */
const SECRET = /zq[a-j]+k/g;

export interface ForgetRaceFigures {
  rounds: number;
  /** Rounds in which a push had sent something before the messages were forgotten, and rounds in which it came too late. */
  sentFirst: number;
  tooLate: number;
  /** Rows of forgotten messages or sessions that are left on the hub, and different forgotten words in any of its tables. */
  rowsLeft: number;
  wordsLeft: number;
  /** Forgotten words that a store or a copy has after its next push, or that a pull brings. */
  wordsInStores: number;
}

/**
 * In each round a copy of a file pushes a session, and meanwhile its messages, or all of it, are forgotten in the file, which pushes,
 * too. Then all push again, and another store pulls.
 *
 * @param url  Of a superuser of a hub who is in one team.
 */
export async function forgetAgainstPushes(url: string, rounds: number): Promise<ForgetRaceFigures> {
  const figures = { rounds, sentFirst: 0, tooLate: 0, rowsLeft: 0, wordsLeft: 0, wordsInStores: 0 };
  const hubs = [await openHub(url), await openHub(url)] as const;
  const projects = { projects: [PROJECT], forgotten: "forget" } as const;
  try {
    for (let round = 0; round < rounds; round++) {
      const folder = mkdtempSync(join(tmpdir(), "coppice-forget-race-"));
      const [path, copyPath] = [join(folder, "agent.db"), join(folder, "copy.db")];
      const id = `race-${round}`;
      const store = openStore(path);
      // Every fourth session takes several transactions.
      const messageCount = round % 4 === 0 ? 620 : 12;
      const session = store.session(id, { project: PROJECT });
      session.append({ role: "user", content: `the beginning of ${id}` });
      await hubs[0].push(store, projects);
      const messages = Array.from({ length: messageCount }, (_, index): MessageInput => {
        const text = index % 5 === 2 ? `${secretOf(round)} ${secretOf(round)}` : `message ${index} of ${id}`;
        return { role: "user", content: round % 3 === 0 && index === 2 ? `${text} `.repeat(1_500) : text };
      });
      session.append(messages);
      await store.backup(copyPath);
      const copy = openStore(copyPath);
      const other = openStore(join(folder, "other.db"));
      const isSession = round % 2 === 0;
      const told: { at?: number } = {};
      const pushing = hubs[0].push(copy, { ...projects, onProgress: () => (told.at ??= performance.now()) });
      await wait(Math.random() * (messageCount > 100 ? 120 : 25));
      const messageIds = session.messages().flatMap(({ id, text }) => (SECRET.test(reset(text)) ? [id] : []));
      if (isSession) store.forget(id);
      else store.forget(id, { messageIds });
      const forgottenAt = performance.now();
      const [, first] = await Promise.all([hubs[1].push(store, projects), pushing]);
      if (told.at !== undefined && told.at < forgottenAt) figures.sentFirst += 1;
      if (first.gone.length + first.diverged.length > 0) figures.tooLate += 1;
      for (const late of [copy, store, copy]) await hubs[1].push(late, projects);
      try {
        await hubs[0].pull(other, id);
      } catch (error) {
        if (!StoreError.is(error, "SESSION_NOT_FOUND")) throw error;
      }
      const stores = first.diverged.length > 0 ? [store, other] : [store, copy, other];
      for (const { parts } of stores.flatMap((one) => one.query("SELECT parts FROM messages"))) {
        figures.wordsInStores += secretsIn(String(parts)).size;
      }
      for (const opened of [store, copy, other]) opened.close();
      rmSync(folder, { recursive: true, force: true });
    }
    await hubs[0].keep();
    return { ...figures, ...(await leftOnHub(url)) };
  } finally {
    for (const hub of hubs) await hub.close();
  }
}

/** A word that no stemmer shortens. */
function secretOf(round: number): string {
  return `zq${[...String(round)].map((digit) => "abcdefghij"[Number(digit)]).join("")}k`;
}

function reset(text: string): string {
  SECRET.lastIndex = 0;
  return text;
}

function secretsIn(text: string): Set<string> {
  return new Set(text.match(SECRET) ?? []);
}

async function leftOnHub(url: string): Promise<{ rowsLeft: number; wordsLeft: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const all = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
    const [left] = await all(
      `SELECT count(*)::int AS rows FROM coppice.messages m WHERE
         EXISTS (SELECT 1 FROM coppice.sessions s WHERE (s.place, s.session_no) = (m.place, m.session_no) AND s.forgotten_at IS NOT NULL)
         OR EXISTS (SELECT 1 FROM coppice.tombstones t WHERE (t.place, t.session_no, t.message_id) = (m.place, m.session_no, m.message_id))`,
    );
    const tables = await all(
      "SELECT relname AS name FROM pg_class WHERE relnamespace = 'coppice'::regnamespace AND relkind = 'r'",
    );
    const found = new Set<string>();
    for (const { name } of tables) {
      for (const row of await all(`SELECT * FROM coppice.${name}`)) {
        for (const value of Object.values(row)) for (const word of secretsIn(textIn(name, value))) found.add(word);
      }
    }
    return { rowsLeft: Number(left!.rows), wordsLeft: found.size };
  } finally {
    await client.end();
  }
}

/** All that a value of a row says. */
function textIn(table: unknown, value: unknown): string {
  if (!Buffer.isBuffer(value)) return String(value);
  if (table === "segments") {
    const segment = decodeSegment(value);
    const words = (segment.buckets ?? []).flatMap((bucket) => [...wordsIn(bucket, segment.messages.length)]);
    return JSON.stringify([segment.messages, segment.firstWords, words.map(({ word }) => word)]);
  }
  const texts = [value.toString("latin1")];
  try {
    const text = inflateRawSync(value.subarray(1)).toString();
    texts.push(text);
    for (const [, base64] of text.matchAll(/"base64":"([^"]+)"/g)) {
      const bytes = Buffer.from(base64!, "base64");
      texts.push(bytes.toString("latin1"));
      try {
        texts.push(inflateRawSync(bytes).toString());
      } catch {} // it is not compressed
    }
  } catch {} // it is no body
  return texts.join("\n");
}
