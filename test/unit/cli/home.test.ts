import { expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { COMMAND_GROUPS } from "../../../src/cli/commands.ts";
import { Terminal } from "../../../src/cli/screen/terminal.ts";
import { openStore } from "../../../src/index.ts";
import { FakeStream } from "../../support/fake-terminal.ts";
import { assistant, user } from "../../support/said.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

test("after a busy day, `coppice` alone still shows what its newest sessions left open", async () => {
  const db = temporaryPath();
  const store = openStore(db);
  const dayMs = Date.parse("2026-11-02T08:00:00Z");
  for (let number = 0; number < 30; number++) {
    const at = (minute: number) => ({ createdAt: dayMs + (number * 30 + minute) * 60_000 });
    store.session(`session-${number}`, { project: `/srv/part-${number}`, title: `Part ${number}` }).append([
      { ...user(`Varnish part ${number} of the harp.`), ...at(0) },
      { ...assistant(`Part ${number} is varnished. Which resin should its back have, amber or ${number}?`), ...at(1) },
    ]);
  }
  store.close();
  const stdout = new FakeStream({ isTTY: true, columns: 120 });
  const terminal = new Terminal(stdout, new FakeStream(), { NO_COLOR: "1" });
  await runCommandLine(["--db", db], { groups: COMMAND_GROUPS, version: "1", terminal });
  const open = stdout.text.split("\n").filter((line) => line.includes("left open"));
  expect(open).toHaveLength(3);
  expect(open[0]).toContain("Which resin should its back have, amber or 29?");
  expect(stdout.text).toMatch(/\n {2}last .* Part 29\n/);
});
