import { useEffect, useRef, useState } from "preact/hooks";
import { colorOf } from "./colors.ts";
import type { Outline } from "./outline.ts";

/** The whole session in a strip: a bar for the tokens of each turn, and where the window is. For the mouse; the box beside it has keys. */
export function Overview({
  outline,
  evictedSeq,
  shown,
  onJump,
}: {
  outline: Outline;
  evictedSeq: number;
  shown: readonly [number, number];
  onJump: (index: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setHeight(Math.floor(entry!.contentRect.height)));
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (height === 0) return;
    const element = canvas.current!;
    const ratio = devicePixelRatio;
    const width = element.clientWidth;
    element.width = width * ratio;
    element.height = height * ratio;
    const context = element.getContext("2d")!;
    context.scale(ratio, ratio);
    const bins = new Float64Array(height);
    for (let index = 0; index < outline.count; index++)
      bins[Math.floor((index / outline.count) * height)]! += outline.tokenCounts[index]!;
    const most = Math.max(...bins, 1);
    const bar = height / Math.max(1, Math.min(outline.count, height));
    const [cold, hot] = [colorOf("--line-strong"), colorOf("--accent")];
    for (let y = 0; y < height; y++) {
      if (bins[y] === 0) continue;
      context.fillStyle = outline.seqs[Math.floor((y / height) * outline.count)]! >= evictedSeq ? hot : cold;
      context.fillRect(0, y, Math.max(2, Math.sqrt(bins[y]! / most) * width), Math.max(1, bar - 1));
    }
  }, [outline, evictedSeq, height]);
  const [first, last] = shown;
  const to = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    onJump(Math.floor(((event.clientY - box.top) / box.height) * outline.count));
  };
  return (
    <div class="overview" aria-hidden="true" title="Tokens along the session; what is hot is green">
      <canvas ref={canvas} onPointerDown={to} onPointerMove={(event) => event.buttons === 1 && to(event)} />
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
