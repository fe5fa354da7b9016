import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { once } from "../../../src/core/once.ts";
import { TESTS_ALL } from "../../support/effort.ts";
import { type RawClient, served } from "../../support/mcp.ts";
import { allRows } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SECRET = "The vault opens with 4711.";

/** Two projects. The server serves `web`. */
const grown = once(() => {
  const store = temporaryStore();
  const api = store.session("api-1", { project: "api", title: `${SECRET} title` });
  api.append(talk(40));
  api.append({ role: "user", content: SECRET });
  store.session("web-1", { project: "web" }).append(talk(40));
  store.close();
  return readFileSync(store.path);
});

const TOOLS = [
  ...["recall", "expand", "get_context", "list_sessions", "list_subjects", "recap", "past_work", "lost", "append"],
  "no_such_tool",
];
const METHODS = [
  "tools/call tools/list resources/list resources/read resources/templates/list completion/complete ping initialize",
  "logging/setLevel prompts/get notifications/cancelled server/discover no/such ",
].flatMap((line) => line.split(" "));
const WORDS = [
  ..."api-1 web-1 api 1 41 -1 1e9 theme:1@1 cluster:41 span:1@41 subject:1@1 message:41".split(" "),
  ...["vault", "%", "*", "../../etc/passwd"],
  ...["coppice://session/api-1", "coppice://root/41", "coppice://session/..%2f", "'; DROP TABLE messages; --"],
  ...["\0", "\ud800", "\u202e\u200b", '"vault opens"', "NEAR(vault opens)", "x".repeat(5_000)],
];
const KEYS = [
  "query target sessionId sessionIds project limit offset from seqFrom tokensMax since level by roles strategy cursor uri",
  "ref argument name arguments content role id __proto__ constructor toString _meta progressToken requestId",
].flatMap((line) => line.split(" "));

const odd: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(...WORDS),
    fc.constantFrom<unknown>(0, -1, 1, 41, 1.5, 1e308, 2 ** 53, null, true, "", [], {}),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("value"), { maxKeys: 4 }),
  ),
})).value;
const dictionary = fc.dictionary(fc.constantFrom(...KEYS), odd, { maxKeys: 5 });
const request = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      method: fc.constant("tools/call"),
      params: fc.record({ name: fc.constantFrom(...TOOLS), arguments: dictionary }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ method: fc.constantFrom(...METHODS), params: dictionary }) },
  { weight: 1, arbitrary: fc.record({ method: odd, params: odd }) },
);
/** What is done to the line of a request. */
const harm = fc.constantFrom<(line: string) => string>(
  ...[(line: string) => line, (line: string) => line, (line: string) => line, (line: string) => line],
  (line) => line.slice(0, line.length / 2),
  (line) => `[${line},${line}]`,
  (line) => line.replace('"2.0"', '"1.0"'),
  (line) => `\ufeff${line}`,
  (line) => line.replace("{", '{"id":[],'),
);

/**
 * Goal: a client that sends anything gets an answer to each request, nothing of another project, and harms neither server nor store.
 * Method: at least two hundred random requests of tools and methods, with odd arguments and damaged lines, sent to a server of one
 * project, each of which is followed by a ping.
 */
test("hostile requests are answered in the protocol, show nothing of another project, and change nothing", {
  timeout: 60_000,
}, async () => {
  const path = temporaryPath();
  writeFileSync(path, grown());
  openedStore(path).close();
  const before = allRows(path);
  const client = await served(path, { project: "web" });
  const answers: string[] = [];
  let answeredCount = 0;
  await fc.assert(
    fc.asyncProperty(request, harm, async (asked, harmed) => {
      const [id, answer] = ask(client, asked, harmed);
      const { result } = await client.request("ping");
      expect(result).toEqual({});
      if (harmed("{") !== "{" || typeof asked.method !== "string" || asked.method.startsWith("notifications/")) return;
      const found = await answer;
      answeredCount += 1;
      expect([found.result === undefined, found.error === undefined].sort(), id).toEqual([false, true]);
      if (found.error !== undefined) expect(Number.isSafeInteger(found.error.code), JSON.stringify(found)).toBe(true);
      answers.push(JSON.stringify(found));
    }),
    { numRuns: TESTS_ALL ? 2_000 : 200 },
  );
  expect(answeredCount).toBeGreaterThan(50);
  expect(client.strays).toEqual([]);
  expect(answers.filter((text) => text.includes("4711"))).toEqual([]);
  expect(allRows(path)).toEqual(before);
});

let lastId = 0;

function ask(
  client: RawClient,
  asked: object,
  harmed: (line: string) => string,
): [string, ReturnType<RawClient["answerTo"]>] {
  lastId += 1;
  const id = `hostile-${lastId}`;
  const answer = client.answerTo(id);
  client.send(`${harmed(JSON.stringify({ jsonrpc: "2.0", id, ...asked }))}\n`);
  return [id, answer];
}
