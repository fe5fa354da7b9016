import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { expect, onTestFinished } from "vitest";
import type { Store } from "../../src/index.ts";
import type { GetRoutes, PostRoutes } from "../../src/view/api.ts";
import { serveView, type ViewOptions } from "../../src/view/index.ts";
import { KEY_HEADER } from "../../src/view/questions.ts";
import type { Query } from "../../src/view/requests.ts";

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Asked {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
}

/** A view that is served until the test is over, and a browser that may have entered it. */
export class ServedView {
  readonly port: number;
  readonly token: string;
  key: string | undefined;

  private constructor(url: string) {
    const { port, hash } = new URL(url);
    this.port = Number(port);
    this.token = hash.slice("#t=".length);
  }

  static async of(store: Store | string, options: ViewOptions = {}): Promise<ServedView> {
    const view = await serveView(store, options);
    onTestFinished(() => view.close());
    return new ServedView(view.url);
  }

  /** A view whose token has been exchanged. */
  static async entered(store: Store | string, options: ViewOptions = {}): Promise<ServedView> {
    const view = await ServedView.of(store, options);
    const { status, body } = await view.enter();
    expect(status).toBe(200);
    view.key = JSON.parse(body).key;
    return view;
  }

  enter(token = this.token): Promise<Answered> {
    const headers = { "content-type": "application/json" };
    return this.ask("/api/enter", { method: "POST", headers, body: JSON.stringify({ token }) });
  }

  /** Sends exactly this path and these headers, as no browser would. */
  ask(path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const own = this.key === undefined ? {} : { [KEY_HEADER]: this.key };
      const options = { host: "127.0.0.1", port: this.port, path, method, headers: { ...own, ...headers } };
      const request = httpRequest({ ...options, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, body: Buffer.concat(chunks).toString() });
        });
      });
      request.on("error", reject);
      request.end(body);
    });
  }

  async get<R extends keyof GetRoutes>(route: R, query: Query<R>): Promise<GetRoutes[R]> {
    const { status, body } = await this.refusable(route, query);
    expect(status, body).toBe(200);
    return JSON.parse(body);
  }

  /** Like `get`, for a question that may be refused. */
  refusable(route: string, query: object): Promise<Answered> {
    const parameters = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return this.ask(`${route}?${parameters}`);
  }

  async post<R extends keyof PostRoutes>(route: R, body: PostRoutes[R]["request"]): Promise<Answered> {
    const headers = { "content-type": "application/json", origin: `http://127.0.0.1:${this.port}` };
    return this.ask(route, { method: "POST", headers, body: JSON.stringify(body) });
  }
}
