import { defined, isJsonObject, type JsonObject, type JsonValue, objectAt, textAt } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { ActionResult, ActionScope, Provider, Providers } from "./provider.ts";

// Actions have two forms: new ones have `$params` and `$returns`, those of `vela/op` have everything at the top.

export type Form = "new" | "legacy";

export type Action = (params: JsonObject, scope: ActionScope, form: Form) => Promise<ActionResult> | ActionResult;

const modern =
  (action: Action): Provider =>
  async (value, scope) => {
    const result = await action(objectAt(value, "$params") ?? {}, scope, "new");
    if (result.kind !== "continue" || result.result === undefined) return result;
    return { ...result, result: { $returns: result.result } };
  };

const legacy =
  (action: Action): Provider =>
  async (value, scope) =>
    action(objectAt(value, "$params") ?? value, scope, "legacy");

/** The actions of a package, and the same in `vela/op`. `opNames` are those with another name there. */
export function inBothForms(
  packageName: string,
  actions: Readonly<Record<string, Action>>,
  opNames: Readonly<Record<string, string>> = {},
): Providers {
  return Object.fromEntries(
    Object.entries(actions).flatMap(([name, action]) => [
      [`${packageName}/${name}`, modern(action)] as const,
      [`op/${opNames[name] ?? name}`, legacy(action)] as const,
    ]),
  );
}

export const done = (result?: JsonValue, isSensitive = false): ActionResult => ({
  kind: "continue",
  ...defined({ result }),
  ...(isSensitive ? { isSensitive } : {}),
});

export const wait = (message: string): ActionResult => ({ kind: "wait", message });
export const fail = (message: string): ActionResult => ({ kind: "fail", message });
export const failure = (message: string): ActionResult & { readonly kind: "error" } => ({ kind: "error", message });

export const clusterOf = (params: JsonObject): string => textAt(params, "cluster") ?? "local";

/** Of the control plane with the rights of the application, else of the cluster. */
export async function clientOf(params: JsonObject, scope: ActionScope): Promise<ApiClient | string> {
  const cluster = clusterOf(params);
  if (cluster === "local") return scope.client;
  const client = await scope.clusters.client(cluster, scope.signal);
  return client.ok ? client.value : client.error;
}

export const namespaceOf = ({ app }: ActionScope): string => app.identity.namespace;

/** A text says what is wrong with it. */
export function kubeObject(value: JsonValue | undefined, what = "value"): KubeObject | string {
  if (!isJsonObject(value)) return `${what}: expected object`;
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== "string" || apiVersion === "") return `${what}: apiVersion is missing`;
  if (typeof kind !== "string" || kind === "") return `${what}: kind is missing`;
  const metadata = isJsonObject(value["metadata"]) ? value["metadata"] : {};
  return { ...value, apiVersion, kind, metadata };
}
