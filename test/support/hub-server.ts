import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of the superuser of the server that the tests of the hub share. */
    hubServer: string;
  }
}

/** Starts one server for all tests of the hub, unless COPPICE_TEST_HUB names one. Returns the function that removes it. */
export async function setup({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const named = process.env.COPPICE_TEST_HUB;
  if (named) {
    provide("hubServer", named);
    return undefined;
  }
  const server = await startPostgres({ isDurable: false });
  provide("hubServer", server.url);
  return server.remove;
}
