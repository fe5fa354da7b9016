import { useCallback } from "preact/hooks";
import { Canvas, colorOf } from "./canvas.tsx";
import type { Outline } from "./outline.ts";

interface Deed {
  /** The letter in `Outline.deeds`, or `u` for a message of the user. */
  letter: string;
  color: string;
  name: string;
}

/** What happened, the most telling first: where a place of the strip has several messages, it gets the color of this one. */
const DEEDS: readonly Deed[] = [
  { letter: "c", color: "--how-summary", name: "compacted" },
  { letter: "f", color: "--danger", name: "failed" },
  { letter: "u", color: "--accent", name: "asked" },
  { letter: "w", color: "--how-quoted", name: "changed" },
  { letter: "x", color: "--how-shortened", name: "ran" },
  { letter: "r", color: "--line-strong", name: "read" },
];
/** The room at the left for the line beside what is hot, and the width of what happened, in pixels. */
const HOT_WIDTH = 4;
const DEED_WIDTH = 14;
const SAID = "--how-absent";

function deedAt({ roles, deeds }: Outline, index: number): number {
  const letter = deeds[index] === "-" ? roles[index] : deeds[index];
  const found = DEEDS.findIndex((deed) => deed.letter === letter);
  return found === -1 ? DEEDS.length : found;
}

/** Names the colors of the strip that occur in the session. What is only said has no name. */
export function DeedLegend({ outline }: { outline: Outline }) {
  const isThere = new Set(Array.from({ length: outline.count }, (_, index) => deedAt(outline, index)));
  return (
    <ul class="legend" aria-label="Colors of the strip">
      {DEEDS.map(
        ({ color, name }, index) =>
          isThere.has(index) && (
            <li key={name}>
              <span class="swatch" style={{ background: `var(${color})` }} />
              {name}
            </li>
          ),
      )}
    </ul>
  );
}

/**
 * The whole session in a strip: what happened in each part, its tokens as a bar, and where the window is. For the mouse;
 * the box beside it has keys.
 */
export function Overview(props: {
  outline: Outline;
  evictedSeq: number;
  shown: readonly [number, number];
  onJump: (index: number) => void;
}) {
  const { outline, evictedSeq, shown, onJump } = props;
  const draw = useCallback(
    (context: CanvasRenderingContext2D, width: number, height: number) => {
      const bins = new Float64Array(height);
      const deeds = new Uint8Array(height).fill(DEEDS.length);
      for (let index = 0; index < outline.count; index++) {
        const y = Math.floor((index / outline.count) * height);
        bins[y]! += outline.tokenCounts[index]!;
        deeds[y] = Math.min(deeds[y]!, deedAt(outline, index));
      }
      const most = Math.max(...bins, 1);
      const bar = height / Math.max(1, Math.min(outline.count, height));
      const colors = [...DEEDS.map(({ color }) => color), SAID].map(colorOf);
      const [hot, tokens] = [colorOf("--accent"), colorOf("--line-strong")];
      for (let y = 0; y < height; y++) {
        if (bins[y] === 0) continue;
        const thickness = bar < 3 ? Math.ceil(bar) : bar - 1;
        context.fillStyle = colors[deeds[y]!]!;
        context.fillRect(HOT_WIDTH, y, DEED_WIDTH, thickness);
        context.fillStyle = tokens;
        const from = HOT_WIDTH + DEED_WIDTH + 2;
        context.fillRect(from, y, Math.sqrt(bins[y]! / most) * (width - from), thickness);
        if (outline.seqs[Math.floor((y / height) * outline.count)]! < evictedSeq) continue;
        context.fillStyle = hot;
        context.fillRect(0, y, 2, bar);
      }
    },
    [outline, evictedSeq],
  );
  const [first, last] = shown;
  return (
    <div class="overview" aria-hidden="true" title="What happened along the session; the line marks what is hot">
      <Canvas
        draw={draw}
        onPoint={({ y, height, isHeld }) => isHeld && onJump(Math.floor((y / height) * outline.count))}
      />
      <span
        class="overview-window"
        style={{
          top: `${(first / outline.count) * 100}%`,
          height: `${Math.max(0.5, ((last - first + 1) / outline.count) * 100)}%`,
        }}
      />
    </div>
  );
}
