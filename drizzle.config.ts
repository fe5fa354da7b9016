import { defineConfig } from "drizzle-kit";

// `npx drizzle-kit studio` shows the store that `COPPICE_DB` names.
export default defineConfig({
  dialect: "sqlite",
  schema: "./src/store/sql/schema.ts",
  out: "./migrations",
  dbCredentials: { url: process.env.COPPICE_DB ?? "agent.db" },
});
