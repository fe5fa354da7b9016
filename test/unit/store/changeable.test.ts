import { expect, test } from "vitest";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { takeForgottenCopy } from "../../../src/store/changes/hub-notes.ts";
import { agreedOn, type Changeable, changeableIn, mergedOf } from "../../../src/store/moves/changeable.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

/** What a session with this title and these items has. */
function changeable(title: string, items: Readonly<Record<string, string>>): Changeable {
  const store = temporaryStore();
  store.session("s", { title });
  for (const [key, value] of Object.entries(items)) store.items.put(["app"], key, value, { session: "s" });
  return changeableIn(internalsOf(store).repositories, "s")!;
}

const common = { tide: "low" };

test.each([
  ["nobody has changed", "Tide", "Tide", "Tide"],
  ["this store has changed", "Ebb", "Tide", "Ebb"],
  ["the other one has changed", "Tide", "Flood", "Flood"],
  ["both have changed in the same way", "Flood", "Flood", "Flood"],
  ["both have changed", "Ebb", "Flood", "Flood"],
])("a title that %s", (what, own, came, merged) => {
  const { title, notes } = mergedOf(changeable(own, {}), changeable(came, {}), agreedOn(changeable("Tide", {})));
  expect(title).toBe(merged);
  const replaced = ['The title "Ebb" of this store was replaced with the one that came.'];
  expect(notes).toEqual(what === "both have changed" ? replaced : []);
});

test("items that only one has changed are its own, and else those of both, with the values that came", () => {
  const merged = (own: Readonly<Record<string, string>>, came: Readonly<Record<string, string>>, isKnown = true) => {
    const agreed = isKnown ? agreedOn(changeable("t", common)) : undefined;
    const { items, notes } = mergedOf(changeable("t", own), changeable("t", came), agreed);
    return [items.map(({ key }) => key).sort(), notes];
  };
  const [mine, theirs] = [
    { tide: "high", boat: "in" },
    { tide: "mid", wind: "west" },
  ];
  expect(merged(mine, common)).toEqual([["boat", "tide"], []]);
  expect(merged(common, theirs)).toEqual([["tide", "wind"], []]);
  const note = 'The item "tide" of this store was replaced with the one that came.';
  for (const isKnown of [true, false])
    expect(merged(mine, theirs, isKnown)).toEqual([["boat", "tide", "wind"], [note]]);
});

test("a session that was not forgotten as a copy cannot be let in again", () => {
  expect(takeForgottenCopy(internalsOf(temporaryStore()).repositories, "s")).toBe(false);
});
