import { isJsonObject, type JsonValue, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

/** Where wharf-api or the provisioner is, and what it asks of who comes. */
export interface ServiceAddress {
  /** `http://127.0.0.1:5001`, without a path. */
  readonly url: string;
  readonly token?: string | undefined;
  /** Finds the token, for each request, of a service that may be started later. */
  readonly findToken?: () => Promise<string | undefined>;
}

/** One request of a service. */
export interface ServiceRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** What came back, its body read and parsed; undefined for one that is no JSON. */
export interface ServiceAnswer {
  readonly status: number;
  readonly json: JsonValue | undefined;
}

/** For an answer to a request that carries no file. */
const answerTimeout: Millis = 60_000;
/** Of an answer: cursors of a build of some thousand steps are far below. */
const longestAnswer = 4 * 1024 * 1024;

/**
 * Asks a service. Rejects with `wharf-service` when it does not answer, or answers that the fault is its own: asking again is right then; with
 * `wharf-slow` when it has not answered in time, and a smaller request may do better. What it answers otherwise is the caller's to read; a document
 * that says that there is no such record has the status 404, also where the original sends it with 502. A redirect is a failure: what goes with a
 * request is for this address and no other.
 */
export async function askService(
  service: ServiceAddress,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<ServiceAnswer> {
  const { method, path, headers = {}, body } = request;
  const isStream = typeof body === "object" && !(body instanceof Uint8Array);
  try {
    const response = await fetch(new URL(path, service.url), {
      method,
      headers: { ...headers, ...(await authorizationOf(service)) },
      ...(body === undefined ? {} : { body: isStream ? ReadableStream.from(body) : body }),
      ...(isStream ? { duplex: "half" as const } : {}),
      redirect: "error",
      signal: isStream ? signal : AbortSignal.any([signal, AbortSignal.timeout(answerTimeout)]),
    });
    const answer = { status: response.status, json: await jsonOf(response) };
    if (answer.status >= 400 && saysNoRecord(answer)) return { ...answer, status: 404 };
    if (answer.status < 500) return answer;
    throw new Error(`it has answered ${answer.status}${detailOf(answer)}`);
  } catch (thrown) {
    signal.throwIfAborted();
    throw unanswered(service, request, thrown);
  }
}

/**
 * The bytes of an answer as they come, however many. Rejects as `askService` does, also in the middle of them, and with `wharf-refused` for an answer
 * that is none.
 */
export async function* readService(
  service: ServiceAddress,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const request: ServiceRequest = { method: "GET", path };
  try {
    const response = await fetch(new URL(path, service.url), {
      headers: await authorizationOf(service),
      redirect: "error",
      signal,
    });
    if (response.status >= 500) throw new Error(`it has answered ${response.status}`);
    if (response.status >= 300) throw refusedBy(service, request, { status: response.status, json: undefined });
    for await (const bytes of response.body ?? []) yield bytes;
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown instanceof SlipwayError ? thrown : unanswered(service, request, thrown);
  }
}

async function authorizationOf(service: ServiceAddress): Promise<{ readonly authorization?: string }> {
  const token = service.token ?? (await service.findToken?.());
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

function unanswered({ url }: ServiceAddress, { method, path }: ServiceRequest, thrown: unknown): SlipwayError {
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  const code = thrown instanceof Error && thrown.name === "TimeoutError" ? "wharf-slow" : "wharf-service";
  return new SlipwayError(code, `${method} ${path} at ${url}: ${messageOf(cause)}`, { cause: thrown });
}

/** Whether it was looked for and is not there, which a path that nobody serves does not say. */
export const saysNoRecord = (answer: ServiceAnswer): boolean => problemIn(answer) === "record-not-found";

/**
 * Which problem of wharf-api an answer tells, as in `record-not-found`; undefined for anything else. Released servers put the address of their
 * documentation before it: `https://host/#/prob/api/record-not-found`.
 */
export function problemIn({ json }: ServiceAnswer): string | undefined {
  const type = isJsonObject(json) ? json["type"] : undefined;
  return typeof type === "string" ? /^(?:https?:\/\/[^/]+\/#)?\/prob\/api\/(.+)$/.exec(type)?.[1] : undefined;
}

/** A service has refused what it will refuse again. */
export const refusedBy = (
  { url }: ServiceAddress,
  { method, path }: ServiceRequest,
  answer: ServiceAnswer,
): SlipwayError =>
  new SlipwayError("wharf-refused", `${method} ${path} at ${url} was refused with ${answer.status}${detailOf(answer)}`);

/** What a problem document says for itself. */
function detailOf({ json }: ServiceAnswer): string {
  const detail = isJsonObject(json) ? json["detail"] : undefined;
  return typeof detail === "string" && detail !== "" ? `: ${detail}` : "";
}

async function jsonOf({ body }: Response): Promise<JsonValue | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    const bytes: Uint8Array = chunk;
    length += bytes.length;
    if (length > longestAnswer) throw new Error(`expected an answer of at most ${longestAnswer} bytes`);
    chunks.push(bytes);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonValue;
  } catch {
    return undefined; // No content, or a text for people.
  }
}
