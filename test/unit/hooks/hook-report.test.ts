import { expect, test } from "vitest";
import { HookLog } from "../../../src/hooks/hook-log.ts";
import { reportsOf } from "../../../src/hooks/hook-report.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

const MINUTE_MS = 60_000;

function logOf(id: string, storePath: string, importing = "/none/turn.jsonl"): HookLog {
  const log = new HookLog(storePath);
  const entry = { atMs: 0, agent: "codex", event: "turn-end", session: "s", key: id, id };
  log.add(entry);
  log.add({ ...entry, ms: 5, importing });
  return log;
}

test("an import that never ended counts as failed, but not while it may still run", () => {
  const path = temporaryPath();
  logOf("a", path);
  const importFailure = (minutes: number) => reportsOf(path, minutes * MINUTE_MS)[0]!.importFailure;
  expect(importFailure(9)).toBe(undefined);
  expect(importFailure(11)).toMatchObject({ path: "/none/turn.jsonl", reason: expect.stringContaining("killed") });
  logOf("b", path).addImport("b", 0, undefined);
  expect(importFailure(11)).toBe(undefined);
});

test("the last failure of an import outlives many later firings in the log", () => {
  const path = temporaryPath();
  logOf("a", path).addImport("a", 0, "The disk is full.");
  for (let index = 0; index < 2_000; index++) logOf(`later-${index}`, path);
  expect(reportsOf(path, 0)[0]).toMatchObject({ event: "turn-end", importFailure: { reason: "The disk is full." } });
});
