import { expect } from "vitest";
import type { Store } from "../../src/index.ts";
import { hubWithStores, run, test } from "../support/hub.ts";
import { user } from "../support/said.ts";

const COUNT = 60;
/** Long rows are in pieces in the files. */
const PIECE = 600;

/** A text that does not compress, so that its bytes on the hub are its own. */
function secret(number: number): string {
  return Array.from({ length: 40 }, (_, index) => ((number + 1) * 7919 * (index + 3) ** 5).toString(36)).join(" ");
}

function say(store: Store, from: number): void {
  const messages = Array.from({ length: COUNT }, (_, index) => user(secret(from + index)));
  store.session("s", { project: "web" }).append(messages);
}

/** How many of some bodies are in the files of the hub's tables, as they are on the disk. */
async function leftInFiles(url: string, bodies: readonly Buffer[]): Promise<number> {
  await run(url, "CHECKPOINT");
  const files = await run<{ bytes: Buffer }>(
    url,
    `SELECT pg_read_binary_file(pg_relation_filepath(c.oid)) AS bytes FROM pg_class c
     WHERE c.relkind IN ('r', 'i', 't') AND (c.relnamespace = 'coppice_test'::regnamespace OR c.oid IN (
       SELECT reltoastrelid FROM pg_class WHERE relnamespace = 'coppice_test'::regnamespace))`,
  );
  return bodies.filter((body) => files.some(({ bytes }) => bytes.includes(body.subarray(1, PIECE)))).length;
}

test("what was forgotten is in no row of the server, and after VACUUM FULL not in its files", async () => {
  const { url, hub, home } = await hubWithStores();
  say(home, 0);
  await hub.push(home, { projects: ["web"] });
  const rows = await run<{ body: Buffer }>(url, "SELECT body FROM coppice_test.log ORDER BY n");
  const bodies = rows.map(({ body }) => body);
  expect(await leftInFiles(url, bodies)).toBeGreaterThan(0); // so that they can be found

  const messages = home.query(`SELECT id FROM messages ORDER BY id LIMIT ${COUNT / 2}`);
  home.forget("s", { messageIds: messages.map(({ id }) => id as number) });
  await hub.push(home, { projects: ["web"] });
  expect(await run(url, "SELECT FROM coppice_test.log WHERE body = ANY($1)", [bodies])).toEqual([]);
  // The server may have pruned pages by itself, and another transaction may still see old rows.
  const leftAfterVacuum = async (): Promise<number> => {
    await run(url, "VACUUM FULL");
    return leftInFiles(url, bodies);
  };
  await expect.poll(leftAfterVacuum, { timeout: 30_000 }).toBe(0);
  expect(await hub.push(home, { projects: ["web"] })).toMatchObject({ messageCount: 0 });
});
