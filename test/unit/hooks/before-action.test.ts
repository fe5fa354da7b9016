import { expect, test } from "vitest";
import { firingOf } from "../../../src/hooks/firing.ts";
import type { MessageInput } from "../../../src/index.ts";
import { edits, fails, runs } from "../../support/acts.ts";
import { sayingOf, storeOf } from "../../support/hooks.ts";
import { assistant, user } from "../../support/said.ts";
import { openedStore } from "../../support/temporary-store.ts";

const DECIDED = "We decided that lease.ts takes the clock as its first argument.";
const FILE = "/none/web/src/lease.ts";
const EDITED = [user("Mend the lease."), ...edits(FILE, "The clock was wrong."), assistant(DECIDED)];

async function tendedStoreOf(messages: readonly MessageInput[]): Promise<string> {
  const path = storeOf({ before: messages });
  await openedStore(path).upkeep();
  return path;
}

function saidBefore(
  path: string,
  name: string,
  args: object,
  { sessionId = "now", cwd = "/none/web", warned = [] as readonly string[] } = {},
) {
  const input = { session_id: sessionId, cwd, tool_name: name, tool_input: args };
  return sayingOf(path, firingOf("claude-code", "before-action", input)!, { warned });
}

test("before a file is changed, the newest decision of another session about it is quoted, once", async () => {
  const path = await tendedStoreOf(EDITED);
  const said = saidBefore(path, "Edit", { file_path: FILE, old_string: "a", new_string: "b" });
  expect(said?.text).toContain(DECIDED);
  expect(said?.messageIds).toHaveLength(1);
  expect(saidBefore(path, "Edit", { file_path: FILE }, { warned: [said!.about!] })).toBe(undefined);
  for (const [name, args, from] of [
    ["Edit", { file_path: FILE }, { sessionId: "before" }],
    ["Edit", { file_path: FILE }, { cwd: "/none/other" }],
    ["Edit", { file_path: "/none/web/src/queue.ts" }, {}],
    ["Edit", { file_path: "/none/web/lib/lease.ts" }, {}],
    ["Edit", { file_path: "lease.ts" }, {}],
    ["Edit", { file_path: "/none/web/packages/src/lease.ts" }, {}],
    ["Read", { file_path: FILE }, {}],
    ["Bash", { command: "cat src/lease.ts" }, {}],
    ["TodoWrite", { todos: [] }, {}],
  ] as const)
    expect(saidBefore(path, name, args, from), JSON.stringify([name, args, from])).toBe(undefined);
});

test("before a file is changed, a decision that a person has rejected is quoted with the reason", async () => {
  const path = await tendedStoreOf(EDITED);
  const store = openedStore(path);
  store.remember("The clock is a global now.", { rejects: store.resume("before").messages({ last: 1 })[0]!.id });
  const said = saidBefore(path, "Edit", { file_path: FILE });
  expect(said?.text).toContain(`${DECIDED} [rejected: The clock is a global now.`);
});

test("before a command runs that was called in a wrong way and never worked, the error and what worked are said", async () => {
  const path = await tendedStoreOf([
    ...fails("mise test --fast", "error: unknown option '--fast'"),
    ...runs("mise test --quick", "3 passed"),
    ...fails("npm test", "AssertionError: expected 3 to be 4"),
    ...fails("pnpm ci && make check", "bash: pnpm: command not found"),
    ...fails("make all", "make: command not found"),
    ...runs("make all", "made"),
  ]);
  const said = saidBefore(path, "Bash", { command: "cd web && mise test --fast" });
  expect(said?.text).toMatch(
    /<failed [^>]*by="tool">unknown option --fast<\/failed>\n<worked [^>]*by="assistant">mise test --quick</,
  );
  for (const command of ["mise test", "npm test", "make all", "make check", "pnpm ci", "mise test --quick", ""])
    expect(saidBefore(path, "Bash", { command }), command).toBe(undefined);
});
