import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { importFiles } from "../../src/imports/index.ts";
import { type Message, openStore, type Session, type Store } from "../../src/index.ts";
import type { Evaluation } from "../eval.ts";
import { evaluateClusters } from "./clusters.ts";
import { inFolder } from "./folder.ts";
import { largestShare, mean } from "./measures.ts";
import { entireInput, readEntireSessions } from "./recall-data.ts";

/** A request counts as long from so many messages on, with those of the work on it. */
const LONG_FROM = [11, 41];
/** A session counts for the largest tree's share if it has so many requests. */
const REQUESTS_MIN = 5;
const TITLE_CHARS_MAX = 80;
const PAGE = 1_000;

interface Tree {
  title: string;
  messageCount: number;
}

/** What is measured of one session. */
interface Forest {
  trees: Tree[];
  themes: number[];
  /** For each message in the forest, the tree that it is in and the request that it works on. */
  placed: { tree: number; request: number; theme: number }[];
}

/**
 * Measures whether each tree of a session is something that somebody wanted. A tree is a cluster. The folder `--data` has `entire/` or
 * transcripts, in itself or in folders.
 *
 * - `whole.N`: the percentage of the requests with at least N messages in the forest, whose messages are all in one tree.
 * - `trees`, `treesPerSession`, `themesPerSession`: how many there are, and the mean. `mixedThemes`: the percentage of themes with several trees.
 * - `untitled`, `shared`, `cut`: the percentages of trees without a title, with the title of another tree of the session, and with a title
 *   that ends with a mark of a cut or is longer than 60 characters.
 * - `largestShare`: the mean share of the largest tree in the messages of its session, over sessions of at least five requests. `.theme` is
 *   that of themes, and `.turns` what it would be if no request went on with another.
 * - the figures of `clusters`, if the folder has their conversations.
 */
export async function evaluateMatters(dataFolder: string): Promise<Evaluation> {
  const forests: Forest[] = [];
  await inFolder(async (folder) => {
    const store = openStore(join(folder, "agent.db"));
    for (const { sid, messages } of readEntireSessions(dataFolder))
      store.session(sid, { project: "entire" }).append(messages.map(entireInput));
    const files = transcriptsIn(dataFolder);
    if (files.length > 0) await importFiles(store, files, { summarize: false });
    for (const { id } of store.sessions({ limit: 10_000 })) {
      const session = store.resume(id);
      session.compact();
      const forest = forestOf(store, session);
      if (forest.trees.length > 0) forests.push(forest);
    }
    store.close();
  });
  return { name: "matters", figures: { ...mattersIn(forests), ...(await evaluateClusters(dataFolder)).figures } };
}

function transcriptsIn(folder: string): string[] {
  const isTranscript = (name: string): boolean =>
    /\.(?:jsonl|json|md)(?:\.gz)?$/.test(name) && !/readme|questions/i.test(name);
  if (existsSync(join(folder, "entire"))) return [];
  return (readdirSync(folder, { recursive: true }) as string[]).filter(isTranscript).map((name) => join(folder, name));
}

/** Each turn of a user counts as a request. */
function forestOf(store: Store, session: Session): Forest {
  const [clusters, themes] = [session.roots({ level: "cluster" }), session.roots()];
  const treeOf = new Map<number, number>();
  for (const [tree, { root, messageCount }] of clusters.entries()) {
    for (let offset = 0; offset < messageCount; offset += PAGE) {
      for (const { id } of store.expand(root, { limit: PAGE, offset }).members) treeOf.set(id, tree);
    }
  }
  const themeOf = new Map(themes.flatMap(({ clusters: of }, theme) => of.map((handle) => [handle, theme] as const)));
  const placed: Forest["placed"] = [];
  for (const { id, turnSeq } of messagesOf(session)) {
    const tree = treeOf.get(id);
    if (tree !== undefined) placed.push({ tree, request: turnSeq, theme: themeOf.get(clusters[tree]!.root)! });
  }
  return {
    trees: clusters.map(({ label, messageCount }) => ({ title: label, messageCount })),
    themes: themes.map(({ clusters: of }) => of.length),
    placed,
  };
}

function messagesOf(session: Session): Message[] {
  const messages: Message[] = [];
  for (let seqFrom = 0; ; seqFrom = messages.at(-1)!.seq + 1) {
    const page = session.messages({ seqFrom, limit: PAGE });
    messages.push(...page);
    if (page.length < PAGE) return messages;
  }
}

function mattersIn(forests: readonly Forest[]): Record<string, number> {
  const requests = forests.flatMap(({ placed }) => {
    const trees = new Map<number, number[]>();
    for (const { tree, request } of placed) if (request >= 0) trees.set(request, [...(trees.get(request) ?? []), tree]);
    return [...trees.values()];
  });
  const figures: Record<string, number> = { sessions: forests.length, requests: requests.length };
  for (const least of LONG_FROM) {
    const long = requests.filter(({ length }) => length >= least);
    figures[`requests.${least}`] = long.length;
    figures[`whole.${least}`] = percent(long.filter((trees) => new Set(trees).size === 1).length, long.length);
  }
  const trees = forests.flatMap(({ trees }) => trees);
  const themes = forests.flatMap(({ themes }) => themes);
  const shared = forests.flatMap(({ trees }) => {
    return trees.filter(({ title }, index) => trees.some((other, at) => at !== index && other.title === title));
  });
  const isCut = ({ title }: Tree): boolean => title.endsWith("…") || title.length > TITLE_CHARS_MAX;
  const rich = forests.filter(({ placed }) => new Set(placed.map(({ request }) => request)).size >= REQUESTS_MIN);
  return {
    ...figures,
    trees: trees.length,
    treesPerSession: round(trees.length / forests.length),
    themesPerSession: round(themes.length / forests.length),
    mixedThemes: percent(themes.filter((count) => count > 1).length, themes.length),
    untitled: percent(trees.filter(({ title }) => title === "").length, trees.length),
    shared: percent(shared.filter(({ title }) => title !== "").length, trees.length),
    cut: percent(trees.filter(isCut).length, trees.length),
    "largestShare.sessions": rich.length,
    largestShare: round(mean(rich.map(({ placed }) => largestShare(placed.map(({ tree }) => tree))))),
    "largestShare.turns": round(mean(rich.map(({ placed }) => largestShare(placed.map(({ request }) => request))))),
    "largestShare.theme": round(mean(rich.map(({ placed }) => largestShare(placed.map(({ theme }) => theme))))),
  };
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : round((100 * part) / whole);
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
