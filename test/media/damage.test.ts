import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Message, openStore, type Store, StoreError } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { damage, damaged } from "../support/damage.ts";
import { runs, seenIn } from "../support/effort.ts";
import { letterEmbedder } from "../support/other-embedders.ts";
import { inDatabase } from "../support/rows.ts";
import { calls, results, talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { openedStore, temporaryFolder, tickingClock } from "../support/temporary-store.ts";

const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 3, openClustersMax: 3, resolveTokensMin: 50 };
const SESSIONS = ["a", "b"];
const MESSAGES_PER_SESSION = 24;

/** A closed store with everything in it, and what was said in it, by message id. */
async function grownStore(): Promise<{ path: string; said: Map<number, string> }> {
  const path = join(temporaryFolder(), "grown.db");
  const store = openedStore(path);
  for (const id of SESSIONS) {
    const session = store.session(id, SETTINGS);
    const long = `A long output of ${id}. `.repeat(1_500);
    session.append([user("Stay.", { pinned: true }), ...talk(15), calls(["c"]), results(["c"], long), ...talk(6)]);
    await session.resolveDirty();
    session.compact();
  }
  const said = new Map(
    SESSIONS.flatMap((id) => store.resume(id).messages()).map((message) => [message.id, sayingOf(message)]),
  );
  store.close();
  return { path, said };
}

/** What the digest of a message covers. */
function sayingOf({ role, name, parts }: Pick<Message, "role" | "name" | "parts">): string {
  return JSON.stringify([role, name, parts]);
}

/** What a call gives, or the code with which it was refused. Any other failure is passed on. */
function attempt<T>(use: () => T): { value: T } | { code: string } {
  try {
    return { value: use() };
  } catch (error) {
    if (StoreError.is(error)) return { code: error.code };
    throw error;
  }
}

/** Every message that a store shows in any way, and how many calls found damage. */
function lookEverywhere(store: Store, isWriter: boolean): { shown: Message[]; refusedCount: number } {
  const shown: Message[] = [];
  let refusedCount = 0;
  const look = <T>(use: () => T): T | undefined => {
    const outcome = attempt(use);
    if ("value" in outcome) return outcome.value;
    if (outcome.code === "STORE_CORRUPT") refusedCount += 1;
    return undefined;
  };
  look(() => store.sessions());
  for (const id of SESSIONS) {
    const session = look(() => store.resume(id));
    if (session === undefined) continue;
    for (let seq = 0; seq < MESSAGES_PER_SESSION; seq += 5) {
      shown.push(...(look(() => session.messages({ seqFrom: seq, limit: 5 })) ?? []));
    }
    look(() => session.render({ tokensMax: 2_000 }));
    for (const { root } of look(() => session.roots()) ?? []) {
      shown.push(...(look(() => store.expand(root).members) ?? []));
    }
    if (isWriter) {
      look(() => session.append(user("Still there?")));
      look(() => session.compact());
    }
  }
  look(() => store.query("SELECT * FROM messages"));
  look(() => store.stats());
  return { shown, refusedCount };
}

describe("a damaged file", () => {
  /**
   * Goal: whatever a bad disk does to a store, every call answers with what is right or with an error of ours, no message
   * is shown with other words than were said, and `verify` speaks instead of failing.
   * Method: cut a grown store off, or flip up to twelve of its bits, two hundred times; open it for reading and for writing,
   * and call everything; compare each message that comes out with what went in.
   */
  test("shows no wrong words and throws nothing but our errors", async () => {
    const { path, said } = await grownStore();
    const bytes = readFileSync(path);
    const target = join(temporaryFolder(), "damaged.db");
    const reached = { opened: 0, shown: 0, refused: 0, named: 0 };
    fc.assert(
      fc.property(damage, fc.boolean(), (what, readonly) => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(target + suffix, { force: true });
        writeFileSync(target, damaged(bytes, what));
        const opened = attempt(() => openStore(target, { readonly, clock: tickingClock() }));
        if ("code" in opened) {
          reached.refused += 1;
          return;
        }
        const store = opened.value;
        try {
          reached.opened += 1;
          const { shown, refusedCount } = lookEverywhere(store, !readonly);
          for (const message of shown) {
            const expected = said.get(message.id);
            if (expected !== undefined) expect(sayingOf(message)).toBe(expected);
          }
          // SQLite only reads a file whose byte 18 says that a later version writes it (https://sqlite.org/fileformat2.html, 1.3.3).
          if (!readonly && damaged(bytes, what)[18]! > 2) return;
          const report = store.verify({ rebuild: !readonly });
          reached.shown += shown.length;
          reached.refused += refusedCount;
          // An index that was made again is not counted.
          const isHealed = !readonly && lookEverywhere(store, false).refusedCount === 0;
          if (refusedCount > 0 && !isHealed) expect(report.problemCount + report.rebuiltCount).toBeGreaterThan(0);
          reached.named += report.problemCount;
        } finally {
          store.close();
        }
      }),
      { numRuns: runs(100) },
    );
    // Most files are damaged where it does not show at once; enough must be where it does.
    expect(reached.opened).toBeGreaterThan(seenIn(40));
    expect(reached.shown).toBeGreaterThan(seenIn(1_000));
    expect(reached.refused).toBeGreaterThan(seenIn(25));
    expect(reached.named).toBeGreaterThan(seenIn(50));
  });

  /** Nothing but what is exported is left of such a store. */
  test("gives all messages but those on a bad page, and names these", async () => {
    const { path, said } = await grownStore();
    const pages = inDatabase(path, (database) => {
      const ofMessages = "SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf' ORDER BY pageno";
      return database.prepare<[], number>(ofMessages).pluck().all();
    });
    const bytes = readFileSync(path);
    bytes.fill(0xff, (pages[3]! - 1) * 4_096, pages[3]! * 4_096);
    writeFileSync(path, bytes);
    const store = openedStore(path, { readonly: true });
    const unreadable: (number | undefined)[] = [];
    const lines = [...store.export({ onUnreadable: ({ seq }) => void unreadable.push(seq) })];
    const exported = lines.filter((line) => "role" in line);
    const named = unreadable.filter((seq) => seq !== undefined); // the page is named, too, without a seq
    expect(named.length).toBeGreaterThan(0);
    expect(exported.length + named.length).toBe(said.size);
    expect(exported.length).toBeGreaterThan(said.size - 10);
    expect(() => store.resume("a").messages()).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
    expect(store.verify().problems.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^message \d+ cannot be read: database disk image is malformed$/),
    );
  });

  test("that is cut off is refused to a writer, and a reader still gets what is before the cut", async () => {
    const { path, said } = await grownStore();
    truncateSync(path, readFileSync(path).byteLength - 4 * 4_096);
    expect(attempt(() => openStore(path))).toEqual({ code: "STORE_CORRUPT" });
    const unreadable: number[] = [];
    const store = openedStore(path, { readonly: true });
    const lines = [...store.export({ onUnreadable: ({ seq }) => void unreadable.push(seq!) })];
    const exported = lines.filter((line) => "role" in line);
    expect(exported.length).toBeGreaterThan(said.size / 2);
    expect(unreadable.length).toBeGreaterThan(0);
    expect(store.verify().ok).toBe(false);
  });

  test("with a session whose row is all zeros does not list it", async () => {
    const { path } = await grownStore();
    inDatabase(path, (database) => {
      database.unsafeMode(true);
      database.pragma("foreign_keys = OFF");
      database.pragma("writable_schema = ON");
      database.exec("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'sessions'");
      database.pragma("writable_schema = RESET");
      database.exec(
        "UPDATE sessions SET id = NULL, settings = NULL, created_at_ms = NULL, checksum = NULL WHERE id = 'a'",
      );
    });
    const store = openStore(path, { readonly: true });
    expect(attempt(() => store.sessions())).toEqual({ code: "STORE_CORRUPT" });
    store.close();
  });

  test("in which each value of a message is in the place of the one before shows it in no hit", async () => {
    const { path } = await grownStore();
    const shifted = `name = external_id, external_id = token_counter, token_counter = digest, digest = embedding,
      embedding = embedder_id, embedder_id = metadata, metadata = stored_text, stored_text = parts, parts = checksum, checksum = 0`;
    inDatabase(path, (database) =>
      database.exec(`UPDATE messages SET ${shifted} WHERE session_id = 'a' AND seq = 4 AND name IS NULL`),
    );
    const store = openedStore(path);
    await expect(store.recall("Message 3", { sessionIds: ["a"] })).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  });

  test.each([
    ["sessions", "graduated_seq = graduated_seq + 1"],
    ["messages", "stored_text = CAST(stored_text AS BLOB) WHERE typeof(stored_text) = 'text'"],
    ["sessions", "rewind_number = 1"],
    ["sessions", "parent_session_id = 'b'"],
    ["frontier_moves", "evicted_seq = evicted_seq + 1"],
    ["forgotten_messages", "forgotten_at_ms = forgotten_at_ms + 1"],
    ["discarded_costs", "input_tokens = input_tokens + 1"],
    ["message_artifacts", "pointer = pointer || '/0'"],
    ["tombstones", "forgotten_at_ms = forgotten_at_ms + 1"],
    ["store_settings", "value = replace(value, '0', '1')"],
    ["generations", "log_position = 64"],
    ["summaries", "shown_from = 0"],
    ["summaries", "input_tokens = output_tokens, output_tokens = cost_usd, cost_usd = checksum, checksum = 0"],
    ["unions", "score = checksum, checksum = 0 WHERE score IS NULL"],
    ["summaries", "shown_until = 1"],
    ["undone_unions", "generation = 2"],
  ])("whose %s have %s is neither exported nor called sound", async (table, change) => {
    const { path } = await grownStore();
    const grown = openedStore(path);
    grown.forget("a", { messageIds: [grown.resume("a").messages({ seqFrom: 3, limit: 1 })[0]!.id] });
    internalsOf(grown).repositories.costs.discard("a", "test", { inputTokens: 1 });
    grown.resume("b").rewind({ toSeq: 14 });
    const flat = grown.session("c", { strategy: "flat", contextTokensMax: 600, flatTrigger: 0.5, flatTail: 0.2 });
    flat.append(talk(40));
    flat.compact();
    await flat.resolveDirty();
    expect([...grown.export({ rows: true })].length).toBeGreaterThan(0);
    expect(grown.verify().problems).toEqual([]);
    grown.close();
    inDatabase(path, (database) => {
      database.pragma("foreign_keys = OFF");
      expect(database.prepare(`UPDATE ${table} SET ${change}`).run().changes).toBeGreaterThan(0);
    });
    const store = openedStore(path);
    expect(attempt(() => [...store.export({ rows: true })])).toEqual({ code: "STORE_CORRUPT" });
    expect(store.verify().problems.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(new RegExp(`row .* of ${table} is damaged$`)),
    );
  });

  describe("with summaries of clusters", () => {
    const SHOWN = "(SELECT min(id) FROM summaries WHERE shown_from IS NOT NULL)";

    async function summarizedStore(): Promise<string> {
      const path = join(temporaryFolder(), "summarized.db");
      const store = openedStore(path, { summarizer: scriptedSummarizer("good"), clock: tickingClock() });
      const session = store.session("a", SETTINGS);
      session.append(talk(30));
      await session.resolveDirty();
      session.compact();
      expect(store.query("SELECT 1 FROM summaries WHERE shown_from IS NOT NULL")).not.toEqual([]);
      store.close();
      return path;
    }

    test.each(["shown_until = 1", "shown_from = NULL", "log_position = 0"])(
      "whose %s hides one from contexts shows no other, and is found",
      async (change) => {
        const path = await summarizedStore();
        const summaries = () =>
          openedStore(path, { readonly: true })
            .resume("a")
            .roots()
            .flatMap((root) => root.summaries);
        const before = summaries();
        inDatabase(path, (database) => {
          database.exec(`UPDATE summaries SET ${change} WHERE id = ${SHOWN}`);
        });
        const shown = attempt(summaries);
        if ("value" in shown) expect(before).toEqual(expect.arrayContaining(shown.value));
        expect(
          openedStore(path)
            .verify()
            .problems.map(({ text }) => text),
        ).toContainEqual(expect.stringMatching(/^row \d+ of summaries is damaged$/));
      },
    );

    test("whose row says that one is claimed is exported as it was", async () => {
      const path = await summarizedStore();
      const exported = [...openedStore(path, { readonly: true }).export({ rows: true })];
      inDatabase(path, (database) => database.exec("UPDATE summaries SET claimed_until_ms = 0"));
      expect([...openedStore(path, { readonly: true }).export({ rows: true })]).toEqual(exported);
    });
  });

  test("that has lost the newer of two generations, or has another end of the older one, is read in neither", async () => {
    const { path } = await grownStore();
    const grown = openedStore(path);
    await grown.reembed({ embedder: letterEmbedder });
    const { logPosition } = grown.stats();
    grown.close();
    const after = (damage: string): Store => {
      const copy = join(temporaryFolder(), "copy.db");
      copyFileSync(path, copy);
      inDatabase(copy, (database) => {
        database.pragma("foreign_keys = OFF");
        database.exec(damage);
      });
      return openedStore(copy, { readonly: true, embedder: letterEmbedder });
    };
    for (const damage of [
      "DELETE FROM generations WHERE id = 2",
      "UPDATE generations SET log_position = 9 WHERE id = 1",
    ]) {
      const store = after(damage);
      expect(attempt(() => store.resume("a").render())).toEqual({ code: "STORE_CORRUPT" });
      expect(attempt(() => store.expand(`cluster:2@${logPosition}`))).toEqual({ code: "STORE_CORRUPT" });
      expect(attempt(() => store.subjects())).toEqual({ code: "STORE_CORRUPT" });
    }
  });

  test("whose frontier was altered renders nothing", async () => {
    const { path } = await grownStore();
    inDatabase(path, (database) => database.exec("UPDATE sessions SET evicted_seq = evicted_seq - 1 WHERE id = 'a'"));
    const store = openStore(path, { readonly: true });
    expect(attempt(() => store.resume("a").render())).toEqual({ code: "STORE_CORRUPT" });
    expect(attempt(() => store.resume("b").render())).toMatchObject({ value: expect.anything() });
    store.close();
  });
});
