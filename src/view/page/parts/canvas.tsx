import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  height: number;
  label: string;
  /** Draws in CSS pixels. It is called when the size, the colors of the page or the function change. */
  draw: (context: CanvasRenderingContext2D, width: number, height: number) => void;
  onPoint?: (x: number, y: number, width: number, isPress: boolean) => void;
  onLeave?: () => void;
  class?: string;
}

/** A picture that is as wide as its place. What it shows is also in text beside it. */
export function Canvas({ height, label, draw, onPoint, onLeave, class: name = "" }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [scheme, setScheme] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(canvas.current!);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const onScheme = () => setScheme((count) => count + 1);
    dark.addEventListener("change", onScheme);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", onScheme);
    };
  }, []);
  useEffect(() => {
    if (width === 0) return;
    const element = canvas.current!;
    const [columns, rows] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    if (element.width !== columns || element.height !== rows) {
      element.width = columns;
      element.height = rows;
    }
    const context = element.getContext("2d")!;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  }, [width, height, draw, scheme]);
  const point = (isPress: boolean) => (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    onPoint?.(event.clientX - box.left, event.clientY - box.top, box.width, isPress);
  };
  return (
    <canvas
      ref={canvas}
      class={`picture ${name}`}
      style={{ height: `${height}px` }}
      role="img"
      aria-label={label}
      onPointerMove={point(false)}
      onPointerDown={point(true)}
      onPointerLeave={onLeave}
    />
  );
}
