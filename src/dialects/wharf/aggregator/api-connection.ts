import { isJsonObject, type JsonValue, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

export interface ServiceAddress {
  readonly url: string;
  readonly token?: string | undefined;
  /** For services that may start later. */
  readonly findToken?: () => Promise<string | undefined>;
}

export interface ServiceRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly json: JsonValue | undefined;
}

/** Not for uploads. */
const answerTimeout: Millis = 60_000;
const longestAnswer = 4 * 1024 * 1024;

/** Rejects with `wharf-service` for transient failures and `wharf-slow` for timeouts, where a smaller request may
 * succeed. Missing records are 404, although the original sends 502. Redirects are errors: the content is for this
 * address only. */
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

/** Streams a body. Rejects like `askService`, also in the middle, and with `wharf-refused`. */
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

export const saysNoRecord = (answer: ServiceAnswer): boolean => problemIn(answer) === "record-not-found";

/** The problem's name, such as `record-not-found`. Released servers prefix a documentation address. */
export function problemIn({ json }: ServiceAnswer): string | undefined {
  const type = isJsonObject(json) ? json["type"] : undefined;
  return typeof type === "string" ? /^(?:https?:\/\/[^/]+\/#)?\/prob\/api\/(.+)$/.exec(type)?.[1] : undefined;
}

export const refusedBy = (
  { url }: ServiceAddress,
  { method, path }: ServiceRequest,
  answer: ServiceAnswer,
): SlipwayError =>
  new SlipwayError("wharf-refused", `${method} ${path} at ${url} was refused with ${answer.status}${detailOf(answer)}`);

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
