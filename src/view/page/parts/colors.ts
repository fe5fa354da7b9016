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
