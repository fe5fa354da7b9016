import { expect, test } from "vitest";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { wrapped } from "../../../src/cli/screen/wrap.ts";
import { FakeStream } from "../../support/fake-terminal.ts";

test("lines are broken between words, and nothing but blanks is lost", () => {
  expect(wrapped("the lamp of the north light", 12)).toBe("the lamp of\nthe north\nlight");
  expect(wrapped("short\n\n  indented words here", 12)).toBe("short\n\n  indented\nwords here");
  expect(wrapped("灯台の灯り と 灯台守", 10)).toBe("灯台の灯り\nと 灯台守");
});

test("a longer word stays whole, and a pipe gets the text as it is", () => {
  expect(wrapped("see https://example.org/a/long/path now", 12)).toBe("see\nhttps://example.org/a/long/path\nnow");
  expect(wrapped("the lamp of the north light", Number.POSITIVE_INFINITY)).toBe("the lamp of the north light");
});

test("styles take no room", () => {
  const terminal = new Terminal(new FakeStream({ isTTY: true }), new FakeStream(), { FORCE_COLOR: "1" });
  const bold = (text: string): string => terminal.style("bold", text);
  expect(wrapped(`the ${bold("lamp")} of the north light`, 12)).toBe(`the ${bold("lamp")} of\nthe north\nlight`);
});
