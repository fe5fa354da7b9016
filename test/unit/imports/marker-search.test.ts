import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MarkerSearch } from "../../../src/imports/redaction/marker-search.ts";

/** Few letters, so that literals begin and end like others. `ţ` has the lower byte of `c`. */
const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "ţ"), maxLength: 60 });
const literal = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 });

describe("a search for markers", () => {
  test("finds the literals that a text has", () => {
    fc.assert(
      fc.property(fc.uniqueArray(literal, { minLength: 1, maxLength: 8 }), text, (literals, text) => {
        const search = new MarkerSearch(literals.map((literal) => ({ literal })));
        const expected = literals.filter((one) => text.includes(one));
        expect([...search.markersIn(text)].map(({ literal }) => literal).sort()).toEqual(expected.sort());
      }),
    );
  });

  test("finds a marker only before what follows it, also where two pieces of a long text meet", () => {
    const search = new MarkerSearch([{ literal: "key", follows: /\d/y }]);
    const padded = (length: number, rest: string) => "-".repeat(length) + rest;
    for (let length = 16_378; length < 16_388; length++) {
      expect(search.markersIn(padded(length, "key1")).size).toBe(1);
      expect(search.markersIn(padded(length, "key-key")).size).toBe(0);
    }
  });
});
