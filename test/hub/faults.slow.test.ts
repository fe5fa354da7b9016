import { expect } from "vitest";
import { hubFaults } from "../../scripts/hub/faults.ts";
import { test } from "../support/hub.ts";

test("nothing that was pushed is lost, doubled or altered when connections, pushers and the server end", {
  timeout: 300_000,
}, async () => {
  const { lost, doubled, altered, messages, backends, crashes, pushers } = await hubFaults({
    backends: 8,
    crashes: 3,
    pushers: 6,
  });
  expect({ lost, doubled, altered }).toEqual({ lost: 0, doubled: 0, altered: 0 });
  expect(messages).toBeGreaterThan(100);
  expect([backends, crashes, pushers]).toEqual([8, 3, 6]);
});
