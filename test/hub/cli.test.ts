import { writeFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../src/cli/commands.ts";
import { Terminal } from "../../src/cli/screen/terminal.ts";
import { BackgroundHub } from "../../src/cli/stores/background-hub.ts";
import { addRemote, follow } from "../../src/hub/remote.ts";
import { FakeStream } from "../support/fake-terminal.ts";
import { emptyDatabase, openedHub, readyDatabase, run, test } from "../support/hub.ts";
import { openedStore, temporaryPath, temporaryStore } from "../support/temporary-store.ts";

async function ran(path: string, ...args: string[]): Promise<{ status: number; out: string; text: string }> {
  const [stdout, stderr] = [new FakeStream(), new FakeStream()];
  const terminal = new Terminal(stdout, stderr, {});
  const own = { groups: COMMAND_GROUPS, version: "1.2.3", terminal };
  const status = await runCommandLine([...args, "--db", path], own);
  return { status, out: stdout.text, text: stdout.text + stderr.text };
}

test("an administrator sets the hub up, and a colleague names it and pushes", async () => {
  const url = await emptyDatabase();
  const path = temporaryPath();
  const store = openedStore(path);
  store.session("one", { project: "web" }).append({ role: "user", content: "shared" });
  store.session("two", { project: "diary" }).append({ role: "user", content: "private" });
  const words = (...args: string[]) => ran(path, ...args, "--json");
  const value = async (...args: string[]): Promise<unknown> => {
    const { status, text } = await words(...args);
    expect(status, text).toBe(0);
    return JSON.parse(text);
  };

  expect(await words("hub", "push")).toMatchObject({ status: 1, text: expect.stringContaining("coppice hub add") });
  const made = ["hub", "init", "--team", "test", "--url", url];
  expect(await value(...made)).toEqual({ tables: true, words: false });
  const { username } = new URL(url);
  expect(await value("hub", "grant", username, "--team", "test", "--url", url)).toEqual({ ok: true });
  const secret = new URL(url);
  secret.password = "a-secret-word";
  for (const href of [secret.href, `${url}?password=a-secret-word`]) {
    const refused = await words("hub", "add", href, "--project", "web");
    expect(refused.status).toBe(2);
    expect(refused.text).not.toContain("a-secret-word");
  }

  const remote = { url, projects: ["web"], team: null };
  expect(await value("hub", "add", url, "--project", "web")).toEqual({ ...remote, problem: null });
  expect(await value("hub")).toEqual({ ...remote, follows: [], forgotten: [] });
  expect(await value("hub", "add", url, "--team", "test")).toMatchObject({ ...remote, team: "test" });
  expect(await value("hub", "add", url, "--project", "web")).toMatchObject({ ...remote, team: "test" });
  expect(await value("hub", "push", "--dry-run")).toEqual({ sessions: ["one"] });
  expect(await run(url, "SELECT 1 FROM coppice_test.sessions")).toEqual([]);
  expect(await value("hub", "push")).toMatchObject({ sessionCount: 1, messageCount: 1, diverged: [] });
  expect(await run(url, "SELECT session_id FROM coppice_test.sessions")).toEqual([{ session_id: "one" }]);

  const transcript = temporaryPath();
  writeFileSync(transcript, '{"session":"three","role":"user","content":"written by an agent"}\n');
  const watched = await words("watch", transcript, "--once", "--push", "--project", "web");
  expect(watched, watched.text).toMatchObject({ status: 0, text: expect.stringContaining('"event":"pushed"') });
  expect(await run(url, "SELECT count(*)::int AS n FROM coppice_test.sessions")).toEqual([{ n: 2 }]);

  expect(await words("recall", "shared", "--everywhere")).toMatchObject({
    status: 1,
    text: expect.stringContaining("--words"),
  });
  expect(await value(...made, "--words")).toEqual({ tables: false, words: true });
  expect(await value("recall", "shared", "--everywhere")).toMatchObject([
    { sessionId: "one", text: "shared", by: username },
  ]);
  expect(await value("recall", "private", "--everywhere")).toEqual([]);

  const other = temporaryPath();
  const there = (...args: string[]) => ran(other, ...args);
  expect((await there("hub", "add", url)).status).toBe(0);
  expect((await there("hub", "follow")).status).toBe(2);
  expect((await there("hub", "follow", "web")).out).toBe("Following web.\nGot 2 messages of 2 sessions.\n");
  expect((await there("hub", "sync")).out).toBe("Nothing is new on the hub.\n");
  expect((await there("recall", "shared")).out).toContain("shared");
  expect((await there("hub")).out).toContain("follows\tweb\n");
  expect((await there("hub", "unfollow", "web")).out).toBe("Erased 2 copies.\n");

  expect(await value("hub", "pull", "one", "--take")).toMatchObject({
    sessionId: "one",
    outcome: "known",
    isHolder: true,
    forkId: null,
  });
  expect(await value("hub", "pull")).toMatchObject([{ sessionId: "three" }, { sessionId: "one" }]);
  const { text } = await words("hub", "pull", "--limit", "1");
  expect(text).toContain("There are more sessions: add --offset 1,");
  expect(text).not.toContain('"one"');
  expect(await value("hub", "pull", "--offset", "1")).toMatchObject([{ sessionId: "one" }]);
  expect((await words("hub", "pull", "--take")).status).toBe(2);
  expect(await value("hub", "pull", "on")).toMatchObject({ sessionId: "one" });
  expect((await words("hub", "pull", "none")).status).toBe(1);
  expect(await value("hub", "remove")).toBeNull();
  expect((await words("hub", "push")).status).toBe(1);
});

test("naming a hub says at once what a push would meet, and names it all the same", async () => {
  const path = temporaryPath();
  const saidOf = async (url: string, ...more: string[]): Promise<string> => {
    const { status, out, text } = await ran(path, "hub", "add", url, ...more);
    expect(status).toBe(0);
    expect(out).toContain(url);
    return text.slice(out.length);
  };
  const [empty, ready] = [await emptyDatabase(), await readyDatabase()];
  const missing = new URL("/none", empty);
  expect(await saidOf(missing.href)).toContain('database "none" does not exist');
  expect(await saidOf(empty)).toContain("coppice hub init");
  expect(await saidOf("postgres://127.0.0.1:1/none")).toMatch(/does not answer: ECONNREFUSED\.$/m); // it has no word of a push
  expect(await saidOf(ready, "--team", "other")).toContain('you are not in the team "other"');
  expect(await saidOf(ready, "--team", "test")).toBe("");
});

test("who is offline hears within seconds that the hub does not answer", async () => {
  const path = temporaryPath();
  addRemote(openedStore(path), { url: "postgres://127.0.0.1:1/none", projects: ["web"], team: null });
  const from = performance.now();
  const { status, text } = await ran(path, "hub", "sync");
  expect(text).toMatch(/does not answer: ECONNREFUSED/);
  expect(status).toBe(1);
  expect(performance.now() - from).toBeLessThan(4_000); // the tries of a lost connection last for ten to twenty
});

test("what an agent goes on with after another store took its session goes to the hub as a session of its own", async () => {
  const url = await readyDatabase();
  const [path, transcript] = [temporaryPath(), temporaryPath()];
  const store = openedStore(path);
  addRemote(store, { url, projects: ["web"], team: null });
  const said: string[] = [];
  const watched = async (...texts: string[]): Promise<string> => {
    said.push(...texts);
    const lines = said.map((content, index) =>
      JSON.stringify({ session: "s", id: `m${index}`, role: "user", content }),
    );
    if (texts.length > 0) writeFileSync(transcript, `${lines.join("\n")}\n`);
    const { status, out, text } = await ran(path, "watch", transcript, "--once", "--push", "--project", "web");
    expect(status, text).toBe(0);
    return text.slice(out.length);
  };
  await watched("one", "two");
  const hub = await openedHub(url);
  const away = temporaryStore();
  await hub.pull(away, "s", { take: true });
  away.resume("s").append({ role: "user", content: "said away" });
  await hub.push(away, { sessions: ["s"] });
  const words = await watched("three", "four");
  expect(words).toContain("s had gone on here and elsewhere. What is here went to the hub as a session of its own.\n");
  expect(await watched("five")).not.toContain("elsewhere");
  const counts = (await hub.sessions()).map(({ sessionId, messageCount }) => [sessionId, messageCount]);
  expect(counts.sort()).toEqual([
    ["s", 3],
    ["s", 5],
  ]);
  expect(
    store
      .resume("s")
      .messages()
      .map(({ text }) => text),
  ).toEqual(said);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a watch pushes what changes of its projects, and nothing else", async () => {
  const url = await readyDatabase();
  const store = openedStore(temporaryPath());
  const session = store.session("one", { project: "web" });
  session.append({ role: "user", content: "before the watch" });
  const diary = store.session("two", { project: "diary" });
  const failures: unknown[] = [];
  const sent: number[] = [];
  addRemote(store, { url, projects: ["web"], team: null });
  const pushing = new BackgroundHub(
    store,
    { push: true },
    {
      onPushed: ({ messageCount }) => void sent.push(messageCount),
      onSynced: () => expect.unreachable("nothing is followed"),
      onFailed: (error) => void failures.push(error),
    },
  );
  onTestFinished(() => pushing.stop());
  const messagesOf = () => run(url, "SELECT session_id, message_count::int FROM coppice_test.sessions");
  pushing.changed([]);
  await expect.poll(messagesOf, { timeout: 60_000 }).toEqual([{ session_id: "one", message_count: 1 }]);
  session.append({ role: "assistant", content: "during the watch" });
  diary.append({ role: "user", content: "private" });
  pushing.changed(["one", "two", "none"]);
  await expect.poll(messagesOf, { timeout: 60_000 }).toEqual([{ session_id: "one", message_count: 2 }]);
  session.append({ role: "user", content: "at the end" });
  pushing.changed(["one"]);
  await pushing.finish();
  expect(await messagesOf()).toEqual([{ session_id: "one", message_count: 3 }]);
  expect([failures, sent]).toEqual([[], [1, 1, 1]]);
});

test("a watch brings what the store follows, and pushes nothing unless it was told to", async () => {
  const url = await readyDatabase();
  const [hub, home, away] = [await openedHub(url), temporaryStore(), openedStore(temporaryPath())];
  home.session("theirs", { project: "web" }).append({ role: "user", content: "the lamp is green" });
  await hub.push(home, { projects: ["web"] });
  addRemote(away, { url, projects: ["web"], team: null });
  away.session("mine", { project: "web" }).append({ role: "user", content: "not to be pushed" });
  const failures: unknown[] = [];
  const got: number[] = [];
  const watching = () =>
    new BackgroundHub(
      away,
      { push: false },
      {
        onPushed: () => expect.unreachable("it was not told to push"),
        onSynced: ({ messageCount }) => void got.push(messageCount),
        onFailed: (error) => void failures.push(error),
      },
    );
  const beforeFollowing = watching();
  beforeFollowing.changed(["mine"]);
  await beforeFollowing.finish();
  expect([got, failures]).toEqual([[], []]);

  follow(away, "web");
  const following = watching();
  onTestFinished(() => following.stop());
  following.changed(["mine"]);
  await expect
    .poll(
      () =>
        away
          .sessions()
          .map(({ id }) => id)
          .sort(),
      { timeout: 60_000 },
    )
    .toEqual(["mine", "theirs"]);
  home.resume("theirs").append({ role: "user", content: "and the fan is off" });
  await hub.push(home, { projects: ["web"] });
  await following.finish();
  expect(
    away
      .resume("theirs")
      .messages()
      .map(({ text }) => text),
  ).toEqual(["the lamp is green", "and the fan is off"]);
  expect([got, failures]).toEqual([[1, 1], []]);
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toEqual(["theirs"]);
});

test("secrets that were forgotten in a pulled copy stay on the hub, and the command says who can forget them", async () => {
  const url = await readyDatabase();
  const [hub, home, path] = [await openedHub(url), temporaryStore(), temporaryPath()];
  const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
  home.session("s", { project: "web" }).append({ role: "user", content: `the token is ${secret}` });
  await hub.push(home, { projects: ["web"] });
  await hub.pull(openedStore(path), "s");
  const { status, out } = await ran(path, "forget", "--secrets", "--yes");
  expect(status).toBe(0);
  expect(out).toContain("Whoever began it can forget them for everyone.");
  await hub.push(openedStore(path), { projects: ["web"] });
  expect(await hub.sessions()).toMatchObject([{ messageCount: 1 }]);
  home.forget("s");
  await hub.push(home, { projects: ["web"] });
  expect(await hub.sessions()).toEqual([]);
});
