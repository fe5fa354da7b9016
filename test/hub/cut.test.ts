import { expect, onTestFinished, test } from "vitest";
import { openHub } from "../../src/hub/index.ts";
import type { Store } from "../../src/index.ts";
import { CuttingProxy } from "../support/cutting-proxy.ts";
import { readyDatabase, run } from "../support/hub.ts";
import { expectOnHub } from "../support/pushed.ts";
import { temporaryStore } from "../support/temporary-store.ts";

/** There are about fifty pushes in each test. */
const TIMEOUT = { timeout: 300_000 };

test("a new session arrives whole wherever the connection breaks", TIMEOUT, async () => {
  await everywhere((store, id) => append(store, id, 12));
});

test(
  "a session that was rewound, forgotten in part and continued arrives whole wherever the connection breaks",
  TIMEOUT,
  async () => {
    const change = (store: Store, id: string): void => {
      const session = store.session(id);
      session.rewind({ toSeq: 6 });
      store.forget(id, { messageIds: [session.messages()[2]!.id] });
      append(store, id, 2);
    };
    await everywhere(change, (store, id) => append(store, id, 12));
  },
);

/** Breaks the connection before and after each statement of a push, and looks whether the hub then has what the store has. */
async function everywhere(change: (store: Store, id: string) => void, prepare?: (store: Store, id: string) => void) {
  const url = await readyDatabase();
  const proxy = new CuttingProxy(url);
  const hub = await openHub(await proxy.listen());
  onTestFinished(async () => {
    await hub.close();
    await proxy.close();
  });
  const store = temporaryStore();
  const pushed = async (id: string, cut?: { side: "before" | "after"; statement: number }): Promise<boolean> => {
    if (prepare !== undefined) {
      prepare(store, id);
      await hub.push(store, { sessions: [id] });
    }
    change(store, id);
    proxy.cutAt(cut);
    const { sessionCount } = await hub.push(store, { sessions: [id] });
    expect(sessionCount).toBe(1);
    const isCut = cut !== undefined && !proxy.isArmed;
    proxy.cutAt(undefined);
    await expectOnHub(url, store, id);
    return isCut;
  };
  proxy.cutAt(undefined);
  await pushed("uncut");
  let cutCount = 0;
  for (const side of ["before", "after"] as const) {
    for (let statement = 1; await pushed(`${side}-${statement}`, { side, statement }); statement++) cutCount += 1;
  }
  expect(cutCount).toBeGreaterThan(12);
  const [row] = await run<{ count: number }>(url, "SELECT count(*)::int AS count FROM coppice.sessions");
  expect(row!.count).toBe(cutCount + 3); // each arrived once
}

function append(store: Store, id: string, count: number): void {
  const session = store.session(id);
  session.appendAll(
    Array.from({ length: count }, (_, index) => ({ role: "user" as const, content: `message ${index} of ${id}` })),
  );
}
