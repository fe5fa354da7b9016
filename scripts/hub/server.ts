import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { type PostgresServer, startPostgres } from "../../test/support/postgres.ts";

/** Starts a server of its own with the tables of a hub. Its superuser is in the team `web`. */
export async function startHub({ isDurable }: { isDurable: boolean }): Promise<PostgresServer> {
  const server = await startPostgres({ isDurable });
  const hub = await HubConnection.to(server.url);
  await initHub(hub, "web");
  await grantTeam(hub, "postgres", "web", "write");
  await hub.close();
  return server;
}
