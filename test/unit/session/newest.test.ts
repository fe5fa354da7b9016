import { expect, test } from "vitest";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

test("the newest message is the last that is still there, whoever wrote it", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("s");
  expect(session.newest()).toBeUndefined();
  const ids = ["a", "b", "c"].map((content) => session.append({ role: "user", content }).messageId);
  expect(session.newest()).toMatchObject({ id: ids[2], text: "c" });
  store.forget("s", { messageIds: [ids[1]!] });
  expect(session.newest()?.text).toBe("c");
  store.forget("s", { messageIds: [ids[2]!] });
  expect(session.newest()?.text).toBe("a");
  openedStore(path).session("s").append({ role: "assistant", content: "d" });
  expect(session.newest()).toMatchObject({ role: "assistant", text: "d" });
});
