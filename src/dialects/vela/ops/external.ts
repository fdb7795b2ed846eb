import { type JsonObject, type Millis, textAt } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { ImportedPackages, PackageProvider } from "../definitions/definition.ts";
import { done, failure } from "./form.ts";
import type { Provider, Providers } from "./provider.ts";

const timeoutMs: Millis = 30_000;

/**
 * The service of a Package for an action: it receives `$params`, and its answer is `$returns`. Anything may happen
 * there, so it is asked once; what it refuses with an error status is asked again.
 */
export function externalProviders(
  imports: ImportedPackages | undefined,
  { provider, do: action }: { readonly provider: string; readonly do: string },
): Providers {
  const service = imports !== undefined && Object.hasOwn(imports.providers, provider) && imports.providers[provider];
  return service ? { [`${provider}/${action}`]: askService(provider, action, service) } : {};
}

const askService =
  (name: string, action: string, { protocol, endpoint }: PackageProvider): Provider =>
  async (value, scope) => {
    const url = `${endpoint.replace(/\/+$/, "")}/${encodeURIComponent(action)}`;
    if (protocol === "grpc")
      return failure(`Package "${name}": protocol grpc is not supported, expected http or https`);
    if (!/^https?:/.test(url) || !URL.canParse(url)) return failure(`Package "${name}": endpoint is not an http URL`);
    const answered = await scope.once(
      {
        kind: "http",
        method: "POST",
        url,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(value["$params"] ?? {}),
        timeoutMs,
      },
      (answer) => refusalOf(`Package "${name}": ${action}`, answer),
    );
    if (answered.kind !== "continue") return answered;
    const read = parseJson(textAt(answered.result, "body") ?? "");
    return read.ok ? done({ $returns: read.value }) : failure(`Package "${name}": ${action}: the answer is not JSON`);
  };

function refusalOf(what: string, { statusCode, body }: JsonObject): string | undefined {
  const code = typeof statusCode === "number" ? statusCode : 0;
  if (code >= 200 && code < 300) return undefined;
  const text = typeof body === "string" ? (body.split("\n")[0] ?? "").slice(0, 200) : "";
  return `${what}: status ${code}${text === "" ? "" : `, ${text}`}`;
}
