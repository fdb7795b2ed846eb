import { codeOf, isJsonObject, type JsonValue, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";
import type { Engine } from "./engines.ts";
import type { Parameters } from "./parameters.ts";

// What is said to engines, over HTTP. Parameters go in the body, where no log of requests has them; Jenkins and released provisioners read them from
// the query.

/** For one answer of an engine. */
const answerTimeout: Millis = 10_000;
/** Of an answer, for people. */
const mostBytes = 64 * 1024;

/**
 * Asks an engine for a worker; answers with its id, empty where the engine tells none. Rejects with `wharf-trigger` when the engine has said no, and
 * when nothing says whether it has started one with `wharf-trigger-unanswered` where it may be asked again, because it starts one worker for a
 * build however often it is asked, and with `wharf-trigger-unknown` where it would start another: a released provisioner, which names its workers by
 * chance and does not list which builds they are of, and Jenkins. Before such a one is asked, `note` has stored that it was: whoever ends in between
 * does not ask again. It is not asked when `note` rejects, which is then what this rejects with.
 */
export async function triggerWorker(
  meant: Engine,
  parameters: Parameters,
  signal: AbortSignal,
  note: () => Promise<void>,
): Promise<string> {
  const engine = await foundOf(meant);
  // As a form, because a map in JSON would have to say what is a text and what is a number.
  const form = new URLSearchParams(parameters);
  const url = new URL(engine.url);
  const isRepeatable = engine.api === "wharf-cmd.v1" && !(await readsQueryAlone(engine, signal));
  if (isRepeatable) return workerIdIn(engine, await post(engine, url, form, signal));
  for (const [name, value] of form) url.searchParams.set(name, value);
  await note();
  try {
    const answer = await post(engine, url, undefined, signal);
    // What stands between says so of an answer that it has lost.
    if (answer.status === 502 || answer.status === 504) throw unanswered(engine, url, refused(engine, answer));
    return workerIdIn(engine, answer);
  } catch (thrown) {
    throw unrepeatable(thrown);
  }
}

/** An answer that is whole. */
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

/** The worker that an answer tells. */
function workerIdIn(engine: Engine, answer: Answer): string {
  if (!answer.ok) throw refused(engine, answer);
  const workerId = memberOf(answer.text, "workerId");
  if (engine.api === "wharf-cmd.v1" && workerId === undefined)
    throw new SlipwayError("wharf-trigger", `engine "${engine.id}" answered without a workerId`);
  return workerId ?? "";
}

/** The engine where it is at this moment: parameters may be secrets, and an address that nobody has named may be anybody's. */
async function foundOf(engine: Engine): Promise<Engine> {
  try {
    const { url, token } = (await engine.find?.()) ?? {};
    if (url === undefined) return engine;
    return { ...engine, url: `${url}${new URL(engine.url).pathname}`, ...(token === undefined ? {} : { token }) };
  } catch (thrown) {
    throw new SlipwayError("wharf-trigger", messageOf(thrown), { cause: thrown });
  }
}

/**
 * A released provisioner does. It says nothing but 404 to the path of one worker, where one of this project answers with a document; and it lists its
 * workers, which something in front of a provisioner that is away does not: logs of that are not to have what a query has. Rejects with `wharf-trigger`.
 */
async function readsQueryAlone(engine: Engine, signal: AbortSignal): Promise<boolean> {
  try {
    const { status, headers, body } = await ask(engine, workerUrl(engine, "none"), { method: "GET" }, signal);
    await body?.cancel();
    const isBare = status === 404 && headers.get("content-type")?.startsWith("application/problem+json") !== true;
    return isBare && (await workersOf(engine, signal)) !== undefined;
  } catch (thrown) {
    // Nothing was asked for yet that could have been started.
    throw new SlipwayError("wharf-trigger", messageOf(thrown), { cause: thrown });
  }
}

/** Where an engine has a worker. */
function workerUrl({ url: place }: Engine, workerId: string): URL {
  const url = new URL(place);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${encodeURIComponent(workerId)}`;
  return url;
}

/** Asks an engine to end a worker; one that is gone has ended. Engines that are not asked for workers by id are not asked. */
export async function endWorker(
  meant: Engine,
  workerId: string,
  { isForced = false }: { readonly isForced?: boolean },
  signal: AbortSignal,
): Promise<void> {
  if (meant.api !== "wharf-cmd.v1") return;
  const engine = await foundOf(meant);
  const url = workerUrl(engine, workerId);
  // One that has ended by itself is no failure.
  url.searchParams.set("ignoreMissing", "1");
  if (isForced) url.searchParams.set("force", "1");
  const response = await ask(engine, url, { method: "DELETE" }, signal);
  const text = await textOf(response);
  if (response.ok || response.status === 404) return;
  // Released provisioners fail at what is gone, and tell it in no other way than in their list.
  if (response.status < 500 || (await hasWorker(engine, workerId, signal)))
    throw refused(engine, { status: response.status, text });
}

/** Whether an engine lists a worker; one whose list cannot be read may have it. */
async function hasWorker(engine: Engine, workerId: string, signal: AbortSignal): Promise<boolean> {
  const list = await workersOf(engine, signal);
  return list?.some((worker) => isJsonObject(worker) && worker["workerId"] === workerId) ?? true;
}

/** What an engine lists, or undefined when it answers with no list. */
async function workersOf(engine: Engine, signal: AbortSignal): Promise<readonly JsonValue[] | undefined> {
  const response = await ask(engine, new URL(engine.url), { method: "GET" }, signal);
  const list = parsed(await textOf(response));
  return response.ok && Array.isArray(list) ? list : undefined;
}

/** One request. A redirect is refused: what goes with it is for this address and no other. Rejects as `triggerWorker` does. */
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

/** Nobody had the request where there was no connection, or none to whom the name belongs: that is as good as a no. */
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

/** A request of which nobody knows what became. */
function unanswered(engine: Engine, url: URL, thrown: unknown): SlipwayError {
  const { cause } = thrown instanceof Error ? thrown : {};
  const code = neverConnected.includes(codeOf(cause) ?? "") ? "wharf-trigger" : "wharf-trigger-unanswered";
  const why = messageOf(cause ?? thrown);
  return new SlipwayError(code, `engine "${engine.id}" at ${url.origin} does not answer: ${why}`, { cause: thrown });
}

/** The same of an engine that would start another worker. What it never got may be asked again. */
const unrepeatable = (thrown: unknown): unknown =>
  codeOf(thrown) === "wharf-trigger-unanswered"
    ? new SlipwayError(
        "wharf-trigger-unknown",
        `${messageOf(thrown)}; it may have started a worker, and is not asked again, because it would start another`,
        { cause: thrown },
      )
    : thrown;

/** As much of an answer as is of use; the rest is not read. */
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

/** What the engine says for itself: the detail of a problem, else the beginning of whatever it has answered. */
function refused(engine: Engine, { status, text }: Pick<Answer, "status" | "text">): SlipwayError {
  const said = memberOf(text, "detail") ?? text.slice(0, 200);
  return new SlipwayError("wharf-trigger", `engine "${engine.id}" answered ${status}${said === "" ? "" : `: ${said}`}`);
}

/** A text among the members of a JSON object. */
function memberOf(text: string, name: string): string | undefined {
  const value = parsed(text);
  const member = isJsonObject(value) ? value[name] : undefined;
  return typeof member === "string" && member !== "" ? member : undefined;
}

/** Undefined for what is no JSON, whatever it is. */
function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
