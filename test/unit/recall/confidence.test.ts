import { describe, expect, test } from "vitest";
import { RECALL_CONFIDENCE_MIN } from "../../../src/core/options.ts";
import type { RecallHit, Store } from "../../../src/index.ts";
import { noteOnHits } from "../../../src/session/aids/recall-notes.ts";
import { runs } from "../../support/acts.ts";
import { letterEmbedder } from "../../support/other-embedders.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

function licenses(store: Store = temporaryStore()): Store {
  store
    .session("licenses")
    .append([
      user("Under which terms may people publish the harbor maps?"),
      assistant("The MIT licence: whoever distributes a copy adds the notice."),
      user("Add the notice to every page of the atlas, please."),
      assistant("Each page of the atlas has it now, below the scale."),
    ]);
  return store;
}

const hitsOf = (query: string, store = licenses()): Promise<RecallHit[]> => store.recall(query);

describe("that nothing is near", () => {
  test("is said first, with the words that no message has", async () => {
    const hits = await hitsOf("how do we publish to homebrew with a formula");
    expect(hits[0]).toMatchObject({ unknownWords: ["homebrew", "formula"] });
    expect(hits[0]!.confidence).toBeLessThan(RECALL_CONFIDENCE_MIN);
    expect(noteOnHits(hits)).toBe(
      'No message has "homebrew" or "formula", so these are probably about something else.',
    );
  });

  test("is said if every word is somewhere, but no message has enough of them", async () => {
    const store = temporaryStore();
    const words = ["anchor", "lantern", "compass", "tiller", "mooring"];
    for (const word of words) store.session(word).append(user(`The ${word} is on the list.`));
    const hits = await hitsOf(words.join(" "), store);
    expect(hits[0]!.unknownWords).toBeUndefined();
    expect(noteOnHits(hits)).toBe(
      "No message has enough words of the query, so these are probably about something else.",
    );
  });

  test("is not said of a question with a word that nobody has used, if a message has the others", async () => {
    const hits = await hitsOf("which licence notice must whoever distributes a copy of the maps add, precisely");
    expect(hits[0]).toMatchObject({ unknownWords: ["precisely"] });
    expect(hits[0]!.confidence).toBeGreaterThanOrEqual(RECALL_CONFIDENCE_MIN);
    expect(noteOnHits(hits)).toBeUndefined();
  });

  test("is not said of an answer that leaves out what the user has just said", async () => {
    const alone = temporaryStore();
    alone.session("s").append(assistant("The MIT licence: whoever distributes a copy adds the notice."));
    alone.session("t").append(user("Under which terms may people publish the harbor maps?"));
    const query = "publish the harbor maps under the licence and its notice";
    const together = (await hitsOf(query))[0]!.confidence!;
    expect(together).toBeGreaterThan((await hitsOf(query, alone))[0]!.confidence!);
    expect(together).toBeGreaterThanOrEqual(RECALL_CONFIDENCE_MIN);
  });

  test("gives three hits, and more only if they are asked for", async () => {
    const store = temporaryStore();
    const words = ["anchor", "lantern", "compass", "tiller", "mooring"];
    for (const word of words) store.session(word).append(user(`The ${word} is on the list.`));
    const query = words.join(" ");
    expect(await hitsOf(query, store)).toHaveLength(3);
    const filled = await store.recall(query, { tokensMax: 2_000 });
    expect(filled).toHaveLength(3);
    expect(filled[0]!.more).toBe(true);
    expect(await store.recall(query, { by: "session" })).toHaveLength(3);
    expect(await store.recall(query, { limit: 5 })).toHaveLength(5);
    expect(await hitsOf("lantern on the list", store)).toHaveLength(5);
  });

  test("does not show what tools printed, unless nobody has said a word of it or a limit is given", async () => {
    const printed = runs("cat formula.rb", "const formula = 1;");
    const query = "homebrew bottle tap, release pipeline, cellar checksum: the formula of the page";
    const store = licenses();
    store.session("printed").append(printed);
    const shown = await hitsOf(query, store);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.map(({ sessionId }) => sessionId)).not.toContain("printed");
    expect((await store.recall(query, { limit: 5 })).map(({ sessionId }) => sessionId)).toContain("printed");
    const alone = temporaryStore();
    alone.session("said").append(user("Be brief."));
    alone.session("printed").append(printed);
    expect((await hitsOf(query, alone))[0]).toMatchObject({ sessionId: "printed" });
  });

  test("is not judged by words if a semantic embedder has found the hits, or if they have a phrase", async () => {
    const byMeaning = await hitsOf("homebrew formula licence", licenses(temporaryStore({ embedder: letterEmbedder })));
    const byPhrase = await hitsOf('homebrew "MIT licence"');
    for (const [hit] of [byMeaning, byPhrase]) expect(hit).not.toHaveProperty("confidence");
  });
});

test("the confidence rises with the words that a message has, and is the same for all hits", async () => {
  const confidences: number[] = [];
  for (const query of ["atlas homebrew formula cask", "atlas page homebrew", "atlas page scale"]) {
    const hits = await hitsOf(query);
    expect(new Set(hits.map(({ confidence }) => confidence)).size).toBe(1);
    confidences.push(hits[0]!.confidence!);
  }
  expect(confidences).toEqual(confidences.toSorted((left, right) => left - right));
  expect(new Set(confidences).size).toBe(3);
});

test("a word that was corrected has half of its weight, and is wanted in full", async () => {
  const [typed] = await hitsOf("whoever distributes a copy adds a notice");
  const [corrected] = await hitsOf("whoever distribtes a copy adds a notice");
  expect(corrected!.text).toBe(typed!.text);
  expect(typed!.confidence).toBeGreaterThan(corrected!.confidence!);
});
