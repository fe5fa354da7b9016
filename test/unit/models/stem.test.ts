import { expect, test } from "vitest";
import { stem } from "../../../src/models/stem.ts";

test.each([
  [["retry", "retries", "retrying"], "retry"],
  [["stop", "stops", "stopped", "stopping"], "stop"],
  [["file", "files", "filed"], "fil"],
  [["release", "released", "releases", "releasing"], "releas"],
  [["class", "classes"], "clas"],
])("brings %j together", (forms, expected) => {
  expect(forms.map(stem)).toEqual(forms.map(() => expected));
});

test.each(["status", "is", "red", "need", "漢字", "v2.4"])("leaves %j alone", (word) => {
  expect(stem(word)).toBe(word);
});
