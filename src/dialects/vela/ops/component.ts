import { defined, isJsonObject, type JsonObject, type JsonValue, objectAt, textAt } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import type { App, Component } from "../app.ts";
import type { Delivery, Placement, RenderOptions } from "../delivery/delivery.ts";
import { among, applyComponent as applyInStages, unhealthyText } from "../delivery/deploy.ts";
import type { RenderedComponent } from "../render/rendered.ts";
import { getAt, parsePath, type Segment, setAt } from "../json-path.ts";

// Renders and applies one component of the application and judges its health.

export interface ComponentScope {
  readonly delivery: Delivery;
  readonly client: ApiClient;
  readonly app: App;
  readonly signal: AbortSignal;
}

export interface ComponentRequest {
  readonly component: Component;
  readonly cluster: string;
  readonly namespace?: string | undefined;
  readonly waitHealthy: boolean;
  /** `workload` and `traits`, or the proposal's `to` and `valueFrom`. */
  readonly patch?: JsonObject;
  /** An input has replaced `patch.valueFrom.field` by the value itself. */
  readonly isLiteral?: boolean;
}

export type ComponentResult =
  | { readonly kind: "error"; readonly message: string }
  | {
      readonly kind: "healthy" | "wait";
      readonly message: string;
      readonly output: JsonObject;
      readonly outputs: JsonObject;
    };

export async function applyComponent(scope: ComponentScope, request: ComponentRequest): Promise<ComponentResult> {
  const { delivery } = scope;
  const placement = placementOf(request);
  const rendered = await renderComponent(scope, request);
  if (typeof rendered === "string") return { kind: "error", message: rendered };
  const applied = await applyInStages(delivery, rendered, placement);
  if (applied.kind === "error") return applied;
  const { health, stored } = applied;
  const live = among(stored);
  const output = live(rendered.workload.object) ?? asJson(rendered.workload.object);
  const outputs = Object.fromEntries(
    rendered.auxiliaries.map(({ resource, key, object }) => [resource ?? key, live(object)]),
  );
  // Traits that follow a healthy workload are applied by a later attempt.
  const isComplete = rendered.auxiliaries.every(({ object }) => live(object) !== undefined);
  if (!request.waitHealthy && isComplete) return { kind: "healthy", message: "", output, outputs };
  const message = ["wait healthy", unhealthyText(health)].filter((text) => text !== "").join(": ");
  return { kind: health.isHealthy ? "healthy" : "wait", message, output, outputs };
}

const placementOf = ({ cluster, namespace }: ComponentRequest): Placement => ({
  cluster: cluster === "" ? "local" : cluster,
  ...(namespace === undefined || namespace === "" ? {} : { namespace }),
});

/** Rendered and patched; a text says why not. */
export async function renderComponent(
  scope: ComponentScope,
  request: ComponentRequest,
): Promise<RenderedComponent | string> {
  const { patch } = request;
  const merged = patch === undefined ? undefined : mergedPatch(patch);
  const options: RenderOptions = { ...placementOf(request), ...defined({ patch: merged }) };
  const rendered = await scope.delivery.render(request.component, options);
  if (!rendered.ok) return rendered.error;
  const to = parsePath(textAt(patch, "to", "field") ?? "");
  if (to === undefined) return rendered.value;
  const value = await patchValue(scope, request);
  if (!value.ok) return value.message;
  const { workload } = rendered.value;
  const object = setField(asJson(workload.object), to, value.value) as unknown as KubeObject;
  return { ...rendered.value, workload: { ...workload, object } };
}

function mergedPatch(patch: JsonObject): RenderOptions["patch"] {
  const [workload, traits] = [objectAt(patch, "workload"), objectAt(patch, "traits")];
  if (workload === undefined && traits === undefined) return undefined;
  const byName = Object.entries(traits ?? {}).flatMap(([name, value]) => (isJsonObject(value) ? [[name, value]] : []));
  return {
    ...defined({ workload }),
    ...(traits === undefined ? {} : { traits: Object.fromEntries(byName) as Record<string, JsonObject> }),
  };
}

type Found = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly message: string };

/** The literal value, or that of a field of another object. */
async function patchValue(scope: ComponentScope, { patch, isLiteral, namespace }: ComponentRequest): Promise<Found> {
  const source = objectAt(patch, "valueFrom") ?? {};
  const { field } = source;
  if (isLiteral === true || textAt(source, "kind") === undefined)
    return field === undefined
      ? { ok: false, message: "patch.valueFrom.field is missing" }
      : { ok: true, value: field };
  const [apiVersion, kind, name] = ["apiVersion", "kind", "name"].map((key) => textAt(source, key) ?? "");
  const type = await scope.client.resourceType(apiVersion ?? "", kind ?? "");
  if (type === undefined) return { ok: false, message: `no kind ${kind} in version ${apiVersion}` };
  const place = textAt(source, "namespace") ?? namespace ?? scope.app.identity.namespace;
  const ref = { type, name: name ?? "", ...(type.namespaced ? { namespace: place } : {}) };
  const object = await getOrUndefined(scope.client, ref, scope.signal);
  const path = parsePath(typeof field === "string" ? field : "") ?? [];
  const value = object === undefined ? undefined : getAt(asJson(object), path);
  if (value !== undefined) return { ok: true, value };
  return { ok: false, message: `field ${JSON.stringify(field)} of ${kind} ${place}/${name} does not exist` };
}

/** A path that does not begin at the object's root is one of its Pod template. */
function setField(object: JsonObject, path: readonly Segment[], value: JsonValue): JsonValue {
  const template: readonly Segment[] = ["spec", "template"];
  const begins = (prefix: readonly Segment[]) => getAt(object, [...prefix, ...path.slice(0, 2)]) !== undefined;
  const isInTemplate = !begins([]) && getAt(object, template) !== undefined;
  return setAt(object, isInTemplate ? [...template, ...path] : path, value);
}
