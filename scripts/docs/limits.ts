import {
  DATABASE_SECONDS_MAX,
  HUB_BODY_BYTES_MAX,
  ID_CHARS_MAX,
  JSON_DEPTH_MAX,
  KEY_CHARS_MAX,
  MESSAGE_CHARS_MAX,
  MODEL_QUERY_CHARS_MAX,
  NAMESPACE_ELEMENTS_MAX,
  PAGE_LIMIT_MAX,
  PARTS_MAX,
  RECALL_LIMIT_MAX,
  RECALL_NEIGHBORS_MAX,
  TEXT_GRAPHEMES_MAX,
  TIME_MS_MAX,
  VALUE_BYTES_MAX,
} from "../../src/core/limits.ts";
import { CLUSTER_MESSAGES_MAX, CLUSTER_TOKENS_MAX } from "../../src/forest/cluster.ts";
import { HOOK_TOKENS_MAX } from "../../src/hooks/quotation.ts";
import { INPUT_BYTES_MAX } from "../../src/hooks/run-hook.ts";
import { LINE_BYTES_MAX, LINE_VALUES_MAX } from "../../src/importers/lines.ts";
import { RATIO_MAX, UNPACKED_BYTES_MAX } from "../../src/importers/zstd.ts";
import { WARNINGS_MAX } from "../../src/imports/import-run.ts";
import { MESSAGE_BYTES_MAX } from "../../src/mcp/line-transport.ts";
import { TOKENS_MAX, TOKENS_MIN } from "../../src/mcp/tool.ts";
import { WORKING_MAX } from "../../src/mcp/turns.ts";
import { QUERY_WORDS_MAX } from "../../src/recall/query.ts";
import { TOOL_TOKENS_MAX, TOOL_TOKENS_MIN } from "../../src/session/aids/agent-tools.ts";
import { LISTENERS_MAX } from "../../src/view/events.ts";
import { BODY_BYTES_MAX } from "../../src/view/server.ts";

export interface Limit {
  what: string;
  max: number;
  min?: number;
  /** What happens beyond the limit. */
  beyond: string;
}

/** Every limit that a user can meet, except those of options. `test/unit/limits.test.ts` checks both sides of each. */
export const LIMITS = {
  parts: { what: "parts of a message", max: PARTS_MAX, beyond: "`MESSAGE_INVALID`" },
  chars: {
    what: "characters (UTF-16 units) in all strings of a message, with the names of fields",
    max: MESSAGE_CHARS_MAX,
    beyond: "`MESSAGE_INVALID`",
  },
  depth: { what: "levels of nesting in a message", max: JSON_DEPTH_MAX, beyond: "`MESSAGE_INVALID`" },
  text: {
    what: "characters of a message that are embedded and searched",
    max: TEXT_GRAPHEMES_MAX,
    beyond: "The rest is stored, but `recall` does not find it",
  },
  time: { what: "milliseconds between a time and 1970", max: TIME_MS_MAX, beyond: "`MESSAGE_INVALID`" },
  messageId: { what: "characters of a message's own id", max: ID_CHARS_MAX, beyond: "`MESSAGE_INVALID`" },
  name: {
    what: "characters of a session id, a project or a title",
    max: ID_CHARS_MAX,
    beyond: "`OPTION_INVALID`. An import cuts titles, and names of projects. A longer path tells no project",
  },
  page: {
    what: "messages that `messages` or `expand` returns at once",
    max: PAGE_LIMIT_MAX,
    beyond: "`OPTION_INVALID`",
  },
  hits: { what: "hits of one `recall`", max: RECALL_LIMIT_MAX, beyond: "`OPTION_INVALID`" },
  neighbors: {
    what: "messages before and after a hit",
    max: RECALL_NEIGHBORS_MAX,
    beyond: "`OPTION_INVALID`",
  },
  queryWords: {
    what: "different words of a query",
    max: QUERY_WORDS_MAX,
    beyond: "Further words are ignored",
  },
  clusterMessages: {
    what: "messages of a cluster of talk",
    max: CLUSTER_MESSAGES_MAX,
    beyond: "The next step starts a new one. Work with tools is not divided",
  },
  clusterTokens: {
    what: "tokens of a cluster of talk",
    max: CLUSTER_TOKENS_MAX,
    beyond: "The next step starts a new one. Work with tools is not divided",
  },
  line: {
    what: "bytes of a line of a transcript, or of a message in a document",
    max: LINE_BYTES_MAX,
    beyond: "A warning. The other lines are imported",
  },
  lineDepth: {
    what: "levels of nesting in a line",
    max: JSON_DEPTH_MAX,
    beyond: "A warning. The other lines are imported",
  },
  lineValues: {
    what: "values in a line",
    max: LINE_VALUES_MAX,
    beyond: "A warning. The other lines are imported",
  },
  unpacked: {
    what: `unpacked bytes for each byte of a packed transcript that unpacks to more than ${UNPACKED_BYTES_MAX / 1024 / 1024} MiB`,
    max: RATIO_MAX,
    beyond: "`IMPORT_UNREADABLE`, for this file",
  },
  warnings: { what: "warnings about a file", max: WARNINGS_MAX, beyond: "Further warnings are counted" },
  database: {
    what: "seconds that SQLite may take for a step in a foreign database",
    max: DATABASE_SECONDS_MAX,
    beyond: "`IMPORT_UNREADABLE`, for this file",
  },
  mcpMessage: {
    what: "bytes of a message to the MCP server, with its line break",
    max: MESSAGE_BYTES_MAX,
    beyond: "An error of the protocol, -32600, without the id of the message",
  },
  mcpWorking: {
    what: "MCP calls that wait for a vector",
    max: WORKING_MAX,
    beyond: "Further calls wait for their turn",
  },
  mcpTokens: {
    what: "tokens of an MCP result, `tokensMax`",
    min: TOKENS_MIN,
    max: TOKENS_MAX,
    beyond: "`OPTION_INVALID`",
  },
  mcpQuery: {
    what: "characters of a query that a model sends",
    max: MODEL_QUERY_CHARS_MAX,
    beyond: "`OPTION_INVALID`",
  },
  itemKey: {
    what: "characters of an item's key, and of each element of its namespace",
    max: KEY_CHARS_MAX,
    beyond: "`OPTION_INVALID`",
  },
  namespace: { what: "elements of an item's namespace", max: NAMESPACE_ELEMENTS_MAX, beyond: "`OPTION_INVALID`" },
  itemBytes: { what: "bytes of an item's value that is not JSON", max: VALUE_BYTES_MAX, beyond: "`VALUE_INVALID`" },
  toolTokens: {
    what: "tokens of a result of `coppice/tools`, `tokensMax`",
    min: TOOL_TOKENS_MIN,
    max: TOOL_TOKENS_MAX,
    beyond: "`OPTION_INVALID`",
  },
  hookInput: {
    what: "bytes of what an agent tells a hook",
    max: INPUT_BYTES_MAX,
    beyond: "The hook adds nothing, and its log says why",
  },
  hookTokens: { what: "tokens of what a hook adds", max: HOOK_TOKENS_MAX, beyond: "Further lines are left out" },
  hubRow: { what: "bytes to which a row on a hub inflates", max: HUB_BODY_BYTES_MAX, beyond: "`ROWS_INVALID`" },
  viewBody: { what: "bytes of a request to the view", max: BODY_BYTES_MAX, beyond: "Status 413" },
  viewPages: { what: "pages of a view that are open at once", max: LISTENERS_MAX, beyond: "Status 503" },
} satisfies Record<string, Limit>;
