import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

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

function assetOf(name: string, bytes: Buffer): Asset {
  const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  return { type: TYPES[extname(name)]!, bytes, etag: `"${digest}"` };
}
