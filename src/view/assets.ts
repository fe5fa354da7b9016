import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { StoreError } from "../core/errors.ts";

export interface Asset {
  type: string;
  bytes: Buffer;
  etag: string;
}

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
};

/** Where the build puts the page: beside the built program, or seen from the source. */
const FOLDERS = ["./view", "../../dist/view"].map((path) => fileURLToPath(new URL(path, import.meta.url)));

const NOT_BUILT = `<!doctype html>
<meta charset="utf-8">
<title>Coppice</title>
<p>The page has not been built. Run <code>npm run build</code>, and start <code>coppice view</code> again.</p>
`;

/** Reads the files of the page into memory by their paths in URLs. Nothing else of the disk can be asked for. */
export function readAssets(folder = FOLDERS.find((path) => existsSync(join(path, "index.html")))): Map<string, Asset> {
  const names = folder === undefined ? [] : readdirSync(folder).filter((name) => extname(name) in TYPES);
  const assets = new Map(names.map((name) => [`/${name}`, assetOf(name, readFileSync(join(folder!, name)))]));
  assets.set("/", assets.get("/index.html") ?? assetOf("index.html", Buffer.from(NOT_BUILT)));
  return assets;
}

/**
 * Returns the page with its script and style inside, as what stands before its answers and after them. It may load and send nothing.
 *
 * @throws {StoreError} `FILE_NOT_USABLE` if the page has not been built.
 */
export function pageAround(assets: ReadonlyMap<string, Asset>): [before: string, after: string] {
  const [html, style, script] = ["/", "/page.css", "/page.js"].map((path) => assets.get(path)?.bytes.toString());
  if (style === undefined || script === undefined) {
    const fix = "Run `npm run build`.";
    throw new StoreError("FILE_NOT_USABLE", { path: "dist/view", reason: "the page has not been built", fix });
  }
  const digest = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  const [head, after] = html!.split("</body>");
  const before = head!
    .replace(
      /<meta charset[^>]*>/,
      (found) => `${found}<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    )
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
    .replace(/<script[^>]*><\/script>/, () => `<script type="module">${script}</script>`);
  return [`${before}<script type="application/json" id="answers">{`, `}</script></body>${after}`];
}

function assetOf(name: string, bytes: Buffer): Asset {
  const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  return { type: TYPES[extname(name)]!, bytes, etag: `"${digest}"` };
}
