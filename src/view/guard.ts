import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { RefusedRequest } from "./refusal.ts";

const SECRET_BYTES = 16;

/**
 * Decides who may ask. The server holds what people said to their agents, and every page of every browser can reach it.
 *
 * - Only names of this machine are accepted as `Host`, so that a foreign name that leads here (DNS rebinding) is refused.
 * - Requests that another origin's page causes are refused, whatever they ask for. There is one exception: until the token is used,
 *   the page may be opened from elsewhere, because `coppice view` opens a file that leads to it. The page itself holds no data.
 * - Data needs a cookie. It is set once, for the token in the fragment of the printed URL, which no log and no `Referer` holds.
 */
export class Guard {
  readonly token = randomBytes(SECRET_BYTES).toString("base64url");
  readonly #cookie = randomBytes(SECRET_BYTES).toString("base64url");
  readonly #hosts: ReadonlySet<string>;
  readonly #cookieName: string;
  #isTokenUsed = false;

  constructor(port: number) {
    // Ports share the cookies of a host.
    this.#cookieName = `coppice-view-${port}`;
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

  /** @throws {RefusedRequest} for a request without the cookie. */
  assertEntered({ headers }: IncomingMessage): void {
    const cookies = headers.cookie?.split(/;\s*/) ?? [];
    const values = cookies.filter((cookie) => cookie.startsWith(`${this.#cookieName}=`));
    const isEntered = values.some((cookie) => isSame(cookie.slice(this.#cookieName.length + 1), this.#cookie));
    if (!isEntered) {
      throw new RefusedRequest(401, "NOT_ENTERED", "Open the URL that `coppice view` printed.");
    }
  }

  /** Exchanges the token for the cookie. @throws {RefusedRequest} for a wrong token, and for the second use of the right one. */
  enter(token: string): OutgoingHttpHeaders {
    if (!isSame(token, this.token))
      throw new RefusedRequest(401, "TOKEN_REFUSED", "The token is not that of this server.");
    if (this.#isTokenUsed) {
      const message = "The URL has been opened before. End `coppice view` and start it again for a new one.";
      throw new RefusedRequest(401, "TOKEN_USED", message);
    }
    this.#isTokenUsed = true;
    return { "set-cookie": `${this.#cookieName}=${this.#cookie}; HttpOnly; SameSite=Strict; Path=/` };
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
