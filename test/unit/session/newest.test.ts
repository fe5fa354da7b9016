import { expect, test } from "vitest";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

test("the newest message is the last that is still there, whoever wrote it", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  expect(session.messages({ last: 1 })).toEqual([]);
  const ids = ["a", "b", "c"].map((content) => session.append({ role: "user", content }).messageId);
  expect(session.messages({ last: 1 })[0]).toMatchObject({ id: ids[2], text: "c" });
  store.forget("s", { messageIds: [ids[1]!] });
  expect(session.messages({ last: 1 })[0]?.text).toBe("c");
  store.forget("s", { messageIds: [ids[2]!] });
  expect(session.messages({ last: 1 })[0]?.text).toBe("a");
  openedStore(path).session("s").append({ role: "assistant", content: "d" });
  expect(session.messages({ last: 1 })[0]).toMatchObject({ role: "assistant", text: "d" });
  expect(session.messages({ last: 2 }).map(({ text }) => text)).toEqual(["a", "d"]);
  expect(session.messages({ last: 9 })).toEqual(session.messages());
  expect(session.messages({ seqTo: 2, last: 1 }).map(({ text }) => text)).toEqual(["a"]);
  expect(session.messages({ last: 0 })).toEqual([]);
});

test("the newest messages of a fork are those of both parts, in order", () => {
  const session = temporaryStore().session("s");
  session.append(["a", "b", "c"].map((content) => ({ role: "user", content })));
  const fork = session.fork({ toSeq: 1 });
  fork.append({ role: "user", content: "d" });
  session.append({ role: "user", content: "e" });
  expect(fork.messages({ last: 2 }).map(({ text }) => text)).toEqual(["b", "d"]);
  expect(fork.messages({ seqFrom: 1, last: 3 }).map(({ text }) => text)).toEqual(["b", "d"]);
});
