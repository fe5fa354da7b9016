import { expect } from "vitest";
import { retainProject } from "../../src/hub/administration.ts";
import { hubWithStores, openedConnection, run, test } from "../support/hub.ts";
import { talk } from "../support/said.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const YEAR_MS = 365 * 24 * 3_600_000;

test("writers whose clocks differ by decades pass a session on, and nothing goes by their time", async () => {
  const { url, hub } = await hubWithStores();
  const startedAtMs = Date.now();
  let ticks = 0;
  const years = [20, -20, 0, 1_000, -50];
  const stores = years.map((count) => temporaryStore({ clock: () => startedAtMs + count * YEAR_MS - ticks++ }));
  stores[0]!.session("s", { project: "web" }).append(talk(60));
  await hub.push(stores[0]!, { projects: ["web"] });
  for (const [index, store] of stores.entries()) {
    if (index > 0) expect(await hub.pull(store, "s", { take: true })).toMatchObject({ isHolder: true });
    const session = store.resume("s");
    session.append(talk(60));
    store.items.put(["team"], `item ${index}`, { by: index }, { session: "s" });
    session.update({ title: `Renamed by ${index}` });
    await hub.push(store, { sessions: ["s"], projects: ["web"] });
    expect(session.render({ tokensMax: 3_000 }).sources.length).toBeGreaterThan(10);
  }
  const [last, first] = [stores.at(-1)!, stores[0]!];
  expect(await hub.push(first, { projects: ["web"] })).toMatchObject({ moved: ["s"] });
  await hub.pull(first, "s");
  expect(first.resume("s").render({ tokensMax: 3_000 })).toEqual(last.resume("s").render({ tokensMax: 3_000 }));
  expect(first.resume("s").messages({ limit: 1_000 })).toEqual(last.resume("s").messages({ limit: 1_000 }));
  expect(first.verify()).toMatchObject({ ok: true });

  // The hub keeps sessions by its own clock.
  await retainProject(await openedConnection(url), "web", 1);
  expect(await hub.keep()).toMatchObject({ expiredCount: 0 });
  await run(url, "UPDATE coppice.sessions SET pushed_at = now() - interval '25 hours'");
  expect(await hub.keep()).toMatchObject({ expiredCount: 1 });
});
