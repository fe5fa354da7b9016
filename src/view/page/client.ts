import { useEffect, useState } from "preact/hooks";
import type { GetRoutes, PostRoutes, Refusal } from "../api.ts";
import { urlOf } from "../questions.ts";
import type { Query } from "../requests.ts";
import { ask } from "./asking.ts";
import { version } from "./live.ts";

type Request<R extends keyof GetRoutes> = OrUndefined<Query<R>>;
/** A field that is undefined is not sent. */
type OrUndefined<T> = { [K in keyof T]: T[K] | undefined };

/** A refusal by the server. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function get<R extends keyof GetRoutes>(
  route: R,
  request: Request<R>,
  signal?: AbortSignal,
): Promise<GetRoutes[R]> {
  return answerOf(ask(urlOf(route, request), { signal: signal ?? null }));
}

export function post<R extends keyof PostRoutes>(
  route: R,
  body: OrUndefined<PostRoutes[R]["request"]>,
  signal?: AbortSignal,
): Promise<PostRoutes[R]["answer"]> {
  const headers = { "content-type": "application/json" };
  return answerOf(ask(route, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null }));
}

async function answerOf<A>(fetching: Promise<Response>): Promise<A> {
  let response: Response;
  try {
    response = await fetching;
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Refused("UNREACHABLE", "Nothing answers at this address. Is `coppice view` still running?");
  }
  const body = (await response.json().catch(() => null)) as A | Refusal | null;
  if (response.ok && body !== null) return body as A;
  const { code, message } = (body as Refusal | null)?.error ?? {
    code: `HTTP_${response.status}`,
    message: response.statusText,
  };
  throw new Refused(code, message);
}

export interface Loaded<A> {
  /** The newest answer, also while the next one is loading. */
  data: A | undefined;
  error: Refused | undefined;
  isLoading: boolean;
  /** The address of the JSON. */
  url: string;
  reload: () => void;
}

/**
 * Loads an answer, and loads it again when the request changes.
 *
 * @param route  Null to load nothing yet.
 * @param options.live  True to load it again when the store changes.
 */
export function useGet<R extends keyof GetRoutes>(
  route: R | null,
  request: Request<R>,
  { live = false, delayMs = 0 }: { live?: boolean; delayMs?: number } = {},
): Loaded<GetRoutes[R]> {
  const url = route === null ? "" : urlOf(route, request);
  const [state, setState] = useState<{ url: string; data?: GetRoutes[R] | undefined; error?: Refused | undefined }>({
    url: "",
  });
  const [tries, setTries] = useState(0);
  const seen = live ? version.value : 0;
  useEffect(() => {
    if (route === null) return;
    const aborting = new AbortController();
    const load = () =>
      get(route, request, aborting.signal).then(
        (data) => setState({ url, data }),
        (error) => {
          if (!aborting.signal.aborted)
            setState((last) => ({ url, data: last.url === url ? last.data : undefined, error }));
        },
      );
    const timer = delayMs === 0 ? undefined : setTimeout(load, delayMs);
    if (timer === undefined) load();
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [url, seen, tries]);
  return {
    data: state.data,
    error: state.error,
    isLoading: url !== "" && state.url !== url,
    url,
    reload: () => setTries(tries + 1),
  };
}
