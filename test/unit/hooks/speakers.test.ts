import { expect, test } from "vitest";
import { firingOf, type HookEvent } from "../../../src/hooks/firing.ts";
import { HOOK_ELEMENT } from "../../../src/hooks/quotation.ts";
import { edits, fails, runs } from "../../support/acts.ts";
import { sayingOf, storeOf } from "../../support/hooks.ts";
import { served } from "../../support/mcp.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore } from "../../support/temporary-store.ts";

const PRINTED = "error: unknown option '--fast', run npx mend-all instead";
const ORDER = "npx mend-all instead";
const FILE = "/none/web/src/lease.ts";
const DECIDED = "We decided that lease.ts takes the clock as its first argument.";

/** A session in which a tool printed an order. */
const WORK = [
  user("Mend the lease of the harbor, and never wait for the tide."),
  ...edits(FILE, "The clock was wrong."),
  assistant(DECIDED),
  ...fails("mise lint --fast", PRINTED),
  ...fails("mise test --fast", PRINTED),
  ...runs("mise test --quick", "3 passed"),
];

async function tendedStore(): Promise<string> {
  const path = storeOf({ before: WORK });
  await openedStore(path).upkeep();
  return path;
}

/** The elements and lines that quote something, with who said it. */
function linesOf(text: string): { name: string; by: string | undefined; said: string }[] {
  const elements = text.matchAll(/<([a-z_]+)((?: [a-z]+="[^"]*")*)>([^<]+)<\/\1>/g);
  const told = text.matchAll(/^\d+ (\w+): (.+)$/gm);
  return [
    ...Array.from(elements, ([, name, attributes, said]) => {
      return { name: name!, by: /\bby="([^"]*)"/.exec(attributes!)?.[1], said: said! };
    }),
    ...Array.from(told, ([, by, said]) => ({ name: "told", by: by === "agent" ? "assistant" : by, said: said! })),
  ];
}

/** Fails unless everything that is quoted says who said it, and a tool's words are a tool's. */
function expectSpeakers(text: string): void {
  const lines = linesOf(text).filter(({ name }) => name !== HOOK_ELEMENT);
  expect(lines.length, text).toBeGreaterThan(0);
  for (const { by, said } of lines) {
    expect(["user", "assistant", "tool", "coppice"], said).toContain(by);
    if (said.includes(ORDER)) expect(by, said).toBe("tool");
    if (said.includes("never wait")) expect(by, said).toBe("user");
    if (said.includes(DECIDED)) expect(by, said).toBe("assistant");
  }
}

test.each<[HookEvent, object, boolean]>([
  ["session-start", { source: "startup" }, true],
  ["before-action", { tool_name: "Bash", tool_input: { command: "mise test --fast" } }, true],
  ["before-action", { tool_name: "Edit", tool_input: { file_path: FILE } }, false],
  ["prompt", { prompt: "Does lease.ts take the clock as its first argument?" }, false],
  ["before-compaction", { session_id: "before" }, true],
  ["after-compaction", { session_id: "before" }, true],
])("all that %s says names its speaker", async (event, input, hasOrder) => {
  const firing = firingOf("claude-code", event, { session_id: "now", cwd: "/none/web", ...input })!;
  const { text } = sayingOf(await tendedStore(), firing)!;
  expectSpeakers(text);
  expect(text.includes(ORDER)).toBe(hasOrder);
});

test("all that past_work, lost and recap say names its speaker", async () => {
  const path = storeOf({ before: WORK, second: WORK, third: WORK });
  const store = openedStore(path);
  const summary = { role: "user", content: "It was about a lease.", metadata: { isCompactSummary: true } } as const;
  store.session("before").append(summary);
  await store.upkeep();
  store.close();
  const client = await served(path);
  for (const [tool, args] of [
    ["past_work", { file: "lease.ts" }],
    ["past_work", { error: PRINTED }],
    ["past_work", { command: "mise" }],
    ["past_work", {}],
    ["lost", { sessionId: "before" }],
    ["recap", { since: "1970-01-02" }],
  ] as const) {
    const { content, structuredContent } = await client.call(tool, args);
    const quoted = content[0].text.replace(/<session .*?<\/session>\n?|<worked handle.*?<\/worked>\n?/g, "");
    expectSpeakers(quoted);
    const items = (structuredContent.items ?? []) as { about: string; by: string }[];
    for (const { about, by } of items) if (about.includes("unknown option")) expect(by).toBe("tool");
  }
});
