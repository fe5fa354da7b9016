import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { once } from "../../core/once.ts";

/** The terms of a new claim, in Unix milliseconds. The claim expires at `untilMs` unless it is renewed. */
export interface Lease {
  claimant: string;
  nowMs: number;
  untilMs: number;
}

const UNKNOWN = "?";
const ENDED = "ended";

/** A process that lives but is too slow to renew its claims keeps them for this long after they expire. */
const SLOW_MS_MAX = 10 * 60_000;

/**
 * Returns a name for an open store in its claims: a random id, and where known the process: its id, its start, and the
 * machine. Process ids are used again, so the start tells which process it is.
 */
export function newClaimant(): string {
  const machine = MACHINE().id;
  return machine === undefined ? randomUUID() : `${randomUUID()} ${process.pid} ${startOf(process.pid)} ${machine}`;
}

/**
 * Returns when to look at another store's claim again; undefined if the claim no longer holds. The claim of a dead process
 * does not hold, and an expired claim of a living one holds for `SLOW_MS_MAX`. If this process cannot tell whether the
 * other one lives, the claim holds until it expires.
 *
 * A claim that ends slightly after `lease` was made while this process waited to write. A claim that ends much later was
 * made before the clock was set back, and does not hold.
 */
export function heldUntilMs(
  claim: { claimant: string; claimedUntilMs: number },
  { nowMs, untilMs }: Lease,
): number | undefined {
  const { claimant, claimedUntilMs } = claim;
  if (claimedUntilMs - untilMs >= untilMs - nowMs) return undefined;
  const lives = processLives(claimant);
  if (lives === false) return undefined;
  if (nowMs < claimedUntilMs) return claimedUntilMs;
  return lives && nowMs < claimedUntilMs + SLOW_MS_MAX ? untilMs : undefined;
}

/** Returns undefined if the process is not on this machine, or is in another container. */
function processLives(claimant: string): boolean | undefined {
  const [, processId, start, ...machine] = claimant.split(" ");
  if (processId === undefined || machine.join(" ") !== MACHINE().id) return undefined;
  try {
    process.kill(Number(processId), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"; // EPERM means that it belongs to another user
  }
  return [start, UNKNOWN].includes(startOf(Number(processId)));
}

/** Returns the start of a process in ticks since the machine started. Only Linux tells. */
function startOf(processId: number): string {
  try {
    // "4711 (name) S 1 …": the 3rd field is the state, the 22nd the start. A name may contain parentheses and spaces.
    const stat = readFileSync(`/proc/${processId}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /[ZX]/.test(fields[0]!) ? ENDED : fields[19]!;
  } catch {
    return UNKNOWN;
  }
}

/** On Linux, names one start of the machine and one container. Process ids of different containers are not comparable. */
const MACHINE = once((): { id: string | undefined } => {
  if (process.platform !== "linux") return { id: hostname() };
  try {
    return {
      id: `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`,
    };
  } catch {
    return { id: undefined };
  }
});
