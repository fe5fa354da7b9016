import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { KEY_HEADER } from "./questions.ts";
import { RefusedRequest } from "./refusal.ts";

const SECRET_BYTES = 16;

/**
 * Decides who may ask. The server holds what people said to their agents, and every page of every browser can reach it.
 *
 * - Only names of this machine are accepted as `Host`, so that a foreign name that leads here (DNS rebinding) is refused.
 * - Requests that another origin's page causes are refused, whatever they ask for. There is one exception: until the token is used,
 *   the page may be opened from elsewhere, because `coppice view` opens a file that leads to it. The page itself holds no data.
 * - Data needs a key in a header. It is given once, for the token in the fragment of the printed URL, which no log and no `Referer`
 *   holds.
 */
export class Guard {
  readonly token = randomBytes(SECRET_BYTES).toString("base64url");
  readonly #key = randomBytes(SECRET_BYTES).toString("base64url");
  readonly #hosts: ReadonlySet<string>;
  #isTokenUsed = false;

  constructor(port: number) {
    this.#hosts = new Set(["127.0.0.1", "localhost", "[::1]"].map((host) => `${host}:${port}`));
  }

  /** @throws {RefusedRequest} for a request that does not come from the page or from the address bar. */
  assertOwnOrigin({ method, url = "", headers, rawHeaders }: IncomingMessage): void {
    const host = headers.host?.toLowerCase();
    if (host === undefined || !this.#hosts.has(host) || countOf(rawHeaders, "host") !== 1) {
      throw new RefusedRequest(421, "HOST_REFUSED", "This server answers only to the names of its own machine.");
    }
    const site = headers["sec-fetch-site"];
    const isNavigation = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
    const isFirst = !this.#isTokenUsed && method === "GET" && url === "/" && isNavigation;
    const isForeignSite = site !== undefined && site !== "same-origin" && site !== "none" && !isFirst;
    if (isForeignSite || (headers.origin !== undefined && headers.origin !== `http://${host}`)) {
      throw new RefusedRequest(403, "ORIGIN_REFUSED", "This server answers only to its own page.");
    }
  }

  /** @throws {RefusedRequest} for a request without the key. */
  assertEntered({ headers }: IncomingMessage): void {
    const key = headers[KEY_HEADER];
    if (typeof key !== "string" || !isSame(key, this.#key)) {
      throw new RefusedRequest(401, "NOT_ENTERED", "Open the URL that `coppice view` printed.");
    }
  }

  /** Returns the key for the token. @throws {RefusedRequest} for a wrong token, and for the second use of the right one. */
  enter(token: string): string {
    if (!isSame(token, this.token))
      throw new RefusedRequest(401, "TOKEN_REFUSED", "The token is not that of this server.");
    if (this.#isTokenUsed) {
      const message = "The URL has been opened before. End `coppice view` and start it again for a new one.";
      throw new RefusedRequest(401, "TOKEN_USED", message);
    }
    this.#isTokenUsed = true;
    return this.#key;
  }
}

/** Compares in a time that does not depend on where two texts differ. */
function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function countOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((header, index) => index % 2 === 0 && header.toLowerCase() === name).length;
}
