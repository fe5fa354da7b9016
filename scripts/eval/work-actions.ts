import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { importFiles } from "../../src/imports/index.ts";
import { openStore } from "../../src/index.ts";
import { inFolder } from "./folder.ts";

/** What a call of Claude Code or Gemini CLI does, by the names of their tools. Others do nothing that is counted. */
const KINDS: Readonly<Record<string, string>> = {
  Read: "read",
  Edit: "edit",
  MultiEdit: "edit",
  NotebookEdit: "edit",
  Write: "write",
  Bash: "run",
  Grep: "search",
  Glob: "search",
  LS: "search",
  WebSearch: "search",
  WebFetch: "fetch",
  Task: "task",
  read_file: "read",
  write_file: "write",
  replace: "edit",
  run_shell_command: "run",
  list_directory: "search",
};

const ROWS = `SELECT json_extract(m.parts, '$[' || a.part || '].toolCallId') AS id, a.kind, a.target, a.outcome
  FROM actions a JOIN messages m ON m.id = a.message_id ORDER BY a.message_id, a.ordinal`;

interface ToldCall {
  kind: string;
  target: string;
  outcome: string;
}

/**
 * Compares the rows of `actions` with calls that are read from the transcripts themselves, in percent of the calls: `kind` is right,
 * `target` names the file or a part of the command, and `outcome` is what the agent recorded. A command line whose output goes to a
 * filter has no status of its own, so it is left out of `outcome`.
 */
export async function actionFigures(dataFolder: string): Promise<Record<string, number>> {
  const files = ["claude-code", "gemini-cli"].flatMap((agent) => {
    const folder = join(dataFolder, "transcripts", agent);
    return readdirSync(folder).map((file) => join(folder, file));
  });
  const told = new Map<string, ToldCall>();
  for (const file of files) for (const [id, call] of callsOf(readFileSync(file, "utf8"))) told.set(id, call);
  let rows: { id: string; kind: string; target: string; outcome: string }[] = [];
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "work.db"));
    await importFiles(store, files);
    await store.upkeep();
    rows = store.query(ROWS) as typeof rows;
    store.close();
  });
  const right = { kind: 0, target: 0, outcome: 0 };
  const counted = { calls: 0, outcomes: 0 };
  for (const [id, call] of told) {
    const own = rows.filter((row) => row.id === id);
    counted.calls += 1;
    right.kind += Number(own.some(({ kind }) => kind === call.kind));
    right.target += Number(
      own.some(({ target }) => call.target.replace(/\s+/g, " ").includes(target.replace(/…$/, ""))),
    );
    if (call.kind === "run" && /\||;/.test(call.target)) continue;
    counted.outcomes += 1;
    right.outcome += Number(own.some(({ outcome }) => outcome === call.outcome));
  }
  const extra = new Set(rows.filter(({ id }) => !told.has(id)).map(({ id }) => id)).size;
  const percent = (count: number, of: number): number => (100 * count) / of;
  return {
    calls: counted.calls,
    extra,
    kind: percent(right.kind, counted.calls),
    target: percent(right.target, counted.calls),
    outcome: percent(right.outcome, counted.outcomes),
  };
}

interface Block {
  type?: string;
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  tool_use_id?: string;
  is_error?: boolean;
  content?: unknown;
}

function callsOf(text: string): Map<string, ToldCall> {
  const calls = new Map<string, ToldCall>();
  const add = (id: string, name: string, input: Record<string, unknown>): void => {
    const kind = KINDS[name];
    if (kind !== undefined) calls.set(id, { kind, target: targetOf(input), outcome: "unknown" });
  };
  if (text.startsWith("{") && text.includes('"messages": [')) {
    const { messages } = JSON.parse(text) as {
      messages: { toolCalls?: { id: string; name: string; args: Record<string, unknown>; status: string }[] }[];
    };
    for (const { id, name, args, status } of messages.flatMap(({ toolCalls = [] }) => toolCalls)) {
      add(id, name, args);
      const call = calls.get(id);
      if (call !== undefined) call.outcome = status === "success" ? "ok" : "failed";
    }
    return calls;
  }
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const { message } = JSON.parse(line) as { message?: { content?: unknown } };
    if (!Array.isArray(message?.content)) continue;
    for (const block of message.content as Block[]) {
      if (block.type === "tool_use") add(block.id!, block.name!, block.input!);
      const call = block.type === "tool_result" ? calls.get(block.tool_use_id!) : undefined;
      if (call === undefined) continue;
      const isRefused = JSON.stringify(block.content).includes("doesn't want to proceed");
      call.outcome = isRefused ? "unknown" : block.is_error === true ? "failed" : "ok";
    }
  }
  return calls;
}

function targetOf({
  file_path,
  notebook_path,
  command,
  url,
  query,
  pattern,
  path,
  description,
}: Record<string, unknown>): string {
  return String(file_path ?? notebook_path ?? command ?? url ?? query ?? pattern ?? path ?? description);
}
