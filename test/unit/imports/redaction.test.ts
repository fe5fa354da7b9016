import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../../src/imports/redaction/redact.ts";
import { secretsIn } from "../../../src/imports/redaction/secrets.ts";
import { forgetSecrets, storedSecrets } from "../../../src/imports/stored-secrets.ts";
import type { Store } from "../../../src/index.ts";
import { sessionIds } from "../../../src/session/aids/session-ids.ts";
import { expectLinearTime } from "../../support/processor-time.ts";
import { randomLooking, SECRETS } from "../../support/secrets.ts";
import { temporaryFolder, temporaryStore } from "../../support/temporary-store.ts";
import { user } from "../importers/claude-code/lines.ts";
import { bring, jsonLines, put } from "../importers/read.ts";

const KEY = SECRETS["aws-access-key"]!;

function file(folder: string, name: string, lines: readonly object[]): string {
  return put(join(folder, name), jsonLines(lines));
}

function textsIn(store: Store): unknown[] {
  return store.query("SELECT text FROM messages ORDER BY id").map(({ text }) => text);
}

describe("secrets", () => {
  test.each(Object.entries(SECRETS))("%s is found where it stands", (kind, secret) => {
    for (const [before, after] of [
      ["", ""],
      ["the key is ", " or so"],
      ['{"key":"', '"}'],
      ["KEY=", "\nnext"],
    ]) {
      const start = before!.length;
      expect(secretsIn(before + secret + after)).toEqual([{ kind, start, end: start + secret.length }]);
    }
  });

  test("of a URL is only its password", () => {
    const password = randomLooking(12);
    const [found, ...others] = secretsIn(`psql postgres://app:${password}@db.internal:5432/app`);
    expect([found, others]).toEqual([{ kind: "url-password", start: 20, end: 32 }, []]);
  });

  test.each([`{"out":"line\\n${KEY}\\n"}`, `key\\u003d${KEY}`, `?key%3D${KEY}`, `\x1b[01;31m\x1b[K${KEY}\x1b[m`])(
    "are found behind an escape: %j",
    (text) => {
      const start = text.indexOf(KEY);
      expect(secretsIn(text)).toEqual([{ kind: "aws-access-key", start, end: start + KEY.length }]);
    },
  );

  test("of a removed file are found in its diff", () => {
    const key = SECRETS["private-key"]!.replace(/^/gm, "-");
    expect(secretsIn(key)).toMatchObject([{ kind: "private-key" }]);
    expect(secretsIn(key)[0]!.end).toBeGreaterThan(key.indexOf("-----END") - 3);
  });

  test("of a URL without a user are found", () => {
    expect(secretsIn(`redis://:${randomLooking(12)}@cache:6379`)).toMatchObject([{ kind: "url-password", start: 9 }]);
  });

  test.each([
    ["openings of private stretches", "<private>".repeat(100_000)],
    ["beginnings of a token", "-eyJ".repeat(200_000)],
    ["keys", `${KEY} `.repeat(30_000)],
    ["beginnings of private keys", "-----BEGIN PRIVATE KEY-----".repeat(30_000)],
    ["addresses", "a://b:".repeat(100_000)],
    ["names of secrets", "password: token = api_key_".repeat(20_000)],
    ["values without an end", `token="${"t7".repeat(200)} `.repeat(1_000)],
    ["cookies", "Cookie: a=b; sess; auth=1; ".repeat(20_000)],
    ["options", "curl -u ada mysql -p docker login --password ".repeat(10_000)],
    ["colors", "\x1b[31mpassword\x1b[0m=".repeat(20_000)],
    ["parts of a key of PuTTY", `Private-Lines: 1\n${"abcd\n".repeat(20)}`.repeat(2_000)],
    ["hexadecimal digits", randomLooking(400_000, "hex")],
  ])("are looked for in linear time in many %s", async (_, text) => {
    const inputOf = (size: number): string => text.slice(0, (size / 8_000) * text.length);
    await expectLinearTime(1_000, inputOf, (part) => new Redactor({ keepSecrets: false }).redacted(part));
  });

  test.each([
    "AKIAIOSFODNN7EXAMPLE",
    `ghp_${"x".repeat(36)}`,
    `sk_live_${"0".repeat(24)}`,
    "postgres://user:password@localhost/db",
    "postgres://user:$PASSWORD@localhost/db",
    "https://example.org/a:b/c@d",
    "sk-learn-and-other-words ghp_short AKIA SG.a.b key-value pul-request",
    randomLooking(5_000, "hex"),
    `data:image/png;base64,${randomLooking(5_000)}`,
  ])("are not seen in %s", (text) => {
    expect(secretsIn(text)).toEqual([]);
  });
});

describe("a value that its syntax marks as secret", () => {
  const value = `t7${randomLooking(24)}`;

  test.each([
    "Authorization: Bearer %",
    '{"headers":{"Authorization":"Basic %"}}',
    "curl -H 'authorization: token %' https://api.test",
    "X-Api-Key: %",
    "//registry.test/:_authToken=%",
    '{"auths":{"registry.test":{"auth":"%"}}}',
    "    client-key-data: %",
    "https://store.test/blob?sv=2024&sig=%%3D",
    "DB_PASSWORD=%",
    "PGPASSWORD='%' psql -h db",
    'export STRIPE_SECRET="%"',
    '{"password": "%"}',
    String.raw`{\"client_secret\":\"%\"}`,
    "'api-key': '%'",
    "curl -u ada:% https://host.test",
    "machine host.test login ada password %",
    `prefix_${SECRETS["github-token"]}_suffix %`,
  ])("is found in %s", (line) => {
    const text = line.replace("%", value);
    const marked = line.includes("ghp_") ? SECRETS["github-token"]! : value;
    expect(secretsIn(text).map(({ start, end }) => text.slice(start, end).replace(/%3D$/, ""))).toEqual([marked]);
  });

  test.each([
    "const token = await getToken(); headers.Authorization = bearer(token);",
    "Authorization: Bearer <token>",
    "Authorization: Bearer your-token-here",
    "DB_PASSWORD=$PASSWORD",
    "API_KEY=process.env.API_KEY",
    "MAX_TOKENS=200000 SESSION_TOKEN=sessionToken",
    "PRIVATE_KEY=/home/ada/.ssh/id_ed25519",
    '{"password": "string", "token": "required", "secret": "keyName"}',
    '{"accessToken": "ACCESS_TOKEN", "password": "********"}',
    "curl -u $USER:$PASS https://host.test",
    "the login page asks for a password twice",
  ])("is not a placeholder, a name or a path: %s", (line) => {
    expect(secretsIn(line)).toEqual([]);
  });

  test("may be a few words, if it is a password", () => {
    expect(secretsIn("DB_PASSWORD=correct-horse-battery")).toMatchObject([{ start: 12, end: 33 }]);
    expect(secretsIn("SERVICE_TOKEN=correct-horse-battery PASSWORD=read_from_the_vault")).toEqual([]);
  });

  test("is in no line of ordinary work", () => {
    const folders = ["src/store", "src/forest", "src/recall", "src/cli", "scripts/demo/transcripts"];
    const files = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
    const lines = files
      .filter((path) => /\.(ts|md|jsonl)$/.test(path))
      .flatMap((path) => readFileSync(path, "utf8").split("\n"));
    expect(lines.length).toBeGreaterThan(5_000);
    expect(lines.flatMap((line) => secretsIn(line).map(({ start, end }) => line.slice(start, end)))).toEqual([]);
  });
});

test("keys, base64 of texts and equal keys are redacted, and pictures are left alone", () => {
  const redactor = new Redactor({ keepSecrets: false });
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const picture = { type: "file", mediaType: "image/png", data: base64(`x ${KEY}`) };
  const text = { type: "file", mediaType: "text/plain", data: base64(`x ${KEY}`) };
  expect(redactor.redacted({ [`a ${KEY}`]: 1, b: 2 })).toEqual({ "a [secret: aws-access-key]": 1, b: 2 });
  const redacted = { ...text, data: base64("x [secret: aws-access-key]") };
  expect(redactor.redacted([picture, text])).toEqual([picture, redacted]);
  const other = `AKIA${[...KEY.slice(4)].reverse().join("")}`;
  expect(redactor.redacted({ [KEY]: 1, [other]: 2 })).toEqual({
    "[secret: aws-access-key]": 1,
    "[secret: aws-access-key] 2": 2,
  });
});

test.each([
  ["a <private>b <private>c</private> d</private> e", "a [private] e"],
  ["a <Private>b</PRIVATE> c", "a [private] c"],
  ["a </private> b <private> c <private>d</private> e", "a </private> b <private> c [private] e"],
])("private stretches of %s", (text, expected) => {
  expect(new Redactor({ keepSecrets: true }).redacted(text)).toBe(expected);
});

describe("an import", () => {
  test("replaces secrets and private stretches in every part, and leaves the rest word for word", async () => {
    const store = temporaryStore();
    const call = {
      type: "tool_call",
      toolCallId: "c",
      name: "sh",
      args: { command: `aws --key ${KEY}`, n: [1, null] },
    };
    const said = (role: string, id: string, more: object) => ({ session: "s", role, id, ...more });
    const result = { type: "tool_result", toolCallId: "c", content: [{ type: "text", text: `a ${KEY} b ${KEY}` }] };
    const path = file(temporaryFolder(), "s.jsonl", [
      { session: "s", title: `About ${KEY}`, metadata: { note: KEY } },
      said("user", "a", { content: "Say <private>my name\nis Ada</private> and <private> no more.", more: KEY }),
      said("assistant", "b", { parts: [call] }),
      said("tool", "c", { parts: [result] }),
      said("user", "d", { content: "  Word for word: AKIA\r\n" }),
    ]);
    const report = await bring(store, path);
    expect(report).toMatchObject({ newCount: 4, replaced: { "aws-access-key": 4, private: 1 }, warningCount: 0 });
    const messages = store.resume("s").messages();
    expect(messages.map(({ parts }) => parts)).toEqual([
      [{ type: "text", text: "Say [private] and <private> no more." }],
      [{ ...call, args: { command: "aws --key [secret: aws-access-key]", n: [1, null] } }],
      [{ ...result, content: [{ type: "text", text: "a [secret: aws-access-key] b [secret: aws-access-key]" }] }],
      [{ type: "text", text: "  Word for word: AKIA\r\n" }],
    ]);
    expect(messages[0]!.metadata).toEqual({ more: "[secret: aws-access-key]" });
    expect(store.sessions()[0]!.title).toBe("About [secret: aws-access-key]");
    expect(JSON.stringify([...store.export()])).not.toContain(KEY);
  });

  test.each([
    [false, true],
    [true, false],
    [false, false],
    [true, true],
  ])("that kept secrets (%s) and then keeps them (%s) doubles nothing, and growth is added", async (first, second) => {
    const store = temporaryStore();
    const folder = temporaryFolder();
    const lines = Array.from({ length: 120 }, (_, index) => ({
      ...{ session: "s", role: "user", id: `m${index}` },
      content: index % 40 === 3 ? `The key is ${KEY}. <private>x</private>` : `Message ${index}.`,
    }));
    expect(await bring(store, file(folder, "s.jsonl", lines), { keepSecrets: first })).toMatchObject({ newCount: 120 });
    const before = textsIn(store);
    expect(before.some((text) => String(text).includes(KEY))).toBe(first);
    const grown = file(folder, "s.jsonl", [...lines, { session: "s", role: "user", id: "last", content: KEY }]);
    const report = await bring(store, grown, { keepSecrets: second });
    expect(report).toMatchObject({ newCount: 1, knownCount: 120, warningCount: 0 });
    expect(textsIn(store)).toEqual([...before, second ? KEY : "[secret: aws-access-key]"]);
  });

  test("keeps no secret of a folder, whose project it then does not tell", async () => {
    const store = temporaryStore();
    const folder = temporaryFolder();
    for (const [id, cwd] of Object.entries({ s: KEY, t: SECRETS["github-token"], u: "shop" }))
      file(folder, `${id}.jsonl`, [user(id, "Hello.", { sessionId: id, cwd: `/work/${cwd}` })]);
    await bring(store, folder);
    expect(store.query("SELECT id, project FROM sessions ORDER BY id")).toEqual([
      { id: "s", project: null },
      { id: "t", project: null },
      { id: "u", project: "/work/shop" },
    ]);
    expect(JSON.stringify(store.query("SELECT * FROM sessions"))).not.toContain(KEY);
  });

  test("of an export compares messages with and without their secrets", async () => {
    const store = temporaryStore();
    store.session("s").append({ role: "user", content: `The key is ${KEY}.` });
    const path = file(temporaryFolder(), "export.jsonl", [...store.export()]);
    expect(await bring(store, path)).toMatchObject({ newCount: 0, knownCount: 1, warningCount: 0 });
    const other = temporaryStore();
    expect(await bring(other, path, { keepSecrets: true })).toMatchObject({ newCount: 1, replaced: {} });
    expect(textsIn(other)).toEqual([`The key is ${KEY}.`]);
  });

  test("replaces the same in a file that a thread reads", async () => {
    const store = temporaryStore();
    const lines = Array.from({ length: 150 }, (_, index) => ({
      ...{ session: "s", role: "user", id: `m${index}` },
      content: `${index === 70 ? KEY : ""} ${"The lamp is lit. ".repeat(500)}`,
    }));
    const report = await bring(store, file(temporaryFolder(), "s.jsonl", lines));
    expect(report).toMatchObject({ newCount: 150, replaced: { "aws-access-key": 1 } });
    expect(String(textsIn(store)[70])).toMatch(/^\[secret: aws-access-key\] The lamp/);
  });

  test.each(["workspaceDirs", "directories"])(
    "leaves out a session whose folders of work are its %s",
    async (field) => {
      const store = temporaryStore();
      const about = { session: "a", metadata: { [field]: ["/work/open", "/work/secret/deep"] } };
      const path = file(temporaryFolder(), "a.jsonl", [about, { session: "a", role: "user", id: "a", content: "hi" }]);
      expect(await bring(store, path, { exclude: { paths: ["/work/secret"] } })).toMatchObject({ excludedCount: 1 });
    },
  );

  test("leaves out excluded files, folders of work and projects, now or for good", async () => {
    const store = temporaryStore();
    const folder = temporaryFolder();
    const say = (session: string, more: object = {}) => ({ session, role: "user", id: "a", content: "hi", ...more });
    file(folder, "a.jsonl", [say("a", { project: "client" }), say("b", { project: "mine" })]);
    file(folder, "b.jsonl", [{ session: "c", metadata: { cwd: "/work/secret/deep" } }, say("c"), say("d")]);
    file(folder, "c.jsonl", [say("e")]);
    const exclude = { projects: ["client"], paths: ["/work/secret", join(folder, "c.jsonl")] };
    expect(await bring(store, folder, { exclude })).toMatchObject({ newCount: 2, excludedCount: 3 });
    expect(sessionIds(store)).toEqual(["b", "d"]);

    expect(store.exclude()).toEqual({ paths: [], projects: [] });
    expect(store.exclude(exclude)).toEqual({ ...exclude, paths: exclude.paths.toSorted() });
    expect(await bring(store, folder)).toMatchObject({ newCount: 0, knownCount: 2, excludedCount: 3 });
    store.exclude({ paths: ["/work/secret"], remove: true });
    expect(await bring(store, folder)).toMatchObject({ newCount: 1, excludedCount: 2 });
    expect(sessionIds(store)).toEqual(["b", "c", "d"]);
  });
});

test("secrets in a store are listed without showing them, and their messages forgotten", async () => {
  const store = temporaryStore();
  store.session("s", { title: `About ${KEY}` }).append({ role: "user", content: "hello" });
  const { messageId } = store.session("s").append({ role: "user", content: `It is ${KEY}.` });
  const other = store.session("t").append({ role: "user", content: "x", metadata: { note: SECRETS["github-token"] } });
  const found = [...storedSecrets(store, () => {})];
  expect(found).toHaveLength(3);
  expect(found).toContainEqual({ kind: "aws-access-key", sessionId: "s", messageId, masked: "AKIA… (20 characters)" });
  expect(found).toContainEqual(expect.objectContaining({ sessionId: "s", messageId: null }));
  expect(JSON.stringify(found)).not.toContain(KEY.slice(5));
  expect(forgetSecrets(store, found)).toMatchObject({ messageCount: 2, erased: true });
  expect(textsIn(store)).toEqual(["hello"]);
  expect(store.query(`SELECT 1 FROM messages WHERE id IN (${messageId}, ${other.messageId})`)).toEqual([]);
  expect([...storedSecrets(store, () => {})]).toHaveLength(1);
});

test("secrets in the names of arguments, and across the texts of a message, are found once", () => {
  const store = temporaryStore();
  const session = store.session("s");
  const call = { type: "tool_call" as const, toolCallId: "c1", name: "set", args: { env: { [KEY]: "on" } } };
  const login = { ...call, toolCallId: "c2", args: { user: "ada", password: "Tr0ub4dor&3x" } };
  const texts = (...pieces: string[]) => pieces.map((text) => ({ type: "text" as const, text }));
  session.append([
    { role: "assistant", parts: [call] },
    { role: "tool", parts: [{ type: "tool_result", toolCallId: "c1", content: "done" }] },
    { role: "assistant", parts: texts("It is ", KEY.slice(0, 7), KEY.slice(7, 12), `${KEY.slice(12)}.`) },
    { role: "assistant", parts: texts(`It is ${KEY}`, "and more") },
    { role: "assistant", parts: texts("Nothing", "here") },
    { role: "assistant", parts: [login] },
  ]);
  const found = [...storedSecrets(store, () => {})];
  expect(found).toMatchObject([
    ...[1, 3, 4].map((messageId) => ({ messageId, kind: "aws-access-key" })),
    { messageId: 6, kind: "named-secret", masked: "… (12 characters)" },
  ]);
  expect(JSON.stringify(found)).not.toContain(KEY.slice(5));
});

test("secrets of superseded messages are found and forgotten", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append(["hello", `It is ${KEY}.`, "thanks"].map((content) => ({ role: "user", content })));
  session.rewind({ toSeq: 0 });
  session.append({ role: "user", content: "more" });
  const found = [...storedSecrets(store, () => {})];
  expect(found).toEqual([{ kind: "aws-access-key", sessionId: "s", messageId: 2, masked: "AKIA… (20 characters)" }]);
  expect(forgetSecrets(store, found)).toMatchObject({ messageCount: 1, erased: true });
  expect(textsIn(store)).toEqual(["hello", "thanks", "more"]);
});

test("secrets in entries and items are found, and the place does not show them", () => {
  const store = temporaryStore();
  const session = store.session("s");
  session.append({ role: "user", content: "hello" });
  session.entries.append([{ value: { deep: ["none", `It is ${KEY}.`] } }, { value: "nothing" }]);
  session.append({ role: "user", content: "again" });
  session.entries.append([{ value: SECRETS["github-token"] }]);
  session.rewind({ toSeq: 0 });
  for (let index = 0; index < 120; index++) store.items.put(["many"], `k${index}`, index);
  store.items.put(["users"], "ada", { key: KEY });
  store.items.put(["users"], KEY, 1, { session: "s" });
  store.items.put(["users"], "bytes", Buffer.from(`\u0000${KEY}\u0000`));
  const found = [...storedSecrets(store, () => {})];
  expect(found.map(({ kind, sessionId, place }) => [kind, sessionId, place])).toEqual([
    ["aws-access-key", "s", "entry 1"],
    ["github-token", "s", "entry 3"],
    ["aws-access-key", "s", 'item ["users"] [secret: aws-access-key]'],
    ["aws-access-key", null, 'item ["users"] ada'],
    ["aws-access-key", null, 'item ["users"] bytes'],
  ]);
  expect(JSON.stringify(found)).not.toContain(KEY.slice(5));
  expect(forgetSecrets(store, found)).toMatchObject({ messageCount: 0 });
});

test("the file is erased although forgetting secrets ends at a message that is gone", () => {
  const store = temporaryStore();
  const { messageId } = store.session("s").append({ role: "user", content: `It is ${KEY}.` });
  store.session("t").append({ role: "user", content: "more" });
  const found = (sessionId: string, messageId: number) => ({
    kind: "aws-access-key",
    masked: "",
    sessionId,
    messageId,
  });
  expect(() => forgetSecrets(store, [found("s", messageId), found("t", 999)])).toThrow("999");
  for (const path of [store.path, `${store.path}-wal`]) expect(readFileSync(path).includes(KEY)).toBe(false);
});
