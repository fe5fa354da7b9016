import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { UsageRow } from "../../api.ts";
import { useGet } from "../client.ts";
import { compact, number, tokens, usd, visible } from "../format.ts";
import { projectName } from "../live.ts";
import { Title, WhenLoaded } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import { href } from "../router.ts";

const DAY_MS = 86_400_000;
const WEEKS = 53;
/** The side of a day in the heat map with the gap beside it, and the room for the names of months above. */
const STEP = 13;
const HEAD = 16;
/** How much of the accent a day has, by how much was used. */
const LEVELS = ["30%", "52%", "76%", "100%"];
const ROWS_MAX = 60;
const KEYS = ["day", "project", "model", "agent"] as const;
type Key = (typeof KEYS)[number];
const SUMMED = ["Replies", "Tokens read", "From cache", "Tokens written", "Cost"];

/** What agents' models read and wrote. */
export function Usage() {
  const [by, setBy] = useState<Key>("day");
  const loaded = useGet("/api/usage", { offsetMinutes: -new Date().getTimezoneOffset() });
  return (
    <section>
      <Title of={loaded} level="h2">
        What agents used
      </Title>
      <p class="muted">Tokens that their models read and wrote, and what that cost, as far as transcripts tell.</p>
      <WhenLoaded of={loaded}>
        {({ rows }) =>
          rows.length === 0 ? (
            <p class="muted">No transcript tells it.</p>
          ) : (
            <>
              <HeatMap rows={rows} />
              <div class="tools" role="group" aria-label="Add up by">
                {KEYS.map((key) => (
                  <button key={key} type="button" aria-pressed={by === key} onClick={() => setBy(key)}>
                    By {key}
                  </button>
                ))}
              </div>
              <Table
                head={[by[0]!.toUpperCase() + by.slice(1), ...SUMMED]}
                rows={sums(rows, by).slice(0, ROWS_MAX).map(rowOf)}
              />
            </>
          )
        }
      </WhenLoaded>
    </section>
  );

  function rowOf([name, sum]: [string, Sum]): string[] {
    return [
      by === "project" ? visible(projectName(name)) || "no project" : visible(name) || "not known",
      number(sum.replyCount),
      compact(sum.inputTokens),
      compact(sum.cachedTokens),
      compact(sum.outputTokens),
      usd(sum.costUsd),
    ];
  }
}

type Sum = Omit<UsageRow, Key>;

/** Adds up rows: days newest first, and others with the most tokens first. */
function sums(rows: readonly UsageRow[], by: Key): [string, Sum][] {
  const found = new Map<string, Sum>();
  for (const row of rows) {
    const sum = found.get(row[by] ?? "");
    const { replyCount, inputTokens, cachedTokens, outputTokens, costUsd } = row;
    found.set(row[by] ?? "", {
      replyCount: replyCount + (sum?.replyCount ?? 0),
      inputTokens: inputTokens + (sum?.inputTokens ?? 0),
      cachedTokens: cachedTokens + (sum?.cachedTokens ?? 0),
      outputTokens: outputTokens + (sum?.outputTokens ?? 0),
      costUsd: costUsd === null ? (sum?.costUsd ?? null) : costUsd + (sum?.costUsd ?? 0),
    });
  }
  return [...found].sort(([left, one], [right, other]) =>
    by === "day" ? (left < right ? 1 : -1) : sizeOf(other) - sizeOf(one),
  );
}

function sizeOf({ inputTokens, outputTokens }: Sum): number {
  return inputTokens + outputTokens;
}

/** A year up to the newest day, a column a week. The arrow keys go from day to day, and a day leads to its sessions. */
function HeatMap({ rows }: { rows: readonly UsageRow[] }) {
  const days = new Map(sums(rows, "day"));
  // A wrong clock may have written days that are still to come.
  const now = new Date();
  const today = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  const newest = Date.parse([...days.keys()].find((day) => day <= today) ?? today);
  const first = newest - (new Date(newest).getUTCDay() + 7 * (WEEKS - 1)) * DAY_MS;
  const cells = Array.from({ length: Math.round((newest - first) / DAY_MS) + 1 }, (_, index) => {
    const day = new Date(first + index * DAY_MS).toISOString().slice(0, 10);
    return { index, day, sum: days.get(day) };
  });
  const most = Math.max(1, ...cells.map(({ sum }) => (sum ? sizeOf(sum) : 0)));
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const links = [...(event.currentTarget as Element).querySelectorAll<SVGAElement>("a")];
    links[links.indexOf(document.activeElement as SVGAElement) + step]?.focus();
  };
  const last = cells.at(-1)!.index;
  const figure = useRef<HTMLElement>(null);
  // On a narrow screen, the newest days are shown first.
  useLayoutEffect(() => figure.current?.scrollTo({ left: figure.current.scrollWidth }), []);
  return (
    <figure class="heat" ref={figure}>
      <svg
        viewBox={`0 0 ${WEEKS * STEP} ${HEAD + 7 * STEP}`}
        role="group"
        aria-label="Tokens of each day of a year. The table below has the same."
        onKeyDown={move}
      >
        {cells.map(({ index, day, sum }) => {
          const [x, y] = [Math.floor(index / 7) * STEP, HEAD + (index % 7) * STEP];
          const level = Math.ceil(LEVELS.length * Math.sqrt((sum ? sizeOf(sum) : 0) / most));
          const fill = sum && `color-mix(in srgb, var(--accent) ${LEVELS[Math.max(0, level - 1)]}, var(--paper))`;
          const square = <rect x={x} y={y} width={STEP - 2} height={STEP - 2} rx={2} style={fill ? { fill } : {}} />;
          if (sum === undefined) return <g key={day}>{square}</g>;
          const cost = sum.costUsd === null ? "" : `, ${usd(sum.costUsd)}`;
          const label = `${day}: ${tokens(sizeOf(sum))}${cost}`;
          return (
            <a key={day} href={href({ on: day })} aria-label={label} tabIndex={index === last ? 0 : -1}>
              <title>{label}</title>
              {square}
            </a>
          );
        })}
        {cells
          .filter(({ day, index }) => day.endsWith("-01") && index < 7 * (WEEKS - 2))
          .map(({ index, day }) => (
            <text key={day} x={Math.floor(index / 7) * STEP} y={11}>
              {MONTH.format(Date.parse(day))}
            </text>
          ))}
      </svg>
    </figure>
  );
}

const MONTH = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });
