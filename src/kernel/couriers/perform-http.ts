import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { type Clock, type JsonObject, messageOf, onAbort } from "#lib/base/index.ts";
import type { EffectAnswer, OutsideRequest } from "./courier.ts";
import { EgressRules } from "./egress.ts";

export type HttpRequest = Extract<OutsideRequest, { kind: "http" }>;

const usualRedirects = 10;
export const longestBody = 4 * 1024 * 1024;

export interface HttpSurroundings {
  readonly denied: readonly string[];
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Default: 10. */
  readonly mostRedirects?: number;
}

/**
 * Any status is an answer. The time limit is for all redirects together. What fails before the connection stands was
 * not sent; after that nobody knows what the server has seen.
 */
export async function performHttp(request: HttpRequest, around: HttpSurroundings): Promise<EffectAnswer> {
  const rules = new EgressRules(around.denied);
  const limit = new AbortController();
  const cancel = around.clock.after(request.timeoutMs, () =>
    limit.abort(new Error(`no answer within ${request.timeoutMs / 1000}s`)),
  );
  const progress = { isSent: false };
  const release = onAbort(around.signal, () => limit.abort(around.signal?.reason));
  try {
    return await follow(request, rules, limit.signal, progress, around.mostRedirects);
  } catch (thrown) {
    const message = limit.signal.aborted ? messageOf(limit.signal.reason) : messageOf(thrown);
    return { ok: false, message: `${request.method} ${hostOf(request.url)}: ${message}`, ...doneIf(progress) };
  } finally {
    cancel();
    release();
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "invalid URL");

interface Sending {
  isSent: boolean;
}

const doneIf = ({ isSent }: Sending): { readonly isDone?: true } => (isSent ? { isDone: true } : {});

async function follow(
  first: HttpRequest,
  rules: EgressRules,
  signal: AbortSignal,
  progress: Sending,
  mostRedirects = usualRedirects,
): Promise<EffectAnswer> {
  const reached = await reach(first, rules, signal, progress, mostRedirects);
  if (reached !== undefined) return answerOf(reached.request, reached.response);
  return { ok: false, message: `${first.method} ${hostOf(first.url)}: ${tooMany(mostRedirects)}`, isDone: true };
}

const tooMany = (redirects: number): string => `stopped after ${redirects} redirects`;

/** The body of a GET request after its redirects; the answer may have any status. */
export async function openHttp(url: string, rules: EgressRules, signal: AbortSignal): Promise<IncomingMessage> {
  const request: HttpRequest = { kind: "http", method: "GET", url, headers: {}, timeoutMs: 0 };
  const reached = await reach(request, rules, signal, { isSent: false });
  if (reached === undefined) throw new Error(tooMany(usualRedirects));
  return reached.response;
}

interface Reached {
  readonly request: HttpRequest;
  readonly response: IncomingMessage;
}

/** Undefined if there are too many redirects. */
async function reach(
  first: HttpRequest,
  rules: EgressRules,
  signal: AbortSignal,
  progress: Sending,
  mostRedirects = usualRedirects,
): Promise<Reached | undefined> {
  let request = first;
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const response = await send(request, rules, signal, progress);
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (location === undefined || ![301, 302, 303, 307, 308].includes(status)) return { request, response };
    response.resume();
    request = redirected(request, new URL(location, request.url), status);
  }
  return undefined;
}

/** Any other header may hold a secret, whatever its name. */
const publicHeaders = /^(?:accept(?:-language|-charset)?|content-type|content-language|user-agent)$/i;

/** As browsers and Go do it, but no header of the caller's and no client certificate goes to another origin. */
export function redirected(request: HttpRequest, url: URL, status: number): HttpRequest {
  const { body: _body, tls, ...bare } = request;
  const isSameOrigin = url.origin === new URL(request.url).origin;
  const headers = Object.entries(request.headers).filter(([name]) => isSameOrigin || publicHeaders.test(name));
  const authority = tls?.ca === undefined ? {} : { ca: tls.ca };
  const identified = isSameOrigin ? tls : authority;
  const keepsBody = status === 307 || status === 308 || request.method === "GET";
  return {
    ...bare,
    ...(keepsBody ? (request.body === undefined ? {} : { body: request.body }) : { method: "GET" }),
    url: url.href,
    headers: Object.fromEntries(headers),
    ...(tls === undefined || identified === undefined ? {} : { tls: identified }),
  };
}

function send(
  request: HttpRequest,
  rules: EgressRules,
  signal: AbortSignal,
  progress: Sending,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const url = new URL(request.url);
    if (url.protocol !== "http:" && url.protocol !== "https:")
      throw new Error(`protocol ${url.protocol} is not supported`);
    const refusal = rules.refusal(url.hostname);
    if (refusal !== undefined) throw new Error(refusal);
    const start = url.protocol === "https:" ? secureRequest : plainRequest;
    const length = request.body === undefined ? {} : { "content-length": `${Buffer.byteLength(request.body)}` };
    const options = {
      method: request.method,
      headers: { ...length, ...request.headers },
      lookup: rules.lookup,
      signal,
      agent: false as const,
      ...request.tls,
    };
    const sent = start(url, options, resolve);
    sent.once("error", reject);
    const isSecure = url.protocol === "https:";
    sent.once("socket", (socket) =>
      socket.once(isSecure ? "secureConnect" : "connect", () => (progress.isSent = true)),
    );
    sent.end(request.body);
  });
}

/** The server has done what was asked even if its answer is unusable. */
function answerOf({ method, url }: HttpRequest, response: IncomingMessage): Promise<EffectAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= longestBody) return;
      response.destroy();
      const message = `${method} ${hostOf(url)}: the answer exceeds ${longestBody / 1024 / 1024} MiB`;
      resolve({ ok: false, message, isDone: true });
    });
    response.once("error", reject);
    response.once("end", () => {
      const value: JsonObject = {
        body: Buffer.concat(chunks).toString("utf8"),
        header: listsOf(response.headersDistinct),
        trailer: listsOf(response.trailersDistinct),
        statusCode: response.statusCode ?? 0,
      };
      resolve({ ok: true, value });
    });
  });
}

/** Names as Go writes them: `Content-Type`. */
const listsOf = (headers: NodeJS.Dict<string[]>): JsonObject =>
  Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [
      name.replace(/(^|-)[a-z]/g, (text) => text.toUpperCase()),
      values ?? [],
    ]),
  );
