import { isJsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { clock, measureSkew } from "./time.ts";

/** A request that failed, with what the server gave as its reason. `status` is 0 if there was no answer. */
export class RequestFailure extends Error {
  readonly status: number;
  /** Of the Status, such as `NotFound`. */
  readonly reason: string;
  /** `GET /slipway/runs`. */
  readonly tried: string;

  constructor(tried: string, status: number, reason: string, message: string) {
    super(message);
    this.name = "RequestFailure";
    this.tried = tried;
    this.status = status;
    this.reason = reason;
  }
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

export const base = "/slipway";

const keyName = "slipway.session";
/** Where storage is forbidden, the session lasts as long as the page. */
let keptKey = "none";

/** What proves that a request is of this page: cookies alone reach every port of the host. */
function sessionKey(): string {
  try {
    return localStorage.getItem(keyName) ?? keptKey;
  } catch {
    return keptKey;
  }
}

/** Keeps the key of a new session, for all pages of this browser. */
export function keepSessionKey(key: string): void {
  keptKey = key;
  try {
    localStorage.setItem(keyName, key);
  } catch {
    // As above.
  }
}

export function addressOf(path: string, query: RequestOptions["query"] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") parameters.set(name, value);
  const text = parameters.toString();
  return `${base}${path}${text === "" ? "" : `?${text}`}`;
}

/** Sends one request with the session's cookie; answers that are not 2xx reject with a `RequestFailure`. */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const address = addressOf(path, options.query);
  const tried = `${method} ${address}`;
  let response: Response;
  try {
    response = await fetch(address, {
      method,
      credentials: "same-origin",
      headers: {
        "X-Slipway-Request": sessionKey(),
        Accept: options.accept ?? "application/json",
        ...(options.body === undefined ? {} : { "Content-Type": options.contentType ?? "application/json" }),
      },
      ...(options.body === undefined
        ? {}
        : { body: typeof options.body === "string" ? options.body : JSON.stringify(options.body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  } catch (thrown) {
    if (options.signal?.aborted === true) throw thrown;
    throw new RequestFailure(tried, 0, "Unreachable", "the server does not answer");
  }
  if (response.ok) return response;
  throw await failureOf(tried, response);
}

async function failureOf(tried: string, response: Response): Promise<RequestFailure> {
  const text = await response.text().catch(() => "");
  let status: JsonValue | undefined;
  try {
    status = JSON.parse(text) as JsonValue;
  } catch {
    // Not a Status: the text itself is all there is.
  }
  const message = textAt(status, "message") ?? (text.slice(0, 500) || response.statusText);
  return new RequestFailure(tried, response.status, textAt(status, "reason") ?? `HTTP ${response.status}`, message);
}

/** The JSON of an answer. The border at which the server's word for the shape is taken: both sides share wire.ts. */
export async function requestJson<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const sentAt = clock.now();
  const response = await send(method, path, options);
  const value = (await response.json()) as JsonValue;
  if (isJsonObject(value) && typeof value["now"] === "number") measureSkew(value["now"], sentAt, clock.now());
  return value as T;
}
