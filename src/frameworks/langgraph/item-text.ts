/**
 * Returns the text of a value that is searched: that of every path, or of the whole value.
 *
 * A path is as in LangGraph: `metadata.title`, `chapters[*].content`, `authors[-1]`, `{title,summary}`, `*`, and `$` for all.
 */
export function textOfValue(value: unknown, paths: readonly string[] = ["$"]): string {
  return paths.flatMap((path) => textsAt(value, path === "$" ? [] : stepsOf(path))).join("\n");
}

function stepsOf(path: string): string[] {
  return path.match(/\[[^\]]*\]|\{[^}]*\}|[^.[\]{}]+/g) ?? [];
}

function textsAt(value: unknown, [step, ...rest]: readonly string[]): string[] {
  if (step === undefined) return leavesOf(value);
  if (step.startsWith("{"))
    return step
      .slice(1, -1)
      .split(",")
      .flatMap((path) => textsAt(value, [...stepsOf(path.trim()), ...rest]));
  if (step === "*" || step === "[*]") return Object.values(value ?? {}).flatMap((one) => textsAt(one, rest));
  if (step.startsWith("["))
    return Array.isArray(value) ? textsAt(value.at(Number.parseInt(step.slice(1, -1), 10)), rest) : [];
  const isField = typeof value === "object" && value !== null && Object.hasOwn(value, step);
  return isField ? textsAt((value as Record<string, unknown>)[step], rest) : [];
}

function leavesOf(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leavesOf);
  return value === null || value === undefined ? [] : [String(value)];
}
