import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateSQLiteDrizzleJson, generateSQLiteMigration } from "drizzle-kit/api";
import { expect, onTestFinished, test, vi } from "vitest";
import * as schema from "../../src/store/sql/schema.ts";
import { temporaryStore } from "../support/temporary-store.ts";

// The vocabulary of the SQL that users write. A name that goes from here breaks somebody's query.

test("tables and views, with their columns in order", () => {
  const rows = temporaryStore().query(
    `SELECT m.type, m.name, group_concat(c.name, ' ') AS columns
     FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c ON c.hidden <> 1
     WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name ORDER BY m.type, m.name`,
  );
  expect(rows.map(({ type, name, columns }) => [type, name, columns])).toEqual([
    ["table", "__drizzle_migrations", "id hash created_at"],
    ["table", "actions", "message_id ordinal part result_id kind name target outcome error checksum"],
    ["table", "artifacts", "sha256 encoding byte_length compressed content"],
    ["table", "awake_sessions", "session_id"],
    [
      "table",
      "clusters",
      "root_id session_id message_count token_count centroid_sum vector_count seq_first seq_last log_position step_count turn_last last_at_ms speakers label settled_at subject_parent_id checksum",
    ],
    ["table", "discarded_costs", "session_id summarizer_id input_tokens output_tokens cost_usd checksum"],
    ["table", "entries", "id session_id before_seq external_id created_at_ms encoding value checksum"],
    ["table", "forgotten_messages", "session_id seq forgotten_at_ms checksum"],
    ["table", "frontier_moves", "session_id seq_end graduated_seq evicted_seq log_position checksum"],
    ["table", "generations", "id embedder_id dimension created_at_ms rewrite_count log_position checksum"],
    ["table", "imported_files", "path_digest state_digest found"],
    ["table", "items", "id namespace key session_id created_at_ms updated_at_ms encoding value checksum"],
    ["table", "message_artifacts", "message_id pointer sha256 checksum"],
    [
      "table",
      "messages",
      "id session_id seq step_id turn_seq parent_id role pinned token_count created_at_ms name external_id token_counter digest embedding embedder_id metadata stored_text parts text checksum",
    ],
    ["table", "messages_fts", "words"],
    ["table", "messages_fts_config", "k v"],
    ["table", "messages_fts_data", "id block"],
    ["table", "messages_fts_docsize", "id sz origin"],
    ["table", "messages_fts_idx", "segid term pgno"],
    ["table", "messages_fts_terms", "term doc cnt"],
    [
      "table",
      "pending_vectors",
      "message_id session_id status due_since_ms attempts next_try_at_ms error_code error claimant claimed_until_ms",
    ],
    ["table", "reembedded_vectors", "generation embedder_id message_id embedding"],
    [
      "table",
      "sessions",
      "id project title author source external_id parent_session_id fork_seq settings metadata graduated_seq evicted_seq frontier_version created_at_ms checksum superseded_at_ms rewind_number",
    ],
    ["table", "shared_pasts", "session_id holder_id seq_first seq_last log_position checksum"],
    ["table", "store_settings", "name value checksum"],
    [
      "table",
      "summaries",
      "id session_id level root_id log_position seq_first seq_last message_count source_token_count source_digest reading_depth status title text token_count summarizer_id prompt_version error attempts created_at_ms shown_from shown_until claimant claimed_until_ms error_code next_try_at_ms pauses stands_in input_tokens output_tokens cost_usd checksum",
    ],
    ["table", "theme_checkpoints", "id session_id log_position graduated_seq themes checksum"],
    [
      "table",
      "themes",
      "root_id session_id message_count token_count centroid_sum vector_count seq_first seq_last log_position cluster_count checksum",
    ],
    ["table", "tombstones", "digest session_digest opening_digest message_id forgotten_at_ms checksum"],
    ["table", "undone_unions", "id session_id generation level kind node root score undone_at members checksum"],
    ["table", "unions", "id session_id generation level kind node root score checksum"],
    ["view", "cluster_members", "cluster_id message_id session_id seq log_position"],
    ["view", "message_zones", "message_id session_id seq zone is_hot is_cold"],
    ["view", "replaced_messages", "message_id session_id branch_id seq replaced_at_ms replaced_by"],
    ["view", "session_agents", "session_id project agent started_by forked_from"],
    ["view", "session_messages", "session_id seq message_id holder_id role text"],
    [
      "view",
      "session_stats",
      "session_id project title message_count token_count pinned_count hot_count cold_count overlap_count cluster_count theme_count summary_count created_at_ms updated_at_ms",
    ],
    ["view", "subject_members", "subject_id cluster_id session_id project label message_count seq_first seq_last"],
    [
      "view",
      "summary_costs",
      "session_id summarizer_id summary_count failed_count parked_count claimed_count input_tokens output_tokens cost_usd",
    ],
    ["view", "theme_members", "theme_id cluster_id message_id session_id seq log_position"],
    ["view", "uncovered", "message_id session_id seq role token_count"],
    [
      "view",
      "usage",
      "session_id project day model reply_count input_tokens cache_read_tokens cache_write_tokens output_tokens cost_usd",
    ],
    [
      "view",
      "vectors_pending",
      "message_id session_id seq role status due_since_ms attempts next_try_at_ms claimed_until_ms error_code error",
    ],
    ["view", "verdicts", "message_id session_id seq kind verdict_id said_at_ms"],
    ["view", "work", "session_id project seq created_at_ms kind target outcome error message_id result_id"],
  ]);
});

test("what the file says of itself", () => {
  const store = temporaryStore();
  // "Copp", the number of migrations, UTF-8.
  expect(store.query("SELECT * FROM pragma_application_id, pragma_encoding, pragma_journal_mode")).toEqual([
    { application_id: 0x436f7070, encoding: "UTF-8", journal_mode: "wal" },
  ]);
});

test("words in the columns that have few", () => {
  const checks = temporaryStore().query("SELECT sql FROM sqlite_master WHERE sql LIKE '%CONSTRAINT%' ORDER BY name");
  const words = checks.map(({ sql }) =>
    [...String(sql).matchAll(/in \(([^)]*)\)|= '(\w+)'/g)].map(([, list, word]) => list ?? word),
  );
  expect(words).toEqual([
    ["'system', 'user', 'assistant', 'tool'"],
    ["'due', 'refused'"],
    [],
    ["done"],
    ["cluster", "'start', 'join', 'settle'", "theme", "unite", "subject", "'start', 'unite', 'dissolve'"],
  ]);
});

test("`npm run migration` finds nothing that the migrations lack", async () => {
  const folder = new URL("../../migrations/meta/", import.meta.url);
  const { entries } = JSON.parse(readFileSync(new URL("_journal.json", folder), "utf8"));
  const name = `${String(entries.at(-1).idx).padStart(4, "0")}_snapshot.json`;
  const snapshot = JSON.parse(readFileSync(new URL(name, folder), "utf8"));
  expect(await generateSQLiteMigration(snapshot, await generateSQLiteDrizzleJson(schema))).toEqual([]);
});

test("`drizzle-kit check` finds the migrations in order, and its configuration opens the store that COPPICE_DB names", async () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const kit = join(root, "node_modules", "drizzle-kit", "bin.cjs");
  const { status, stdout } = spawnSync(process.execPath, [kit, "check"], { cwd: root, encoding: "utf8" });
  expect([status, stdout]).toEqual([0, expect.stringContaining("Everything's fine")]);
  vi.stubEnv("COPPICE_DB", "/somewhere/agent.db");
  vi.resetModules();
  onTestFinished(() => void vi.unstubAllEnvs());
  const { default: config } = await import("../../drizzle.config.ts");
  expect(config).toMatchObject({ dialect: "sqlite", dbCredentials: { url: "/somewhere/agent.db" } });
});
