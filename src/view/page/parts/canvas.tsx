import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  /** In CSS pixels; left out if a style gives the height. */
  height?: number;
  /** What it shows, for those who do not see it; left out for a picture that is hidden from them. */
  label?: string;
  /** Draws in CSS pixels. It is called when the size, the colors of the page or the function change. */
  draw: (context: CanvasRenderingContext2D, width: number, height: number) => void;
  onPoint?: (point: { x: number; y: number; width: number; height: number; isPress: boolean; isHeld: boolean }) => void;
  onLeave?: () => void;
  class?: string;
}

/** A picture that is as wide as its place. What it shows is also in text beside it. */
export function Canvas({ height: given, label, draw, onPoint, onLeave, class: name = "" }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [{ width, height }, setSize] = useState({ width: 0, height: 0 });
  const [scheme, setScheme] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const [width, height] = [Math.floor(entry!.contentRect.width), Math.floor(entry!.contentRect.height)];
      setSize({ width, height });
    });
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
    if (width * height === 0) return;
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
    const { left, top, width, height } = canvas.current!.getBoundingClientRect();
    const isHeld = isPress || event.buttons === 1;
    onPoint?.({ x: event.clientX - left, y: event.clientY - top, width, height, isPress, isHeld });
  };
  return (
    <canvas
      ref={canvas}
      class={`picture ${name}`}
      style={given === undefined ? {} : { height: `${given}px` }}
      {...(label !== undefined && { role: "img", "aria-label": label })}
      onPointerMove={point(false)}
      onPointerDown={point(true)}
      onPointerLeave={onLeave}
    />
  );
}

/** Returns the color that a style of the page names, for a canvas. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches;

/** Returns one of many colors that differ in hue only: neighbors are far apart. */
export function hue(index: number, dark: boolean): string {
  const angle = (155 + index * 137.508) % 360;
  return dark ? `hsl(${angle.toFixed(0)} 24% 42%)` : `hsl(${angle.toFixed(0)} 32% 74%)`;
}

/** Returns a color for an age, from old (0) to new (1). */
export function ageColor(age: number, dark: boolean): string {
  const share = Math.max(0, Math.min(1, age));
  return dark
    ? `hsl(${(60 + 90 * share).toFixed(0)} ${(8 + 30 * share).toFixed(0)}% ${(24 + 20 * share).toFixed(0)}%)`
    : `hsl(${(60 + 90 * share).toFixed(0)} ${(14 + 26 * share).toFixed(0)}% ${(86 - 38 * share).toFixed(0)}%)`;
}
