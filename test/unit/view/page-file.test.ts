import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { HIDDEN } from "../../../src/core/tags.ts";
import { DerivedRedactor } from "../../../src/imports/redaction/derived-texts.ts";
import { type MessageInput, type Store, StoreError } from "../../../src/index.ts";
import { writePageFile } from "../../../src/view/page-file.ts";
import { fileKeyOf } from "../../../src/view/questions.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const LETTERS = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xY".repeat(2);
const KEY = `ghp_${LETTERS.slice(0, 36)}`;
const HTML = `<html><head><meta charset="utf-8" /><link rel="stylesheet" href="/page.css" /><script type="module" src="/page.js"></script></head><body><div id="app"></div></body></html>`;
const assets = new Map(
  Object.entries({ "/": HTML, "/page.css": "p {}", "/page.js": "0;" }).map(([path, text]) => [
    path,
    { type: "", bytes: Buffer.from(text), etag: "" },
  ]),
);

function pathBeside(store: Store): string {
  return join(dirname(store.path), "page.html");
}

async function exported(store: Store, options: Partial<Parameters<typeof writePageFile>[2]> = {}) {
  const path = pathBeside(store);
  const report = await writePageFile(store, path, { redactor: new DerivedRedactor(), assets, ...options });
  const html = readFileSync(path, "utf8");
  const [, json] = /<script type="application\/json" id="answers">([\s\S]*?)<\/script>/.exec(html)!;
  // biome-ignore lint/suspicious/noExplicitAny: what it is, is what the tests look at.
  const answers: Record<string, any> = JSON.parse(json!);
  return { report, html, answers, answer: (url: string) => answers[fileKeyOf(url)] };
}

/** A tool call and its result. */
function ran(toolCallId: string, command: string, content: string, isError: boolean): MessageInput[] {
  return [
    { role: "assistant", parts: [{ type: "tool_call", toolCallId, name: "Bash", args: { command } }] },
    { role: "tool", parts: [{ type: "tool_result", toolCallId, content, isError }] },
  ];
}

test("a secret of a message is in no answer, however it was cut, and whatever was made of it", async () => {
  const store = temporaryStore();
  const command = `deploy --token ${KEY}`;
  const session = store.session("a", { project: "web", title: `Use the key ${KEY.slice(0, 18)}…` });
  session.append([
    user(`Deploy it. ${"Words before it. ".repeat(5)} The key is ${KEY}.`),
    ...ran("one", command, `error: ${KEY} was refused`, true),
    ...ran("two", command, `error: ${KEY} was refused`, true),
    user(`${"A long line to scroll. ".repeat(1_500)}${KEY}`),
    user("<private>The vault stands behind the lamp.</private> Go on."),
    assistant("Done."),
  ]);
  await store.upkeep();
  const { html, answer } = await exported(store);
  expect(html).not.toContain(KEY.slice(0, 12));
  expect(html).not.toContain("vault");
  expect(answer("/api/sessions").sessions[0].title).toBe("Use the key [secret]…");
  const { messages } = answer("/api/messages?session=a");
  expect(messages[0].parts[0].text).toMatch(/The key is \[secret: [\w-]+\]\.$/);
  expect(answer(`/api/part?message=${messages[5].id}&path=0`)).toMatch(/scroll\. \[secret: [\w-]+\]$/);
  // A row of the lists leads to its answer by its name without the secret.
  const [row] = answer("/api/work-overview").commands;
  const url = `/api/work?${new URLSearchParams({ command: row.name, project: row.project })}`;
  expect(answer(url).items.length).toBeGreaterThan(0);
});

test("no text of a message ends the element of the answers, and the page may load and send nothing", async () => {
  const store = temporaryStore();
  const text = `</script><script>alert(1)</script><!-- <script>`;
  store.session("a").append(user(text));
  const { html, answer } = await exported(store);
  expect(html.match(/<\/?script/g)).toHaveLength(4);
  expect(answer("/api/messages?session=a").messages[0].parts[0].text).toBe(text);
  const [, policy] = /Content-Security-Policy" content="([^"]+)"/.exec(html)!;
  expect(policy).toContain("default-src 'none'; script-src 'sha256-");
  expect(policy).not.toMatch(/connect-src|unsafe|https?:/);
});

test("a project's file tells nothing of other projects and of hidden sessions", async () => {
  const store = temporaryStore();
  store.session("web", { project: "/w/web" }).append([user("The lamp of the web."), assistant("On.")]);
  store.session("api", { project: "/w/api" }).append([user("The oven of the api."), assistant("Off.")]);
  const fork = store.resume("web").fork({ id: "kept-back" });
  fork.append([
    user("Only the fork knows the attic."),
    ...ran("a", "attic up", "error: no attic", true),
    ...ran("b", "attic up", "error: no attic", true),
  ]);
  await store.upkeep();
  fork.update({ addTags: [HIDDEN] });
  const { html, report, answer } = await exported(store, { project: "/w/web" });
  expect(html).not.toMatch(/api"|oven|\/w\/api|kept-back|attic/);
  expect(report).toMatchObject({ sessionCount: 1, messageCount: 2, byteLength: Buffer.byteLength(html) });
  expect(answer("/api/about")).toMatchObject({ project: "/w/web", projects: [{ project: "/w/web", name: "web" }] });
  for (const url of ["/api/subjects", "/api/work-overview", "/api/work-overview?project=%2Fw%2Fweb", "/api/usage"])
    expect(answer(url)).toBeDefined();
  expect(answer("/api/health")).toBeUndefined();
});

test("a page that is too large is refused with what to do, and leaves nothing behind", async () => {
  const store = temporaryStore();
  store.session("a").append(user("Words. ".repeat(1_000)));
  const before = readdirSync(dirname(store.path));
  await expect(exported(store, { bytesMax: 5_000 })).rejects.toMatchObject({
    code: "FILE_NOT_USABLE",
    message: expect.stringContaining("more than 0.005 MB"),
    hint: expect.stringContaining("--project NAME"),
  });
  expect(readdirSync(dirname(store.path))).toEqual(before);
});

test("an existing file stays unless it is to be replaced, and a store is never replaced", async () => {
  const store = temporaryStore();
  store.session("a").append(user("Hello."));
  const path = pathBeside(store);
  writeFileSync(path, "mine");
  const redactor = new DerivedRedactor();
  await expect(exported(store)).rejects.toThrow(new StoreError("FILE_EXISTS", { path }));
  expect(readFileSync(path, "utf8")).toBe("mine");
  await exported(store, { overwrite: true });
  expect(readFileSync(path, "utf8")).toContain("Hello.");
  const refused = { code: "FILE_NOT_USABLE", message: expect.stringContaining("the store itself") };
  const onStore = writePageFile(store, store.path, { redactor, assets, overwrite: true });
  await expect(onStore).rejects.toMatchObject(refused);
  const unbuilt = writePageFile(store, `${path}.other`, { redactor, assets: new Map([["/", assets.get("/")!]]) });
  await expect(unbuilt).rejects.toMatchObject({ code: "FILE_NOT_USABLE", hint: "Run `npm run build`." });
});

test("a long session has all of its messages", async () => {
  const store = temporaryStore();
  const said = Array.from({ length: 1_100 }, (_, index) => user(`Line ${index}`));
  store.session("long", { hotSize: 2_000, hotTokensMax: 1_000_000 }).append(said);
  const { answer, report } = await exported(store);
  expect(report.messageCount).toBe(1_100);
  expect(answer("/api/messages?session=long").messages.at(-1).seq).toBe(1_099);
});
