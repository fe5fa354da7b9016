import { describe, expect, test } from "vitest";
import type { Session } from "../../../src/index.ts";
import { calls, results, talk, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SMALL = { hotSize: 4, overlap: 2, evictBatch: 3, maxThemes: 3 };

describe("two stores on one file", () => {
  test("answer each other's calls", () => {
    const path = temporaryPath();
    const [one, other] = [openedStore(path).session("s"), openedStore(path).session("s")];
    one.append([user("go"), calls(["a", "b"])]);
    other.append(results(["b"]));
    one.append(results(["a"]));
    expect(other.messages().map(({ stepId }) => stepId)).toEqual([1, 2, 2, 2]);
  });

  test("a context is of one moment, although the other goes back while it is made", () => {
    const path = temporaryPath();
    let meanwhile: (() => void) | undefined;
    const count = (text: string): number => {
      const act = meanwhile;
      meanwhile = undefined;
      act?.();
      return Math.ceil(text.length / 4);
    };
    const counted = () => openedStore(path, { tokenCounter: { name: "quarter", count } });
    counted().session("s", SMALL).append(talk(60));
    const reader = counted().resume("s");
    reader.render({ tokensMax: 600 });
    const shown = (session: Session) => JSON.stringify(session.render({ tokensMax: 4_000 }));
    const before = shown(counted().resume("s"));
    meanwhile = () => openedStore(path).resume("s").rewind({ toSeq: 5 });
    expect(shown(reader)).toBe(before);
    expect(meanwhile).toBeUndefined();
    expect(shown(reader)).toBe(shown(counted().resume("s")));
  });

  test("a session that the other has forgotten and begun again is not taken for the old one", () => {
    const path = temporaryPath();
    const [one, other] = [openedStore(path), openedStore(path)];
    const rehearsed = (subject: string) =>
      talk(40).map(({ role }, index) => ({ role, content: `${subject} ${index}` }));
    const session = one.session("s", SMALL);
    session.sync(rehearsed("old"));
    for (const strategy of ["flat", "union-find"] as const) session.render({ strategy, tokensMax: 600 });
    other.forget("s");
    other.session("s", SMALL).sync(rehearsed("new"));
    for (const strategy of ["flat", "union-find"] as const) {
      const shown = JSON.stringify(session.render({ strategy, tokensMax: 600 }));
      expect(shown).toBe(JSON.stringify(openedStore(path).resume("s").render({ strategy, tokensMax: 600 })));
      expect(shown).not.toContain("old");
    }
    expect(session.append(user("and on"))).toMatchObject({ seq: 40 });
    expect(openedStore(path).verify()).toMatchObject({ ok: true, messageCount: 41 });
  });

  test("make the same session at the same moment and both have it", () => {
    const path = temporaryPath();
    const other = openedStore(path);
    let raced = false;
    // What happens between looking for the session and making it: the clock is asked.
    const clock = (): number => {
      if (raced) other.session("s", { project: "web" }).append(user("first"));
      raced = false;
      return 7;
    };
    const store = openedStore(path, { clock });
    raced = true;
    const session = store.session("s", { project: "web" });
    expect(session.append(user("second")).seq).toBe(1);
    expect(store.sessions()).toMatchObject([{ id: "s", project: "web", messageCount: 2 }]);
  });
});
