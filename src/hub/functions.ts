/** The most numbers that a role may take, of 33 million. Those that it skips count, too. */
const BLOCKS_OF_ROLE_MAX = 2 ** 18;

/** The functions run as the owner of the tables, for whom no policy holds. */
const OF_CALLER = "pg_catalog.pg_has_role(session_user, team::pg_catalog.name, 'member')";

const OF_SESSION = "place = of_place AND session_no = of_session";

/**
 * Makes the functions of the hub, or replaces them. They do with the rights of the owner what no policy can allow: whoever may delete
 * from a table may lock all of it, and whoever may change a counter may set it back.
 *
 * A caller can have types, functions and tables of his own, in `pg_temp` or in a schema that everybody may write to. None may stand
 * for one that a function means. So bodies are bound to what they name when the function is made (BEGIN ATOMIC), and what is looked
 * up later is looked for in `pg_catalog` first.
 */
export const FUNCTIONS: string = [
  ownersFunction(
    "delete_messages(of_place bigint, of_session bigint, ids bigint[])",
    "TABLE (message_id bigint, branch pg_catalog.text)",
    [
      `DELETE FROM coppice.messages m WHERE ${OF_SESSION} AND m.message_id = ANY (ids) AND ${OF_CALLER} RETURNING m.message_id, m.branch`,
    ],
  ),
  ownersFunction(
    "delete_fact(of_place bigint, of_session bigint, of_kind pg_catalog.text, of_chunk integer)",
    "pg_catalog.void",
    [`DELETE FROM coppice.facts WHERE ${OF_SESSION} AND kind = of_kind AND chunk = of_chunk AND ${OF_CALLER}`],
  ),
  ownersFunction(
    "delete_artifacts_except(of_place bigint, of_session bigint, used pg_catalog.bytea[])",
    "pg_catalog.void",
    [`DELETE FROM coppice.artifacts WHERE ${OF_SESSION} AND sha256 <> ALL (used) AND ${OF_CALLER}`],
  ),
  ownersFunction("delete_clusters(of_place bigint, of_session bigint, roots bigint[])", "pg_catalog.void", [
    `DELETE FROM coppice.clusters WHERE ${OF_SESSION} AND root = ANY (roots) AND ${OF_CALLER}`,
  ]),
  ownersFunction(
    "delete_session(of_place bigint, of_session bigint)",
    "pg_catalog.void",
    ["clusters", "messages", "facts", "artifacts"].map(
      (table) => `DELETE FROM coppice.${table} WHERE ${OF_SESSION} AND ${OF_CALLER}`,
    ),
  ),
  ownersFunction("delete_segments(of_place bigint, numbers bigint[])", "pg_catalog.void", [
    `DELETE FROM coppice.segments WHERE place = of_place AND segment = ANY (numbers) AND ${OF_CALLER}`,
  ]),
  // Ids of a store come from blocks of its own. Nobody can make the counter overflow. A block above the highest one is refused by
  // stores, which then choose one themselves.
  ownersFunction("grant_block(above bigint)", "bigint", [
    `WITH cost AS (
    SELECT greatest(1, least(above, 33538048) - last_value + 1) AS count FROM coppice.id_blocks
  ), paid AS (
    INSERT INTO coppice.blocks AS b (role, used) SELECT session_user, count FROM cost WHERE count <= ${BLOCKS_OF_ROLE_MAX}
    ON CONFLICT (role) DO UPDATE SET used = b.used + excluded.used WHERE b.used + excluded.used <= ${BLOCKS_OF_ROLE_MAX}
    RETURNING 1
  )
  SELECT pg_catalog.max(pg_catalog.nextval('coppice.id_blocks'::pg_catalog.regclass))
  FROM paid, cost, LATERAL pg_catalog.generate_series(1, cost.count)`,
  ]),
].join("\n");

/** SQL of a function that writers may call, and that runs as the owner. */
function ownersFunction(signature: string, returns: string, statements: readonly string[]): string {
  const name = signature.slice(0, signature.indexOf("("));
  return `CREATE OR REPLACE FUNCTION coppice.${signature} RETURNS ${returns} LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp BEGIN ATOMIC
  ${statements.join(";\n  ")};
END;
REVOKE ALL ON FUNCTION coppice.${name} FROM PUBLIC;
GRANT EXECUTE ON FUNCTION coppice.${name} TO coppice_writer;`;
}
