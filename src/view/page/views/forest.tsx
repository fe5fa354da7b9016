import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ForestAnswer, LogAnswer, SessionAnswer } from "../../api.ts";
import { PAGE_MAX, urlOf } from "../../questions.ts";
import { get, type Refused, useGet } from "../client.ts";
import { compact, count, number, tokens } from "../format.ts";
import { ageColor, Canvas, colorOf, hue, isDark } from "../parts/canvas.tsx";
import { type Band, bandsOf, type Log, logOf, Replay } from "../parts/replay.ts";
import { SessionFrame } from "../parts/session-frame.tsx";
import { Sources } from "../parts/sources.tsx";
import { Empty, Failure, Loading, WhenLoaded } from "../parts/states.tsx";
import { Themes } from "../parts/themes.tsx";
import { change, href, params } from "../router.ts";

const COLORS = [
  ["theme", "Theme"],
  ["age", "Age"],
  ["subject", "Subject"],
] as const;
type Coloring = (typeof COLORS)[number][0];

/** Playing the whole log takes so long, however long the log is. */
const PLAY_MS = 15_000;
const ROWS_PER_MS_MIN = 0.008;
const LANES = { session: 26, theme: 64, cluster: 92 };
const GAP = 2;
const HEIGHT = LANES.session + LANES.theme + LANES.cluster + 2 * GAP;
const NEAR_ROWS = 6;

export function ForestView() {
  const request = { session: params.value.session ?? "" };
  const forest = useGet("/api/forest", request, { live: true });
  return (
    <SessionFrame data={{ url: urlOf("/api/forest", request), sql: forest.data?.sql }}>
      {(answer) => (
        <WhenLoaded of={forest}>
          {(data) => (data.session === answer.session.id ? <Forest answer={answer} forest={data} /> : <Loading />)}
        </WhenLoaded>
      )}
    </SessionFrame>
  );
}

function Forest({ answer, forest }: { answer: SessionAnswer; forest: ForestAnswer }) {
  const [log, setLog] = useState<Log>();
  const [error, setError] = useState<Refused>();
  useEffect(() => {
    const aborting = new AbortController();
    loadLog(forest.session, aborting.signal).then(setLog, (failure) => !aborting.signal.aborted && setError(failure));
    return () => aborting.abort();
  }, [forest.session, forest.logPosition]);
  if (error !== undefined) return <Failure error={error} />;
  if (log === undefined) return <Loading />;
  if (log.count === 0)
    return (
      <Empty title="The forest is still empty">
        <p>
          All {count(answer.session.messageCount, "message")} are hot: contexts show them word for word. Older messages
          enter the forest as the session goes on.
        </p>
      </Empty>
    );
  return <Growing forest={forest} log={log} />;
}

async function loadLog(session: string, signal: AbortSignal): Promise<Log> {
  const answers: LogAnswer[] = [];
  for (let after: number | null = 0; after !== null; after = answers.at(-1)!.next) {
    answers.push(await get("/api/log", { session, after, limit: PAGE_MAX }, signal));
  }
  return logOf(answers);
}

/** A root that the reader looks at. */
type Chosen = { level: "theme" | "cluster"; root: number };

/** The forest at a place in its log, and what the reader does there. */
interface Grown {
  forest: ForestAnswer;
  log: Log;
  /** How many rows of the log are applied. */
  at: number;
  replay: Replay;
  bands: Band[];
  names: Names;
  isPlaying: boolean;
  onMove: (row: number) => void;
  chosen: Chosen | undefined;
  onChoose: (chosen: Chosen | undefined) => void;
}

function Growing({ forest, log }: { forest: ForestAnswer; log: Log }) {
  const replay = useMemo(() => new Replay(log, forest.seqEnd), [log, forest.seqEnd]);
  const { at: given, color = "theme", root } = params.value;
  const [at, setAt] = useState(() => rowOf(log, given));
  const [isPlaying, setIsPlaying] = useState(false);
  const names = useNames(forest);

  // The address names the position: after a step back in the history, it leads.
  useEffect(() => {
    if (!isPlaying) setAt(rowOf(log, given));
  }, [given, log]);
  const moveTo = useCallback(
    (row: number) => {
      setIsPlaying(false);
      const to = Math.max(1, Math.min(log.count, row));
      setAt(to);
      change({ at: to === log.count ? null : log.positions[to - 1]! });
    },
    [log],
  );
  usePlaying(isPlaying, log.count, at, setAt, (row) => moveTo(row));

  const bands = useMemo(() => {
    replay.moveTo(at);
    return bandsOf(replay);
  }, [replay, at]);
  const chosen = parseRoot(root);
  const onChoose = (next: Chosen | undefined) =>
    change({ root: next === undefined ? null : `${next.level}:${next.root}` });
  const grown: Grown = { forest, log, at, replay, bands, names, isPlaying, onMove: moveTo, chosen, onChoose };
  const isNewest = at === log.count;
  const togglePlay = () => {
    if (isPlaying) moveTo(at);
    else {
      if (isNewest) setAt(1);
      setIsPlaying(true);
    }
  };
  return (
    <>
      <div class="controls" role="group" aria-label="The forest">
        <button type="button" class="play" onClick={togglePlay}>
          {isPlaying ? "Pause" : "Play the growth"}
        </button>
        <label class="control control-log">
          <span>
            {isNewest ? "Now" : `After ${number(at)} of ${number(log.count)} entries of the log`}, position{" "}
            {number(log.positions[at - 1]!)}
          </span>
          <input
            type="range"
            aria-label="Place in the log"
            aria-valuetext={`entry ${number(at)} of ${number(log.count)}`}
            min={1}
            max={log.count}
            value={at}
            onInput={(event) => {
              setIsPlaying(false);
              setAt(Number(event.currentTarget.value));
            }}
            onChange={(event) => moveTo(Number(event.currentTarget.value))}
          />
        </label>
        <label class="control">
          <span>Color by</span>
          <select
            value={color}
            onChange={(event) =>
              change({ color: event.currentTarget.value === "theme" ? null : event.currentTarget.value })
            }
          >
            {COLORS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Picture {...grown} color={color as Coloring} />
      <div class="forest-panels">
        <section aria-labelledby="themes">
          <h2 id="themes">
            {count(bands.length, "theme")}, {count(replay.clusterCount, "cluster")}
          </h2>
          <Tree {...grown} />
        </section>
        <section aria-labelledby="behind">
          {chosen === undefined ? <Around {...grown} /> : <Behind {...grown} chosen={chosen} />}
        </section>
      </div>
    </>
  );
}

function rowOf(log: Log, position: string | undefined): number {
  if (position === undefined) return log.count;
  const found = log.positions.findLastIndex((one) => one <= Number(position));
  return Math.max(1, found + 1);
}

function parseRoot(given: string | undefined): Chosen | undefined {
  const [, level, root] = /^(theme|cluster):(\d+)$/.exec(given ?? "") ?? [];
  return level === undefined ? undefined : { level: level as Chosen["level"], root: Number(root) };
}

interface Names {
  /** The titles of clusters, in words of their messages. Titles stay with their roots. */
  of: (root: number) => string;
  subjectOf: (root: number) => string | null;
}

function useNames(forest: ForestAnswer): Names {
  return useMemo(() => {
    const clusters = new Map(forest.clusters.map((cluster) => [cluster.root, cluster]));
    return {
      of: (root) => clusters.get(root)?.label || "Untitled",
      subjectOf: (root) => clusters.get(root)?.subject ?? null,
    };
  }, [forest]);
}

/** Moves through the log while it plays, with the clock and not with the frames. */
function usePlaying(
  isPlaying: boolean,
  rowCount: number,
  at: number,
  onFrame: (at: number) => void,
  onEnd: (at: number) => void,
): void {
  const latest = useRef({ onFrame, onEnd });
  latest.current = { onFrame, onEnd };
  useEffect(() => {
    if (!isPlaying) return;
    const from = at >= rowCount ? 1 : at;
    const rate = Math.max(ROWS_PER_MS_MIN, rowCount / PLAY_MS);
    const startedAt = performance.now();
    let frame = requestAnimationFrame(function draw(now) {
      const row = Math.floor(from + Math.max(0, now - startedAt) * rate);
      if (row >= rowCount) return latest.current.onEnd(rowCount);
      latest.current.onFrame(row);
      frame = requestAnimationFrame(draw);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying]);
}

/** Returns as much of a text as fits, with an ellipsis if that is not all. */
function fitted(picture: CanvasRenderingContext2D, text: string, width: number): string {
  if (picture.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (picture.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${text.slice(0, low)}…`;
}

/** The forest as an icicle: a session of themes of clusters, each as wide as its tokens; below it, the messages in order of time. */
function Picture({ forest, log, at, replay, bands, names, chosen, onChoose, color }: Grown & { color: Coloring }) {
  const isNewest = at === log.count;
  const [pointed, setPointed] = useState<Band & { level: Chosen["level"] }>();
  const forestTokens = forest.clusters.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  const zoomed =
    chosen?.level === "theme" ? bands.find(({ cluster }) => replay.roots[cluster] === chosen.root) : undefined;
  // The hot window overlaps the forest, so it is drawn after it.
  const whole: [start: number, end: number] = [0, Math.max(1, forestTokens + forest.hotTokenCount)];
  const [start, end] = zoomed === undefined ? whole : [zoomed.start, zoomed.start + Math.max(1, zoomed.tokenCount)];
  const order = useMemo(() => new Map(forest.themes.map((theme, index) => [theme.root, index])), [forest]);
  const subjects = useMemo(
    () =>
      new Map([...new Set(forest.clusters.map(({ subject }) => subject))].map((subject, index) => [subject, index])),
    [forest],
  );
  const finalTheme = useMemo(() => new Map(forest.clusters.map((cluster) => [cluster.root, cluster.theme])), [forest]);

  const fill = useCallback(
    (band: Band, isTheme: boolean, dark: boolean): string => {
      const root = replay.roots[band.cluster]!;
      if (color === "age") return ageColor((band.seqFirst + band.seqLast) / 2 / Math.max(1, forest.seqEnd), dark);
      if (color === "subject") {
        const subject = isTheme ? null : names.subjectOf(root);
        return subject === null ? colorOf("--how-absent") : hue(subjects.get(subject)!, dark);
      }
      // What unites later has the color of the theme that it becomes, so that colors do not jump.
      return hue(order.get(finalTheme.get(root) ?? root) ?? band.cluster, dark);
    },
    [replay, color, order, subjects, names, forest],
  );

  const draw = useCallback(
    (picture: CanvasRenderingContext2D, width: number) => {
      const dark = isDark();
      const [ink, accent, muted] = ["--ink", "--accent", "--muted"].map(colorOf) as [string, string, string];
      const x = (value: number): number => ((value - start) / (end - start)) * width;
      const grown = bands.at(-1);
      const grownTo = grown === undefined ? 0 : grown.start + grown.tokenCount;
      picture.font = `12px ${colorOf("--sans")}`;
      picture.textBaseline = "middle";
      const box = (
        from: number,
        to: number,
        top: number,
        height: number,
        style: string,
        label: string | undefined,
        text = ink,
      ) => {
        const left = Math.max(-1, x(from));
        const size = Math.min(width + 1, x(to)) - left;
        if (size <= 0) return;
        picture.fillStyle = style;
        picture.fillRect(left, top, Math.max(0.6, size - (size > 3 ? 1 : 0)), height);
        if (label === undefined || size < 46) return;
        picture.fillStyle = text;
        picture.fillText(
          fitted(picture, label, left + size - Math.max(0, left) - 16),
          Math.max(0, left) + 7,
          top + height / 2,
        );
      };
      box(0, grownTo, 0, LANES.session, colorOf("--sunken"), `Forest, ${compact(grownTo)} tokens`);
      const hot = `Hot, ${compact(forest.hotTokenCount)} tokens`;
      if (isNewest) box(forestTokens, whole[1], 0, LANES.session, accent, hot, colorOf("--accent-ink"));
      const themeTop = LANES.session + GAP;
      const clusterTop = themeTop + LANES.theme + GAP;
      const bandBox = (band: Band, isTheme: boolean): void => {
        const [top, height] = isTheme ? [themeTop, LANES.theme] : [clusterTop, LANES.cluster];
        const label = names.of(replay.roots[band.cluster]!);
        const style = fill(band, isTheme, dark);
        box(band.start, band.start + band.tokenCount, top, height, style, label, dark ? "#fff" : "#1e1d1a");
      };
      for (const theme of bands) {
        if (theme.start > end || theme.start + theme.tokenCount < start) continue;
        bandBox(theme, true);
        for (const band of theme.bands) bandBox(band, false);
      }
      const outline = (level: Chosen["level"], band: Band, style: string) => {
        const top = level === "theme" ? themeTop : clusterTop;
        picture.strokeStyle = style;
        picture.lineWidth = 2;
        const left = Math.max(0, x(band.start));
        picture.strokeRect(
          left + 1,
          top + 1,
          Math.max(2, Math.min(width, x(band.start + band.tokenCount)) - left - 2),
          (level === "theme" ? LANES.theme : LANES.cluster) - 2,
        );
      };
      for (const theme of bands) {
        if (chosen?.level === "theme" && replay.roots[theme.cluster] === chosen.root) outline("theme", theme, ink);
        if (chosen?.level === "cluster")
          for (const band of theme.bands) if (replay.roots[band.cluster] === chosen.root) outline("cluster", band, ink);
      }
      if (pointed !== undefined) outline(pointed.level, pointed, muted);
    },
    [bands, start, end, fill, names, chosen, pointed, isNewest, forest],
  );

  const drawTime = useCallback(
    (picture: CanvasRenderingContext2D, width: number, height: number) => {
      const dark = isDark();
      const seqEnd = Math.max(1, forest.seqEnd);
      const colors = new Map<number, string>();
      for (const theme of bands)
        for (const band of theme.bands) colors.set(band.cluster, fill(color === "theme" ? theme : band, false, dark));
      const of = chosen === undefined ? undefined : replay.indexOf(chosen.root);
      const clusterAt = (column: number): number => replay.clusterOfSeq[Math.floor(((column + 0.5) / width) * seqEnd)]!;
      for (let column = 0; column < width; ) {
        const cluster = clusterAt(column);
        let next = column + 1;
        while (next < width && clusterAt(next) === cluster) next++;
        if (cluster >= 0) {
          const isChosen =
            of !== undefined &&
            (chosen!.level === "cluster" ? cluster === of : replay.themeOf(cluster) === replay.themeOf(of));
          picture.globalAlpha = of === undefined || isChosen ? 1 : 0.25;
          picture.fillStyle = colors.get(cluster)!;
          picture.fillRect(column, 0, next - column, height);
        }
        column = next;
      }
      picture.globalAlpha = 1;
      if (!isNewest) return;
      picture.fillStyle = colorOf("--accent");
      const from = (forest.evictedSeq / seqEnd) * width;
      picture.fillRect(from, height - 4, width - from, 4);
    },
    [bands, fill, color, chosen, isNewest, forest, at],
  );

  const find = (x: number, y: number, width: number): (Band & { level: Chosen["level"] }) | undefined => {
    const value = start + (x / width) * (end - start);
    const theme = bands.find((one) => value >= one.start && value < one.start + one.tokenCount);
    if (theme === undefined || y < LANES.session) return undefined;
    if (y < LANES.session + GAP + LANES.theme) return { ...theme, level: "theme" };
    const band = theme.bands.findLast((one) => value >= one.start);
    return band === undefined ? undefined : { ...band, level: "cluster" };
  };

  return (
    <figure class="icicle">
      <Canvas
        height={HEIGHT}
        draw={draw}
        class="is-pointed"
        label={`The forest: ${count(bands.length, "theme")} and ${count(replay.clusterCount, "cluster")}, each as wide as its tokens. The list below has them all.`}
        onPoint={({ x, y, width, isPress }) => {
          const found = find(x, y, width);
          if (isPress)
            onChoose(found === undefined ? undefined : { level: found.level, root: replay.roots[found.cluster]! });
          else if (found?.cluster !== pointed?.cluster || found?.level !== pointed?.level) setPointed(found);
        }}
        onLeave={() => setPointed(undefined)}
      />
      <Canvas height={22} draw={drawTime} label="The messages in order of time, colored by what they belong to" />
      <figcaption>
        <span>
          {pointed === undefined
            ? "As wide as its tokens; below, in order of time"
            : `${names.of(replay.roots[pointed.cluster]!)}: ${pointed.level}, ${count(pointed.messageCount, "message")}, ${tokens(pointed.tokenCount)}`}
        </span>
        {zoomed !== undefined && (
          <button type="button" class="plain" onClick={() => onChoose(undefined)}>
            Show the whole forest
          </button>
        )}
      </figcaption>
    </figure>
  );
}

/** Shows the forest as a list, for the keyboard and for screen readers. */
function Tree(grown: Grown) {
  const { bands, chosen, isPlaying, replay } = grown;
  return (
    <ul class="plain-list tree">
      {bands.map((theme) => {
        const root = replay.roots[theme.cluster]!;
        const isOpen = !isPlaying && theme.bands.some(({ cluster }) => replay.roots[cluster] === chosen?.root);
        return (
          <li key={root}>
            <Choose {...grown} level="theme" root={root} band={theme} />
            {isOpen && (
              <ul class="plain-list">
                {theme.bands.map((band) => {
                  const cluster = replay.roots[band.cluster]!;
                  return (
                    <li key={cluster}>
                      <Choose {...grown} level="cluster" root={cluster} band={band} />
                    </li>
                  );
                })}
              </ul>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Choose({ level, root, band, bands, names, chosen, onChoose }: Grown & Chosen & { band: Band }) {
  const most = Math.max(1, ...bands.map(({ tokenCount }) => tokenCount));
  return (
    <button
      type="button"
      class="tree-row"
      data-row
      aria-pressed={chosen?.level === level && chosen.root === root}
      onClick={() => onChoose({ level, root })}
    >
      <span class="tree-label">{names.of(root)}</span>
      <span class="meter">
        <span style={{ width: `${(100 * band.tokenCount) / most}%` }} />
      </span>
      <span class="tree-facts">
        {level === "theme" && `${count(band.bands.length, "cluster")}, `}
        {count(band.messageCount, "message")}
      </span>
    </button>
  );
}

/** Explains the entry of the log at the position, and lists the entries around it. */
function Around({ forest: { session }, log, at, names, isPlaying, onMove }: Grown) {
  const position = log.positions[at - 1]!;
  const why = useGet(isPlaying ? null : "/api/why", { session, position }, { delayMs: 120 });
  const from = Math.max(0, at - NEAR_ROWS);
  const rows = Array.from({ length: Math.min(log.count, at + NEAR_ROWS) - from }, (_, index) => from + index);
  const saysThis = !isPlaying && why.data?.position === position ? why.data : undefined;
  return (
    <>
      <h2 id="behind">What happened here</h2>
      <div class="why" aria-live={isPlaying ? "off" : "polite"}>
        {saysThis ? (
          <>
            <p>{saysThis.text}</p>
            <p class="facts">
              {saysThis.similarity !== null && <span>similarity {saysThis.similarity.toFixed(2)}</span>}
              {saysThis.isAdjacent !== null && (
                <span>{saysThis.isAdjacent ? "follows a step of it" : "apart from its steps"}</span>
              )}
              {saysThis.speaker !== null && <span>begins with the {saysThis.speaker}</span>}
              {saysThis.score !== null && <span>score {saysThis.score.toFixed(2)}</span>}
              {saysThis.seqFirst !== null && (
                <a href={href({ view: "session", session, seq: saysThis.seqFirst })}>
                  message {number(saysThis.seqFirst)}
                </a>
              )}
            </p>
          </>
        ) : (
          <p class="muted">{isPlaying ? "The log plays." : why.error ? why.error.message : "Loading"}</p>
        )}
      </div>
      <p class="small needs-server">
        <a href={href({ view: "context", session, moment: `@${position}` })}>What the model saw then</a>
      </p>
      <ol class="plain-list log">
        {rows.map((row) => (
          <li key={row}>
            <button
              type="button"
              class="tree-row"
              data-row
              aria-current={row === at - 1 ? "step" : undefined}
              onClick={() => onMove(row + 1)}
            >
              <span class="log-position">{number(log.positions[row]!)}</span>
              <span class="tree-label">{saidOf(log, row, names)}</span>
            </button>
          </li>
        ))}
      </ol>
    </>
  );
}

function saidOf({ kinds, nodes, roots, scores, seqsFirst }: Log, row: number, names: Names): string {
  const score = Number.isNaN(scores[row]!) ? "" : ` (${scores[row]!.toFixed(2)})`;
  const message = `message ${number(seqsFirst[row]!)}`;
  switch (kinds[row]) {
    case "s":
      return `${message} starts “${names.of(nodes[row]!)}”`;
    case "j":
      return `${message} joins “${names.of(roots[row]!)}”${score}`;
    case "e":
      return `“${names.of(nodes[row]!)}” settles`;
    default:
      return `“${names.of(nodes[row]!)}” unites with “${names.of(roots[row]!)}”${score}`;
  }
}

/** The exact messages behind a theme or a cluster, as they were at the position. */
function Behind({ chosen, forest, log, at, bands, replay, names, isPlaying, onChoose }: Grown & { chosen: Chosen }) {
  const themes = bands.flatMap((theme) => (chosen.level === "theme" ? [theme] : theme.bands));
  const band = themes.find(({ cluster }) => replay.roots[cluster] === chosen.root);
  const handle = `${chosen.level}:${chosen.root}@${log.positions[at - 1]!}`;
  const subject = names.subjectOf(chosen.root);
  return (
    <>
      <div class="title-row">
        <h2 id="behind">{names.of(chosen.root)}</h2>
        <button type="button" class="quiet" onClick={() => onChoose(undefined)} aria-label="Close">
          ✕
        </button>
      </div>
      {band === undefined ? (
        <p class="muted">
          {replay.indexOf(chosen.root) === undefined
            ? "It had not started at this position."
            : "At this position it was a part of another theme."}
        </p>
      ) : (
        <>
          <p class="facts">
            <code>{handle}</code>
            <span>{count(band.messageCount, "message")}</span>
            <span>{tokens(band.tokenCount)}</span>
            <span>
              messages {number(band.seqFirst)}–{number(band.seqLast)}
            </span>
            {chosen.level === "cluster" && <span>{replay.isSettled[band.cluster] ? "settled" : "open"}</span>}
            {subject !== null && <a href={href({ view: "subjects", subject })}>Its subject in other sessions</a>}
            <a href={href({ view: "session", session: forest.session, seq: band.seqFirst })}>Open in the session</a>
          </p>
          {!isPlaying && <NearThis root={chosen.root} />}
          {!isPlaying && <Sources of={{ root: handle }} />}
        </>
      )}
    </>
  );
}

const NEAR_MAX = 3;

/** Themes of other sessions that are nearest to this one. */
function NearThis({ root }: { root: number }) {
  const { data } = useGet("/api/themes", { root, limit: NEAR_MAX });
  if (data === undefined || data.themes.length === 0) return null;
  return (
    <details class="near-this">
      <summary>Near this, in other sessions</summary>
      <Themes themes={data.themes} />
    </details>
  );
}
