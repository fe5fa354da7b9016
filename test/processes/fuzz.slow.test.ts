import { expect, test } from "vitest";
import { fuzz } from "../../scripts/bench/fuzz.ts";

/**
 * Goal: no input ends a process, hangs it, or throws an error that is not the library's own.
 * Method: `npm run bench -- fuzz` with few inputs: changed transcripts, odd arguments of every method, odd lines for the MCP
 * server, odd words for the command line.
 */
test("odd inputs get typed errors", async () => {
  const { inputs, failures } = await fuzz({ inputs: 300, seed: 7 });
  expect(inputs).toBe(300);
  expect(failures).toEqual([]);
}, 240_000);
