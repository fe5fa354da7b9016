import { expect } from "vitest";
import { forgetAgainstPushes } from "../../scripts/hub/forget-race.ts";
import { hubSchedules } from "../../scripts/hub/schedules.ts";
import { runs } from "../support/effort.ts";
import { hubWithStores, openedHub, readyDatabase, test } from "../support/hub.ts";
import { user } from "../support/said.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const SEED = 20_261_123;
const projects = { projects: ["web"] };

test("after any schedule of pushes, pulls, copies and changes, the stores and the hub are as they should be", {
  timeout: 600_000,
}, async () => {
  const to = runs(4);
  const { schedules, outcomes } = await hubSchedules(await readyDatabase(), { to, seed: SEED });
  expect(schedules).toBe(to);
  for (const outcome of ["push sent", "push moved", "pull new"]) expect(outcomes[outcome], outcome).toBeGreaterThan(0);
});

test("what is forgotten while a copy is pushed is left nowhere", { timeout: 600_000 }, async () => {
  const { rowsLeft, wordsLeft, wordsInStores } = await forgetAgainstPushes(await readyDatabase(), runs(10));
  expect({ rowsLeft, wordsLeft, wordsInStores }).toEqual({ rowsLeft: 0, wordsLeft: 0, wordsInStores: 0 });
});

test("what a store forgets goes from a copy that was pulled with the copy's next push", async () => {
  const { hub, home, away } = await hubWithStores();
  const [kept, secret] = home.session("s", { project: "web" }).append([user("kept"), user("secret")]);
  await hub.push(home, projects);
  await hub.pull(away, "s");
  home.forget("s", { messageIds: [secret!.messageId] });
  await hub.push(home, projects);
  expect(await hub.push(away, projects)).toMatchObject({ moved: ["s"] });
  const ids = Array.from(away.resume("s").messages(), ({ id }) => id);
  expect(ids).toEqual([kept!.messageId]);
});

test("a store that has taken a session and forgets it before its first push tells the hub", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("s", { project: "web" }).append(user("secret"));
  await hub.push(home, projects);
  await hub.pull(away, "s", { take: true });
  away.forget("s");
  await hub.push(away, projects);
  expect(await hub.sessions()).toEqual([]);
  expect(await hub.push(home, projects)).toMatchObject({ gone: [], kept: ["s"] });
});

test("a session that another process forgets during a push ends nothing", async () => {
  const hub = await openedHub(await readyDatabase());
  const path = temporaryPath();
  const [store, other] = [openedStore(path), openedStore(path)];
  for (const id of ["a", "b", "c"]) store.session(id, { project: "web" }).append({ role: "user", content: id });
  const forgetsOthers = ({ sessionId }: { sessionId: string }): void => {
    for (const { id } of other.sessions()) if (id !== sessionId) other.forget(id);
  };
  expect(await hub.push(store, { ...projects, onProgress: forgetsOthers })).toMatchObject({
    sessionCount: 1,
    gone: [],
  });
  await hub.push(store, projects);
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toEqual(store.sessions().map(({ id }) => id));
});
