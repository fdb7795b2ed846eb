import { defined, type JsonObject, listAt, objectAt, objectsAt, parseDuration, textAt } from "#lib/base/index.ts";
import { getOrUndefined, secretText } from "#kernel/kit/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { type Action, failure, inBothForms, namespaceOf } from "./form.ts";
import type { HttpRequest } from "#kernel/couriers/index.ts";
import type { ActionScope } from "./provider.ts";

const defaultTimeout = 3_000;

const request: Action = async (params, scope, form) => {
  const details = objectAt(params, "request");
  const timeout = parseDuration(textAt(details, "timeout") ?? "3s");
  if (!timeout.ok) return failure(`request.timeout: ${timeout.error}`);
  const limit = rateLimit(params, details, scope);
  if (limit !== undefined) return failure(limit);
  const headers = await headersOf(details, scope);
  const tls = await certificatesOf(params, scope);
  if (typeof headers === "string") return failure(headers);
  if (typeof tls === "string") return failure(tls);
  const body = textAt(details, "body");
  const url = textAt(params, "url") ?? "";
  if (!URL.canParse(url)) return failure("url: expected a URL such as https://example.com/hook");
  const sent: HttpRequest = {
    kind: "http",
    method: textAt(params, "method") ?? "GET",
    url,
    headers,
    ...defined({ body }),
    timeoutMs: timeout.value > 0 ? timeout.value : defaultTimeout,
    ...defined({ tls }),
  };
  // A repeated GET is harmless, and its newest answer is wanted.
  const isHarmless = sent.method === "GET" || sent.method === "HEAD";
  const result = await (isHarmless ? scope.ask(sent) : scope.once(sent));
  if (result.kind !== "continue" || result.result === undefined) return result;
  return { ...result, result: form === "new" ? result.result : { response: result.result } };
};

/** Later ones win. */
async function headersOf(
  details: JsonObject | undefined,
  scope: ActionScope,
): Promise<Readonly<Record<string, string>> | string> {
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  const put = (name: string, value: string) => {
    for (const known of Object.keys(headers)) if (known.toLowerCase() === name.toLowerCase()) delete headers[known];
    headers[name] = value;
  };
  for (const [name, value] of Object.entries(objectAt(details, "header") ?? {}))
    put(name, typeof value === "string" ? value : JSON.stringify(value));
  for (const entry of objectsAt(details, "headersFromSecret")) {
    const [header, secret, key] = ["header", "secret", "key"].map((name) => textAt(entry, name) ?? "");
    const value = await secretValue(scope, namespaceOf(scope), secret ?? "", key ?? "");
    if (!value.ok) return value.message;
    put(header ?? "", value.value);
  }
  return headers;
}

export type SecretValue =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string };

export async function secretValue(
  { client, signal }: ActionScope,
  namespace: string,
  name: string,
  key: string,
): Promise<SecretValue> {
  const secret = await getOrUndefined(client, { type: Secret, namespace, name }, signal);
  if (secret === undefined) return { ok: false, message: `secret "${namespace}/${name}" not found` };
  const value = secretText(secret, key);
  if (value === undefined) return { ok: false, message: `key "${key}" not found in secret "${namespace}/${name}"` };
  return { ok: true, value };
}

/** Keys as in Secrets of type kubernetes.io/tls, or as KubeVela names them. */
async function certificatesOf(params: JsonObject, scope: ActionScope): Promise<HttpRequest["tls"] | string> {
  const config = objectAt(params, "tls_config");
  const name = textAt(config, "secret");
  if (config === undefined || name === undefined) return undefined;
  const namespace = textAt(config, "namespace") ?? namespaceOf(scope);
  const secret = await getOrUndefined(scope.client, { type: Secret, namespace, name }, scope.signal);
  if (secret === undefined) return `secret "${namespace}/${name}" not found`;
  const read = (key: string) => secretText(secret, key);
  return defined({
    ca: read("ca.crt"),
    cert: read("client.crt") ?? read("tls.crt"),
    key: read("client.key") ?? read("tls.key"),
  });
}

/** Instants of the last requests are notes of the step. */
function rateLimit(params: JsonObject, details: JsonObject | undefined, scope: ActionScope): string | undefined {
  const limiter = objectAt(details, "ratelimiter");
  const { limit } = limiter ?? {};
  if (typeof limit !== "number") return undefined;
  const period = parseDuration(textAt(limiter, "period") ?? "1s");
  if (!period.ok) return `request.ratelimiter.period: ${period.error}`;
  const key = `requests ${scope.path}`;
  const now = scope.clock.now();
  const recent = listAt(scope.notes.get(key)).filter((at) => typeof at === "number" && at > now - period.value);
  if (recent.length >= limit) return `request exceeds the rate limiter of ${textAt(params, "url") ?? ""}`;
  scope.notes.set(key, [...recent, now]);
  return undefined;
}

export const httpProviders = inBothForms("http", { do: request });
