import { spawnSync } from "node:child_process";

const COLUMNS = 108;
const [CHAR_WIDTH, LINE_HEIGHT, MARGIN] = [7.8, 18, 16];

/** Colors of SGR codes on a dark ground. */
const COLORS: Record<number, string> = {
  ...{ 31: "#e06c75", 32: "#8fc379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2" },
  ...{ 91: "#f2949b", 92: "#b5e3a1", 93: "#f5d9a0", 94: "#92cbff", 95: "#e0a3f2", 96: "#8ce0ea" },
};
const [GROUND, TEXT] = ["#1e2127", "#d5d9e0"];

/** Draws what commands print on a terminal with colors as an SVG. `headMax` is the most lines of each that are drawn. */
export function drawTerminal(program: string, commands: readonly { words: string[]; headMax: number }[]): string {
  const lines = commands.flatMap(({ words, headMax }) => {
    const { stdout } = spawnSync(process.execPath, [program, ...words], {
      encoding: "utf8",
      env: { ...process.env, COLUMNS: String(COLUMNS), FORCE_COLOR: "1" },
    });
    const typed = words.filter((word, index) => word !== "--db" && words[index - 1] !== "--db");
    const quoted = typed.map((word) => (/[^\w.-]/.test(word) ? `"${word}"` : word)).join(" ");
    const printed = stdout.trimEnd().split("\n");
    const more = printed.length > headMax ? [`\x1b[2m… ${printed.length - headMax} more lines\x1b[22m`] : [];
    return [`\x1b[1m$ coppice ${quoted}\x1b[22m`, ...printed.slice(0, headMax), ...more, ""];
  });
  const [width, height] = [2 * MARGIN + COLUMNS * CHAR_WIDTH, 2 * MARGIN + lines.length * LINE_HEIGHT];
  const rows = lines.map((line, index) => {
    const y = MARGIN + (index + 0.75) * LINE_HEIGHT;
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${spans(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(width)} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="${TEXT}">
<title>Two commands and what they print</title>
<rect width="100%" height="100%" rx="8" fill="${GROUND}"/>
${rows.join("\n")}
</svg>
`;
}

/** One `tspan` for each stretch with the same formats. */
function spans(line: string): string {
  let [color, isBold, isDim] = [TEXT, false, false];
  let drawn = "";
  for (const [, codes, text] of line.matchAll(/(?:\x1b\[([\d;]*)m)?([^\x1b]*)/g)) {
    for (const code of (codes ?? "").split(";").filter(Boolean).map(Number)) {
      if (code === 0) [color, isBold, isDim] = [TEXT, false, false];
      else if (code === 1) isBold = true;
      else if (code === 2) isDim = true;
      else if (code === 22) [isBold, isDim] = [false, false];
      else if (code === 39) color = TEXT;
      else color = COLORS[code] ?? color;
    }
    if (!text) continue;
    const formats = [`fill="${color}"`, isBold ? 'font-weight="bold"' : "", isDim ? 'opacity="0.6"' : ""];
    drawn += `<tspan ${formats.filter(Boolean).join(" ")}>${escaped(text)}</tspan>`;
  }
  return drawn.replace(/(<tspan [^>]*>)([^<]*)<\/tspan>(?:\1([^<]*)<\/tspan>)+/g, (run, open: string) => {
    return `${open}${run.replaceAll(open, "").replaceAll("</tspan>", "")}</tspan>`;
  });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
