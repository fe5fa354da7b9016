import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RequestQueue } from "../../../src/models/request-queue.ts";

const { signal: neverAborted } = new AbortController();
const one = { signal: neverAborted };

/** Requests by name, and which of them were sent. */
function sender(): { sent: string[]; send: (name: string) => () => Promise<string> } {
  const sent: string[] = [];
  const send = (name: string) => async () => {
    sent.push(name);
    return name;
  };
  return { sent, send };
}

const hang = () => new Promise<never>(() => {});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("requests at once", () => {
  test("are as many as allowed, the others follow in their order", async () => {
    const turns = new RequestQueue({ concurrency: 3, requestsPerMinute: undefined });
    let underWay = 0;
    let most = 0;
    const order: number[] = [];
    const requests = Array.from({ length: 10 }, (_, index) =>
      turns.send(one, async () => {
        order.push(index);
        most = Math.max(most, ++underWay);
        await vi.advanceTimersByTimeAsync(10);
        underWay--;
      }),
    );
    await Promise.all(requests);
    expect(most).toBe(3);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("let one go first for which somebody waits", async () => {
    const turns = new RequestQueue({ concurrency: 1, requestsPerMinute: undefined });
    const { sent, send } = sender();
    const requests = ["a", "b", "c"].map((name) => turns.send(one, send(name)));
    await Promise.all([...requests, turns.send({ ...one, isUrgent: true }, send("urgent"))]);
    expect(sent).toEqual(["a", "urgent", "b", "c"]);
  });

  test("make room where one fails", async () => {
    const turns = new RequestQueue({ concurrency: 1, requestsPerMinute: undefined });
    const { send } = sender();
    const failing = turns.send(one, () => Promise.reject(new Error("no")));
    const next = turns.send(one, send("next"));
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe("next");
  });
});

describe("requests a minute", () => {
  test("are as many as allowed in any 60 seconds", async () => {
    const turns = new RequestQueue({ concurrency: 100, requestsPerMinute: 3 });
    const { sent, send } = sender();
    const take = (name: string) => void turns.send(one, send(name));
    take("a");
    await vi.advanceTimersByTimeAsync(40_000);
    for (const name of ["b", "c", "d", "e"]) take(name);
    await vi.advanceTimersByTimeAsync(19_000);
    expect(sent).toEqual(["a", "b", "c"]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(sent).toEqual(["a", "b", "c", "d"]);
    await vi.advanceTimersByTimeAsync(38_000);
    expect(sent).toEqual(["a", "b", "c", "d"]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(sent).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("count a request as often as the service does", async () => {
    const turns = new RequestQueue({ concurrency: 100, requestsPerMinute: 10 });
    const { sent, send } = sender();
    for (const name of ["a", "b", "c"]) void turns.send({ ...one, count: 4 }, send(name));
    await vi.advanceTimersByTimeAsync(59_000);
    expect(sent).toEqual(["a", "b"]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(sent).toEqual(["a", "b", "c"]);
  });
});

describe("an abort", () => {
  const aborted = async (turns: RequestQueue, count = 1): Promise<unknown> => {
    const controller = new AbortController();
    const { sent, send } = sender();
    const waiting = turns.send({ signal: controller.signal, count }, send("never"));
    const reason = new Error("enough");
    queueMicrotask(() => controller.abort(reason));
    await expect(waiting).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(120_000);
    return sent;
  };

  test("ends the wait for a place, and nothing is sent later", async () => {
    const turns = new RequestQueue({ concurrency: 1, requestsPerMinute: undefined });
    let end = () => {};
    const first = turns.send(one, () => new Promise<void>((resolve) => (end = resolve)));
    expect(await aborted(turns)).toEqual([]);
    end();
    await first;
    expect(await turns.send(one, async () => "next")).toBe("next");
  });

  test("ends the wait for the next minute, and gives the place to others", async () => {
    const turns = new RequestQueue({ concurrency: 1, requestsPerMinute: 2 });
    await turns.send({ ...one, count: 2 }, async () => {});
    expect(await aborted(turns, 2)).toEqual([]);
    expect(await turns.send(one, async () => "next")).toBe("next");
  });

  test("ends a request that does not listen", async () => {
    const turns = new RequestQueue({ concurrency: 1, requestsPerMinute: undefined });
    const controller = new AbortController();
    const running = turns.send({ signal: controller.signal }, hang);
    controller.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    expect(await turns.send(one, async () => "next")).toBe("next");
  });
});

test("a hundred calls share a signal without a warning of a leak", async () => {
  vi.useRealTimers();
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  const turns = new RequestQueue({ concurrency: 50, requestsPerMinute: 1_000 });
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 100 }, () => turns.send({ signal, count: 3 }, () => sleep(1))));
  await sleep(10);
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
