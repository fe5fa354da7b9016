import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { heldUntilMs, newClaimant } from "../../../src/store/derived/claimant.ts";

const NOW_MS = 1_700_000_000_000;
const LEASE = { claimant: newClaimant(), nowMs: NOW_MS, untilMs: NOW_MS + 45_000 };
const SLOW_MS_MAX = 600_000;
const OWN = newClaimant();

/** The claimant of this process, as another process would have been called. */
const asProcess = (processId: number | undefined): string => OWN.replace(` ${process.pid} `, ` ${processId} `);

function held(claimant: string, untilMs: number): number | undefined {
  return heldUntilMs({ claimant, claimedUntilMs: NOW_MS + untilMs }, LEASE);
}

describe("a claim of", () => {
  test("a process that lives holds until it expires, and ten minutes more", () => {
    expect(held(OWN, 10_000)).toBe(NOW_MS + 10_000);
    expect(held(OWN, 0)).toBe(LEASE.untilMs);
    expect(held(OWN, 1 - SLOW_MS_MAX)).toBe(LEASE.untilMs);
    expect(held(OWN, -SLOW_MS_MAX)).toBeUndefined();
  });

  test("a process that has ended does not hold", () => {
    expect(held(asProcess(spawnSync(process.execPath, ["--version"]).pid), 10_000)).toBeUndefined();
  });

  test.runIf(process.platform === "linux")(
    "a killed process that its parent has not noticed does not hold",
    async () => {
      const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void parent.kill("SIGKILL"));
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      // The shell is a `sleep` by then, which does not notice.
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      process.kill(Number(line), "SIGKILL");
      await expect.poll(() => held(asProcess(Number(line)), 10_000), { timeout: 10_000 }).toBeUndefined();
      expect(process.kill(Number(line), 0)).toBe(true);
    },
  );

  test.runIf(process.platform === "linux")("a process whose id was given to another one does not hold", () => {
    const [id, processId, start, ...machine] = OWN.split(" ");
    expect(held([id, processId, Number(start) - 1, ...machine].join(" "), 10_000)).toBeUndefined();
    expect(held([id, processId, start, ...machine].join(" "), 10_000)).toBe(NOW_MS + 10_000);
  });

  test.each([
    ["another machine", `${asProcess(4_194_305)}0`],
    ["an older version, which named no process", "0199a2f4-5d1c-7c3e-9d43-2b1f6a0c8e77"],
  ])("%s holds until it expires", (_, claimant) => {
    expect(held(claimant, 10_000)).toBe(NOW_MS + 10_000);
    expect(held(claimant, 0)).toBeUndefined();
  });

  test("a time to come does not hold: the clock was set back", () => {
    expect(held(OWN, 86_400_000)).toBeUndefined();
  });
});
