import { beforeAll, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { edits, fails, runs } from "../support/acts.ts";
import { CliFolder } from "../support/cli.ts";
import { assistant, user } from "../support/said.ts";

const folder = new CliFolder({ isHere: true });
const ERROR = "TypeError: lease.until is not a function";

beforeAll(async () => {
  const store = openStore(folder.db);
  const mended = [
    user("Mend the lease."),
    ...fails("npm test -- lease", `src/lease.ts:4:11: ${ERROR}`),
    ...edits("/srv/web/src/lease.ts", "The clock was passed in the wrong order.", ["until(clock)", "clock.until()"]),
    ...runs("npm test -- lease", "3 passed"),
    assistant("We decided that lease.ts takes the clock as its first argument."),
  ];
  for (const [day, id] of ["one", "two", "three"].entries()) {
    store
      .session(id, { project: "/srv/web", title: `Lease ${id}` })
      .append(mended.map((message, index) => ({ ...message, createdAt: Date.UTC(2026, 10, 1 + day, 8, index) })));
  }
  await store.upkeep();
  store.close();
});

test("file shows the sessions that changed it, the last first, and what a change replaced", async () => {
  const { stdout } = await folder.run(["file", "src/lease.ts", "--limit", "2"]);
  expect(stdout.split("\n").filter((line) => line.includes("session "))).toHaveLength(2);
  expect(stdout).toContain("Lease three");
  expect(stdout).toMatch(/changed {3}The clock was passed in the wrong order\.\tmessage:\d+/);
  expect(stdout).toMatch(/decided {3}We decided that lease\.ts takes the clock as its first argument\.\tmessage:\d+/);
  expect((await folder.run(["file", "lease.ts", "--restore"])).stdout).toBe("until(clock)\n");
  const none = await folder.run(["file", "queue.ts"]);
  expect([none.stdout, none.stderr]).toEqual([
    "",
    expect.stringContaining("No stored session has read or changed queue.ts."),
  ]);
  expect(await folder.refusal(1, "file", "queue.ts", "--restore")).toContain(
    "No stored change of queue.ts says what it replaced.",
  );
});

test("fix shows what made an error go, and nothing where nothing is known", async () => {
  const { stdout } = await folder.run(["fix", ERROR, "--limit", "1"]);
  expect(stdout).toContain(ERROR);
  expect((await folder.run(["fix", ...ERROR.split(" "), "--limit", "1"])).stdout).toBe(stdout);
  expect(stdout).toMatch(/did {7}edit \/srv\/web\/src\/lease\.ts: clock\.until\(\)\tmessage:\d+/);
  expect(stdout).toMatch(/worked {4}npm test -- lease\tmessage:\d+/);
  const none = await folder.run(["fix", "TypeError: nobody knows this error"]);
  expect([none.exitCode, none.stdout]).toEqual([0, ""]);
  const dashed = await folder.run(["fix", "--limit", "1", "--", "TypeError:", "-x"]);
  expect([dashed.exitCode, dashed.stdout]).toEqual([0, ""]);
});

test("how shows the ways of a command, also with options of its own", async () => {
  expect((await folder.run(["how", "npm", "test"])).stdout).toMatch(/worked {4}3 × {2}npm test -- lease\tmessage:\d+/);
  expect((await folder.run(["how", "npm test -- lease"])).stdout).toContain("npm test -- lease");
  expect((await folder.run(["how", "cargo"])).stderr).toContain("No stored session has run cargo.");
});

test("friction shows errors of three sessions with what made them go", async () => {
  expect(await folder.json("friction")).toMatchObject({
    errors: [{ error: ERROR, sessionCount: 3, fix: { error: ERROR } }],
  });
  const { stdout } = await folder.run(["friction"]);
  expect(stdout).toContain("3 times in 3 sessions");
  expect((await folder.run([])).stdout).toContain(`comes back    in 3 sessions: ${ERROR} · coppice fix`);
  expect((await folder.run(["friction", "--project", "gone"])).stderr).toContain("No session is of a project");
});
