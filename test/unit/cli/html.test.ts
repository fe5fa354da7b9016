import { expect, test } from "vitest";
import { htmlLines } from "../../../src/cli/screen/html.ts";
import { PAGE_LIMIT_MAX } from "../../../src/core/limits.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const HOSTILE = `</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>"`;
const KEY = `AKIA${"IOSFODNN7QUARTER"}`;

/** Nothing but what the page itself writes: its elements with their attributes. */
const ELEMENT =
  /<\/?(?:!doctype html|html lang="en"|html|head|meta [^>]*|title|style|body|h1|p(?: class="facts")?|i class="key \w+"|i|article class="\w+" id="m\d+"|article|header|b|div class="said"|div|details class="\w*"|details|summary|pre|footer)>/g;

test("a session is one page that shows all of it, without secrets, and runs nothing", () => {
  const session = temporaryStore().session("s", { title: `Title ${HOSTILE}` });
  session.append([
    { role: "user", name: HOSTILE, content: `Use the key ${KEY}. ${HOSTILE}` },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: HOSTILE },
        { type: "tool_call", toolCallId: "c", name: HOSTILE, args: { command: `echo ${KEY} ${HOSTILE}` } },
      ],
    },
    { role: "tool", content: [{ type: "tool_result", toolCallId: "c", content: `${KEY}\n${HOSTILE}`, isError: true }] },
    { role: "assistant", content: [{ type: "file", mediaType: HOSTILE, name: HOSTILE, url: "x:y" }] },
    {
      role: "user",
      content: [
        { type: "text", text: HOSTILE, injected: true },
        { type: "data", data: { [HOSTILE]: HOSTILE } },
      ],
    },
  ]);
  const page = [...htmlLines(session)].join("\n");
  const style = /<style>[\s\S]*<\/style>/.exec(page)![0];
  expect(page.replace(style, "").replace(ELEMENT, "")).not.toMatch(/[<>]/);
  expect(page).toContain("default-src 'none'");
  expect(page).not.toContain(KEY);
  expect(page.match(/\[secret: aws-access-key\]/g)!.length).toBeGreaterThanOrEqual(3);
  expect(page.match(/<article class="verbatim"/g)).toHaveLength(5);
  expect(page).toContain('<details class="error">');
});

test("a session is not named by half of a secret, which would not be recognized", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const letters = "bQ7xKd0pWz3mTf9RhYc5LvNg2JsEa8UoXi4CkBq6PwDt1SjGnZrMy";
  const key = `sk-ant-api03-${letters}${letters.slice(0, 40)}AA`;
  session.append({ role: "user", content: `Use ${key} for the harbor.` });
  expect(session.info().name).toContain(key.slice(0, 20)); // as the store has it
  const late = store.session("late");
  late.append({ role: "user", content: `${"const lamp = 1;\n".repeat(10)}Use the key ghp_${letters.slice(0, 36)}` });
  expect(late.info().opening).toMatch(/ghp_\w{20,35}$/);
  for (const one of [session, late]) {
    expect([...htmlLines(one)].join("\n")).not.toMatch(new RegExp(letters.slice(0, 9)));
  }
});

test("a name is redacted too, and what fits no context is shown all the same", () => {
  const session = temporaryStore().session("s");
  session.append({ role: "user", name: KEY, content: "lamp ".repeat(20_000), pinned: true });
  const page = [...htmlLines(session)].join("\n");
  expect(page).not.toContain(KEY);
  expect(page).toContain('<article class="cut" id="m0"');
});

test("it says which messages the context of now leaves out", () => {
  const session = temporaryStore().session("s", { hotSize: 2, overlap: 0, evictBatch: 2, contextTokensMax: 400 });
  for (let index = 0; index < 40; index++) {
    session.append({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `Line ${index} of the lamp log. ${"dark ".repeat(20)}`,
    });
  }
  const page = [...htmlLines(session)].join("\n");
  const { sources } = session.render();
  const shown = sources.filter(({ how }) => how === "verbatim").length;
  expect(shown).toBeLessThan(40);
  expect(page.match(/<article class="verbatim"/g)).toHaveLength(shown);
  expect(page.match(/<article class=/g)).toHaveLength(40);
  const shortened = sources.filter(({ how }) => how === "shortened").length;
  expect(page.match(/<article class="cut"/g)).toHaveLength(40 - shown - shortened);
});

test("a page of a session longer than one reading has its newest message", () => {
  const session = temporaryStore().session("long");
  const count = PAGE_LIMIT_MAX + 2;
  session.append(Array.from({ length: count }, (_, seq) => ({ role: "user" as const, content: `Plank ${seq}.` })));
  const lines = [...htmlLines(session)];
  expect(lines.filter((line) => line.startsWith("<article"))).toHaveLength(count);
  expect(lines.join("\n")).toContain(`Plank ${count - 1}.`);
});
