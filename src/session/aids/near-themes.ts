import { StoreError, unless } from "../../core/errors.ts";
import { parseHandle } from "../../core/handle.ts";
import { QUERY_VECTOR_MS_DEFAULT } from "../../recall/query-vector.ts";
import { decodeVector } from "../../vector/codec.ts";
import { internalsOf } from "../opened-store.ts";
import type { Store } from "../store.ts";
import { projectNamer } from "./project-meant.ts";

export const THEMES_LIMIT_DEFAULT = 10;

/** Several clusters of a theme may be near, and others are left out, so that more are searched. */
const SEARCHED_PER_THEME = 8;
/** No more are searched, however many are left out. */
const SEARCHED_MAX = 1_000;
/** Two rankings of so many themes, or of the themes of so many hits, are fused. */
const RANKED_PER_THEME = 2;
const HITS_PER_THEME = 5;
/** The usual constant of the fusion. */
const FUSION_RANKS = 60;
const FLOAT_BYTES = 4;

export interface NearTheme {
  /** Its handle, for `expand`. */
  theme: string;
  /** What it is about. May be empty. */
  label: string;
  sessionId: string;
  /** The number of its first message in its session. */
  seq: number;
  /** The title of its session. */
  title: string | null;
  /** A name of the project that tells it from others. */
  project: string | null;
  agent: string | null;
  /** Who of the team has pushed its session, if it is a copy; null for one's own. */
  author: string | null;
  messageCount: number;
  /** The time of its newest message, in Unix milliseconds. */
  atMs: number;
  /** The cosine of its nearest cluster, in [-1, 1]; undefined if only its messages answer. */
  similarity?: number;
}

export interface NearThemesOptions {
  limit?: number;
  /** Only this project, by its full name. */
  project?: string;
  /** Milliseconds to wait for a remote embedder; 0 asks nobody. */
  vectorMsMax?: number;
  signal?: AbortSignal | undefined;
}

/** @throws {StoreError} `OPTION_INVALID` if a search for themes is narrowed to some messages. @param names  What narrows it. */
export function assertAllMessages(names: readonly string[]): void {
  if (names.length === 0) return;
  const fix = "A theme has messages of all kinds: leave the others out, or search messages.";
  const expected = "message or session with other options than the project and the limit";
  throw new StoreError("OPTION_INVALID", { option: "by", expected, actual: `theme with ${names.join(", ")}`, fix });
}

/**
 * Returns the themes of all sessions that are about a text, best first: those whose messages answer it, and those whose clusters are
 * nearest to it, by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). None for a text without words.
 */
export async function themesAbout(store: Store, query: string, options: NearThemesOptions = {}): Promise<NearTheme[]> {
  const { limit = THEMES_LIMIT_DEFAULT, project, vectorMsMax = QUERY_VECTOR_MS_DEFAULT, signal } = options;
  const meaning = await internalsOf(store).meaningOf(query, vectorMsMax, signal);
  const near = nearestThemes(store, meaning?.embedding ?? query, { ...options, limit: RANKED_PER_THEME * limit });
  const scope = { limit: HITS_PER_THEME * limit, neighbors: 0, vectorMsMax, ...(project !== undefined && { project }) };
  const hits = await store.recall(query, { ...scope, ...(signal !== undefined && { signal }) });
  const answering = new Map<string, ThemePlace>();
  for (const { messageId } of hits) {
    const place = placeOf(store, messageId);
    if (place !== undefined) answering.set(place.theme, answering.get(place.theme) ?? place);
  }
  const scores = new Map<string, number>();
  for (const ranking of [[...answering.keys()], near.map(({ theme }) => theme)]) {
    for (const [rank, theme] of ranking.entries()) {
      scores.set(theme, (scores.get(theme) ?? 0) + 1 / (FUSION_RANKS + rank + 1));
    }
  }
  const facts = new Map(near.map((theme) => [theme.theme, theme]));
  const projectOf = projectNamer(store);
  const best = [...scores].sort(([, left], [, right]) => right - left).slice(0, limit);
  return best.flatMap(([theme]) => facts.get(theme) ?? themeAt(store, answering.get(theme)!, projectOf) ?? []);
}

/** Without a vector of the store's embedder, the messages alone tell. */
function nearestThemes(store: Store, target: string | Float32Array, options: NearThemesOptions): NearTheme[] {
  return unless(["OPTION_INVALID", "EMBEDDER_MISMATCH"], () => nearThemes(store, target, options, () => true)) ?? [];
}

/**
 * Returns the themes of other sessions that are nearest to a theme, nearest first.
 *
 * @param root  The id of the root of the theme, or of one of its clusters.
 */
export function themesNear(store: Store, root: number, options: NearThemesOptions = {}): NearTheme[] {
  const place = placeOf(store, root);
  const row = place && store.query(FACTS, [place.root, place.sessionId])[0];
  if (place === undefined || row === undefined) return [];
  const sum = row.centroid_sum as Uint8Array;
  const vector = decodeVector(sum, sum.byteLength / FLOAT_BYTES);
  if (vector.every((number) => number === 0)) return [];
  return nearThemes(store, vector, options, (sessionId) => sessionId !== place.sessionId);
}

const FACTS = `
  SELECT t.message_count, t.seq_first, t.seq_last, t.centroid_sum, c.label
  FROM themes t JOIN clusters c ON c.root_id = t.root_id AND c.session_id = t.session_id
  WHERE t.root_id = ? AND t.session_id = ?`;

function nearThemes(
  store: Store,
  target: string | Float32Array,
  { limit = THEMES_LIMIT_DEFAULT, project }: NearThemesOptions,
  isWanted: (sessionId: string) => boolean,
): NearTheme[] {
  const projectOf = projectNamer(store);
  const found = new Map<string, NearTheme>();
  let seen = 0;
  for (let k = SEARCHED_PER_THEME * limit; ; k *= 4) {
    const near = store.nearestRoots(target, { k: Math.min(k, SEARCHED_MAX) });
    for (const { root, sessionId, similarity } of near.slice(seen)) {
      if (similarity <= 0) return [...found.values()];
      if (!isWanted(sessionId)) continue;
      const place = placeOf(store, parseHandle(root).root);
      if (place === undefined || found.has(place.theme)) continue;
      const theme = themeAt(store, place, projectOf, project);
      if (theme === undefined) continue;
      found.set(place.theme, { ...theme, similarity });
      if (found.size === limit) return [...found.values()];
    }
    seen = near.length;
    if (near.length < k) return [...found.values()];
  }
}

interface ThemePlace {
  theme: string;
  root: number;
  sessionId: string;
}

/** Returns the theme of a cluster's root; undefined if it is damaged. */
function placeOf(store: Store, root: number): ThemePlace | undefined {
  const place = unless(["STORE_CORRUPT"], () => store.expand(root, { level: "step", limit: 0 }).place);
  if (place == null || place.theme === null) return undefined;
  return { theme: place.theme, root: parseHandle(place.theme).root, sessionId: place.sessionId };
}

/** @param wanted  Themes of other projects are left out. */
function themeAt(
  store: Store,
  { theme, root, sessionId }: ThemePlace,
  projectOf: (project: string | null) => string,
  wanted?: string,
): NearTheme | undefined {
  const session = store.resume(sessionId);
  const { name, project, source, author } = session.info();
  const row = store.query(FACTS, [root, sessionId])[0];
  if (row === undefined || (wanted !== undefined && project !== wanted)) return undefined;
  const [last] = session.messages({ seqFrom: Number(row.seq_last), limit: 1 });
  return {
    theme,
    label: String(row.label),
    sessionId,
    seq: Number(row.seq_first),
    title: name,
    project: projectOf(project) || null,
    agent: source,
    author,
    messageCount: Number(row.message_count),
    atMs: last?.createdAtMs ?? 0,
  };
}
