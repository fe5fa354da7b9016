import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { user } from "../../support/said.ts";
import { ServedView } from "../../support/served-view.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

test("a thousand slow connections of a stranger keep the page waiting for less than twenty seconds", {
  timeout: 120_000,
}, async () => {
  const store = temporaryStore();
  store.session("s").append(user("Only to be read."));
  const view = await ServedView.entered(store);
  const sockets = Array.from({ length: 1_000 }, () => {
    const socket = connect(view.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: "));
    socket.on("error", () => {});
    return socket;
  });
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write("x");
  }, 500);
  onTestFinished(() => {
    clearInterval(drip);
    for (const socket of sockets) socket.destroy();
  });
  await sleep(300);
  const memory = process.memoryUsage().rss;
  await expect
    .poll(() => view.ask("/api/about").catch(String), { timeout: 20_000, interval: 200 })
    .toMatchObject({ status: 200 });
  expect(process.memoryUsage().rss - memory).toBeLessThan(100_000_000);
});
