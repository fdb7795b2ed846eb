import { codeOf, isJsonObject, type JsonValue, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";
import type { Engine } from "./engines.ts";
import type { Parameters } from "./parameters.ts";

// Parameters are sent in the body, which is not logged; Jenkins and released provisioners read the query.

const answerTimeout: Millis = 10_000;
const mostBytes = 64 * 1024;

/** Requests a worker and returns its id, empty if the engine returns none. Rejects with `wharf-trigger` if the engine
 * refused, and if the outcome is unknown with `wharf-trigger-unanswered` for engines that can be asked again,
 * `wharf-trigger-unknown` for those that would start another worker. `note` is called before such an engine is asked.
 */
export async function triggerWorker(
  meant: Engine,
  parameters: Parameters,
  signal: AbortSignal,
  note: () => Promise<void>,
): Promise<string> {
  const engine = await foundOf(meant);
  // A form: JSON would have to distinguish texts from numbers.
  const form = new URLSearchParams(parameters);
  const url = new URL(engine.url);
  const isRepeatable = engine.api === "wharf-cmd.v1" && !(await readsQueryAlone(engine, signal));
  if (isRepeatable) return workerIdIn(engine, await post(engine, url, form, signal));
  for (const [name, value] of form) url.searchParams.set(name, value);
  await note();
  try {
    const answer = await post(engine, url, undefined, signal);
    // A proxy that lost the answer.
    if (answer.status === 502 || answer.status === 504) throw unanswered(engine, url, refused(engine, answer));
    return workerIdIn(engine, answer);
  } catch (thrown) {
    throw unrepeatable(thrown);
  }
}

interface Answer {
  readonly status: number;
  readonly ok: boolean;
  readonly text: string;
}

async function post(engine: Engine, url: URL, body: URLSearchParams | undefined, signal: AbortSignal): Promise<Answer> {
  const response = await ask(engine, url, { method: "POST", ...(body === undefined ? {} : { body }) }, signal);
  const text = await textOf(response).catch((thrown: unknown) => {
    throw unanswered(engine, url, thrown);
  });
  return { status: response.status, ok: response.ok, text };
}

function workerIdIn(engine: Engine, answer: Answer): string {
  if (!answer.ok) throw refused(engine, answer);
  const workerId = memberOf(answer.text, "workerId");
  if (engine.api === "wharf-cmd.v1" && workerId === undefined)
    throw new SlipwayError("wharf-trigger", `engine "${engine.id}" answered without a workerId`);
  return workerId ?? "";
}

/** Looked up for each request: parameters may be secret, and an unnamed address could be anyone's. */
async function foundOf(engine: Engine): Promise<Engine> {
  try {
    const { url, token } = (await engine.find?.()) ?? {};
    if (url === undefined) return engine;
    return { ...engine, url: `${url}${new URL(engine.url).pathname}`, ...(token === undefined ? {} : { token }) };
  } catch (thrown) {
    throw new SlipwayError("wharf-trigger", messageOf(thrown), { cause: thrown });
  }
}

/** Released provisioners read only the query. They answer a worker's path with a bare 404, where this one sends a
 * problem document, and they list their workers, which a proxy in front of a missing provisioner does not. */
async function readsQueryAlone(engine: Engine, signal: AbortSignal): Promise<boolean> {
  try {
    const { status, headers, body } = await ask(engine, workerUrl(engine, "none"), { method: "GET" }, signal);
    await body?.cancel();
    const isBare = status === 404 && headers.get("content-type")?.startsWith("application/problem+json") !== true;
    return isBare && (await workersOf(engine, signal)) !== undefined;
  } catch (thrown) {
    throw new SlipwayError("wharf-trigger", messageOf(thrown), { cause: thrown });
  }
}

function workerUrl({ url: place }: Engine, workerId: string): URL {
  const url = new URL(place);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${encodeURIComponent(workerId)}`;
  return url;
}

/** Ends a worker; one that is gone has ended. Engines without worker ids are not asked. */
export async function endWorker(
  meant: Engine,
  workerId: string,
  { isForced = false }: { readonly isForced?: boolean },
  signal: AbortSignal,
): Promise<void> {
  if (meant.api !== "wharf-cmd.v1") return;
  const engine = await foundOf(meant);
  const url = workerUrl(engine, workerId);
  // A worker that has ended is no failure.
  url.searchParams.set("ignoreMissing", "1");
  if (isForced) url.searchParams.set("force", "1");
  const response = await ask(engine, url, { method: "DELETE" }, signal);
  const text = await textOf(response);
  if (response.ok || response.status === 404) return;
  // Released provisioners fail for missing workers; only their list shows it.
  if (response.status < 500 || (await hasWorker(engine, workerId, signal)))
    throw refused(engine, { status: response.status, text });
}

async function hasWorker(engine: Engine, workerId: string, signal: AbortSignal): Promise<boolean> {
  const list = await workersOf(engine, signal);
  return list?.some((worker) => isJsonObject(worker) && worker["workerId"] === workerId) ?? true;
}

async function workersOf(engine: Engine, signal: AbortSignal): Promise<readonly JsonValue[] | undefined> {
  const response = await ask(engine, new URL(engine.url), { method: "GET" }, signal);
  const list = parsed(await textOf(response));
  return response.ok && Array.isArray(list) ? list : undefined;
}

/** Redirects are refused: the content is for this address only. */
async function ask(engine: Engine, url: URL, request: RequestInit, signal: AbortSignal): Promise<Response> {
  const headers = engine.token === undefined ? {} : { authorization: `Bearer ${engine.token}` };
  try {
    const timeout = AbortSignal.timeout(answerTimeout);
    const all = AbortSignal.any([signal, timeout]);
    const response = await fetch(url, { ...request, headers, signal: all, redirect: "manual" });
    if (response.status < 300 || response.status >= 400) return response;
    await response.body?.cancel();
    throw new SlipwayError(
      "wharf-trigger",
      `engine "${engine.id}" is not at ${url.origin}, which redirects to another`,
    );
  } catch (thrown) {
    throw codeOf(thrown) === "wharf-trigger" ? thrown : unanswered(engine, url, thrown);
  }
}

/** Errors before a connection, after which no worker was started. */
const neverConnected = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

function unanswered(engine: Engine, url: URL, thrown: unknown): SlipwayError {
  const { cause } = thrown instanceof Error ? thrown : {};
  const code = neverConnected.includes(codeOf(cause) ?? "") ? "wharf-trigger" : "wharf-trigger-unanswered";
  const why = messageOf(cause ?? thrown);
  return new SlipwayError(code, `engine "${engine.id}" at ${url.origin} does not answer: ${why}`, { cause: thrown });
}

const unrepeatable = (thrown: unknown): unknown =>
  codeOf(thrown) === "wharf-trigger-unanswered"
    ? new SlipwayError(
        "wharf-trigger-unknown",
        `${messageOf(thrown)}; it may have started a worker and is not asked again, because it would start another`,
        { cause: thrown },
      )
    : thrown;

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    const bytes: Uint8Array = chunk;
    chunks.push(bytes);
    length += bytes.length;
    if (length > mostBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, mostBytes).toString();
}

function refused(engine: Engine, { status, text }: Pick<Answer, "status" | "text">): SlipwayError {
  const said = memberOf(text, "detail") ?? text.slice(0, 200);
  return new SlipwayError("wharf-trigger", `engine "${engine.id}" answered ${status}${said === "" ? "" : `: ${said}`}`);
}

function memberOf(text: string, name: string): string | undefined {
  const value = parsed(text);
  const member = isJsonObject(value) ? value[name] : undefined;
  return typeof member === "string" && member !== "" ? member : undefined;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
