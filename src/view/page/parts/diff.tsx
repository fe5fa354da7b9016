import { visible } from "../format.ts";
import { compare, type DiffLine } from "./compare.ts";

const LINES_MAX = 400;

export function isDiff(text: string): boolean {
  return /^(diff --git |--- .+\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 2000));
}

/** A text in the form of `diff -u`. */
export function Diff({ text }: { text: string }) {
  return <DiffLines lines={linesOfDiff(visible(text))} />;
}

/** Shows the text that an edit replaces, line by line. */
export function Edit({ before, after }: { before: string; after: string }) {
  return <DiffLines lines={compare(visible(before), visible(after))} />;
}

function DiffLines({ lines }: { lines: DiffLine[] }) {
  const shown = lines.slice(0, LINES_MAX);
  return (
    <pre class="code diff" tabIndex={0}>
      {shown.map(({ kind, text }, index) => (
        <span key={index} class={`diff-${kind}`}>
          <span class="visually-hidden">{kind === "added" ? "added: " : kind === "removed" ? "removed: " : ""}</span>
          <span aria-hidden="true">{kind === "added" ? "+ " : kind === "removed" ? "− " : "  "}</span>
          {text}
          {"\n"}
        </span>
      ))}
      {lines.length > shown.length && `… ${lines.length - shown.length} more lines`}
    </pre>
  );
}

function linesOfDiff(text: string): DiffLine[] {
  return text.split("\n").map((line) => {
    if (/^(@@|diff |index |--- |\+\+\+ )/.test(line)) return { kind: "frame", text: line };
    if (line.startsWith("+")) return { kind: "added", text: line.slice(1) };
    if (line.startsWith("-")) return { kind: "removed", text: line.slice(1) };
    return { kind: "same", text: line.replace(/^ /, "") };
  });
}
