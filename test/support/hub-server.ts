import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { findPostgres, startPostgres } from "./postgres.ts";

export interface HubServer {
  /** Of the superuser. */
  url: string;
  /** The name of a database with the tables of the hub, which tests copy. */
  template: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The server that the tests of the hub share. They are skipped without one. */
    hubServer: HubServer | undefined;
  }
}

/**
 * Starts one server for all tests of the hub, unless COPPICE_TEST_HUB names one. Returns the function that removes it.
 *
 * @throws {Error} if no server runs here and COPPICE_HUB_MUST is set.
 */
export async function setup({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { COPPICE_TEST_HUB: named, COPPICE_HUB_MUST: must } = process.env;
  try {
    if (!named) findPostgres();
  } catch (error) {
    if (must) throw error;
    console.warn(`The tests of the hub are left out. ${(error as Error).message}`);
    return undefined;
  }
  const server = named ? undefined : await startPostgres({ isDurable: false });
  const url = named || server!.url;
  const template = `coppice_template_${process.pid}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE DATABASE ${template}`);
  const hub = await HubConnection.to(new URL(template, url).href);
  await initHub(hub, "test");
  await hub.close();
  provide("hubServer", { url, template });
  return async () => {
    await client.query(`DROP DATABASE ${template}`);
    await client.end();
    await server?.remove();
  };
}
