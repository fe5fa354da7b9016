import { expect, test } from "vitest";
import { ownCallsFolder } from "../../../src/core/data-folder.ts";
import { firingOf, type HookEvent } from "../../../src/hooks/firing.ts";
import { isOffAt } from "../../../src/hooks/hook-switch.ts";
import type { MessageInput } from "../../../src/index.ts";
import { sayingOf, storeOf } from "../../support/hooks.ts";
import { inDatabase, inSealed } from "../../support/rows.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const PROMPT = "Which region does the parcel service run in?";
const ASKED = user("Which region should the parcel service run in?");
const DECIDED = assistant("We decided on eu-north-1 for the parcel service.");

/** What importers store with a session. */
function describeSession(path: string, id: string, metadata: object, parent: string | null = null): void {
  const sql = "UPDATE sessions SET checksum = -1, metadata = ?, parent_session_id = ? WHERE id = ?";
  inSealed(path, (database) => database.prepare(sql).run(JSON.stringify(metadata), parent, id));
}

function saidAt(path: string, event: HookEvent, input: Readonly<Record<string, string>>): string {
  const firing = firingOf("claude-code", event, { cwd: "/none/web", ...input })!;
  return sayingOf(path, firing)?.text ?? "";
}

const saidAfterCompaction = (path: string) => saidAt(path, "after-compaction", { session_id: "own" });

test("only what was said in the project's folder is told, and what the user has merged into it", () => {
  const path = storeOf({ bergen: [ASKED, DECIDED] });
  const told = (cwd: string) => [
    saidAt(path, "session-start", { cwd }).includes("eu-north-1"),
    saidAt(path, "prompt", { cwd, prompt: PROMPT }).includes("eu-north-1"),
  ];
  expect(told("/none/web")).toEqual([true, true]);
  expect(told("/none/web/.claude/worktrees/fox")).toEqual([true, true]);
  for (const cwd of ["/other/web", "/none", "/none/webs", "web"]) expect(told(cwd), cwd).toEqual([false, false]);
  const store = openedStore(path);
  store.renameProject("/none/web", "/now/web", { merge: true });
  store.close();
  for (const cwd of ["/none/web", "/now/web"]) expect(told(cwd), cwd).toEqual([true, true]);
  expect(told("/other/web")).toEqual([false, false]);
});

test("nothing is told if the notes on merged projects are damaged", () => {
  const path = storeOf({ bergen: [ASKED, DECIDED] });
  const store = openedStore(path);
  store.renameProject("/gone/web", "/none/web", { merge: true });
  store.close();
  const sql = "UPDATE store_settings SET value = replace(value, '/gone/web', '/evil/web') WHERE name = 'projects'";
  inDatabase(path, (database) => database.exec(sql));
  expect(() => saidAt(path, "session-start", { cwd: "/evil/web" })).toThrow("The notes on projects are damaged.");
});

test("the answer to an old question is told in its place, although a hook has said something between them", () => {
  const injected: MessageInput = { role: "user", parts: [{ type: "text", text: "A record.", injected: true }] };
  const reply = assistant("eu-north-1.");
  const said = saidAt(storeOf({ bergen: [ASKED, injected, reply] }), "prompt", { prompt: PROMPT });
  expect(said).toMatch(/<said id="\d+" by="assistant">eu-north-1\.</);
  expect(said).not.toContain('by="user"');
});

test("a compaction brings back what the session said, not what its subagents said", () => {
  const path = storeOf({ own: [ASKED, DECIDED], helper: [user("Read the labels of the printer, please.")] });
  describeSession(path, "helper", { isSubagent: true }, "own");
  const said = saidAt(path, "session-start", { source: "compact", session_id: "own" });
  expect(said).toContain("eu-north-1");
  expect(said).not.toContain("printer");
});

test("after a compaction, the hook tells what the summary lacks, once the store has it, and until the agent goes on", () => {
  const told = user("Label each parcel with the code of its depot.");
  const metadata = { isCompactSummary: true };
  const summary = user("Each parcel gets a label with the code of its depot.", { metadata });
  const said = (...messages: MessageInput[]) => saidAfterCompaction(storeOf({ own: messages }));
  const early = said(ASKED, told);
  expect(early).toContain("parcel service run in?");
  expect(early).toContain("code of its depot");
  const late = said(ASKED, told, summary);
  expect(late).toContain("parcel service run in?");
  expect(late).not.toContain("code of its depot");
  expect([early, late].map((text) => text.includes("more="))).toEqual([false, true]);
  const before = saidAt(storeOf({ own: [ASKED, told, summary] }), "before-compaction", { session_id: "own" });
  expect(before).not.toContain("gets a label");
  // A later compaction whose summary is not stored yet.
  const next = said(ASKED, told, summary, assistant("The labels are printed in the depot of Bergen."));
  expect(next).toContain("labels are printed in the depot");
  expect(next).not.toContain("gets a label");
});

test("lines of one message share an element", () => {
  const content = ["const depot = codeOf(parcel);", "const label = printed(depot);", "if (a < b) return;"].join("\n");
  const args = { file_path: "src/labels.ts", content };
  const call = { type: "tool_call", toolCallId: "c", name: "Write", args } as const;
  const said = saidAfterCompaction(storeOf({ own: [ASKED, { role: "assistant", parts: [call] }] }));
  expect(said).toContain(
    '<line id="2" by="assistant">const depot = codeOf(parcel);\nconst label = printed(depot);</line>',
  );
});

test("a quotation has the asterisks that were typed", () => {
  const typed = "The parcel service of the region hashes 2**8 labels in src/**/labels.ts.";
  const path = storeOf({ bergen: [user("Print them."), assistant(typed)] });
  expect(saidAt(path, "prompt", { prompt: PROMPT })).toContain(`>${typed}<`);
});

test("a long line is cut", () => {
  const question = `Should we ${"really ".repeat(200)}move the parcel service?`;
  const said = saidAt(storeOf({ bergen: [ASKED, assistant(question)] }), "session-start", {});
  expect(said).toContain("<question ");
  expect(Math.max(...said.split("\n").map(({ length }) => length))).toBeLessThan(600);
});

test("a damaged message does not hide the others", () => {
  const path = storeOf({ bergen: [ASKED, DECIDED, user("Thank you for the parcel service.")] });
  const sql = 'UPDATE messages SET parts = \'[{"type":"text",\', checksum = -1 WHERE seq = 2';
  inSealed(path, (database) => database.prepare(sql).run());
  expect(saidAt(path, "session-start", {})).toContain("eu-north-1");
});

test.each<[what: string, sql: string, told?: RegExp]>([
  ["the text of a message", "UPDATE messages SET parts = replace(parts, 'north', 'south') WHERE seq = 1"],
  ["the role of a message", "UPDATE messages SET role = 'user' WHERE seq = 1"],
  ["the time of a message", "UPDATE messages SET created_at_ms = created_at_ms + 1 WHERE seq = 1"],
  ["the title of a session", "UPDATE sessions SET title = 'eu-south-1'", /eu-south-1/],
])("what is damaged is not told: %s", (_, sql, told = /eu-(north|south)-1/) => {
  const path = storeOf({ bergen: [ASKED, DECIDED] });
  expect(saidAt(path, "session-start", {})).toContain("eu-north-1");
  inDatabase(path, (database) => database.exec(sql));
  expect(saidAt(path, "session-start", {})).not.toMatch(told);
  // The log says why the hook is silent.
  if (sql.includes("sessions")) expect(saidAt(path, "prompt", { prompt: PROMPT })).not.toMatch(told);
  else expect(() => saidAt(path, "prompt", { prompt: PROMPT })).toThrow(/row 2 of messages is damaged/);
});

test("hooks are off in every folder inside the one that was named", () => {
  const off = { isOff: false, projectsOff: ["/none/web"] };
  for (const folder of ["", "/src", "/..cache"]) expect(isOffAt(off, `/none/web${folder}`)).toBe(true);
  for (const folder of ["/none", "/none/web2", "/other"]) expect(isOffAt(off, folder)).toBe(false);
  expect(isOffAt(off, ownCallsFolder())).toBe(true);
});

test("a hook in a fork quotes what the fork shares, and nothing that was said later in the session that it forked", () => {
  const path = temporaryPath();
  const store = openedStore(path);
  const session = store.session("parcels", { project: "/none/web" });
  session.append([ASKED, DECIDED, user("Write the release notes."), assistant("We decided on Fridays for releases.")]);
  session.fork({ toSeq: 1, id: "retry" }).fork({ id: "again" });
  store.close();
  for (const session_id of ["retry", "again"]) {
    const quoted = saidAt(path, "before-compaction", { session_id });
    const [section] = quoted.split("</session>");
    expect(section).toContain("eu-north-1");
    expect(section).not.toContain("Fridays");
  }
  // The prompt's own past is in the agent's context already.
  expect(saidAt(path, "prompt", { session_id: "again", prompt: PROMPT })).toBe("");
});

test("what people asked to remember is told first, also before any session, and a verdict wherever its message is told", () => {
  const fresh = temporaryPath();
  const store = openedStore(fresh);
  store.remember("We deploy on Tuesdays.", { project: "/none/web", by: "Ada" });
  expect(saidAt(fresh, "session-start", {})).toContain("user: We deploy on Tuesdays. (Ada)\n</remembered>");
  expect(saidAt(fresh, "session-start", { cwd: "/none/shop" })).toBe("");

  const path = storeOf({ bergen: [ASKED, DECIDED] });
  const told = openedStore(path);
  const decided = told.resume("bergen").messages()[1]!;
  told.remember("It costs twice as much.", { rejects: decided.id });
  store.remember("Long words. ".repeat(400), { project: "/none/web" });
  expect(saidAt(fresh, "session-start", {})).toContain("We deploy on Tuesdays. (Ada)");
  const atStart = saidAt(path, "session-start", {});
  expect(atStart.indexOf("<remembered>")).toBeLessThan(atStart.indexOf("<session"));
  expect(atStart).toMatch(/rejected “We decided on eu-north-1 for the parcel service\.”: It costs twice as much\./);
  for (const said of [atStart, saidAt(path, "prompt", { prompt: PROMPT })])
    expect(said).toMatch(/parcel service\. \[rejected: It costs twice as much\. \(message:\d+\)\]/);
});
