import {
  defined,
  inParallel,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  messageOf,
  objectAt,
  ok,
  type Result,
  textAt,
} from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, type Ref, refTo } from "#kernel/kit/index.ts";
import { asJson, isNotFound, type KubeObject } from "#kernel/model/index.ts";
import type { ActionResult, ActionScope } from "./provider.ts";
import {
  type Action,
  clientOf,
  clusterOf,
  done,
  failure,
  type Form,
  inBothForms,
  kubeObject,
  namespaceOf,
} from "./form.ts";
import { isSecret } from "../labels.ts";

/** Where an object is, with a default for its namespace; a text says why it cannot be reached. */
async function targetOf(
  params: JsonObject,
  scope: ActionScope,
  object: KubeObject,
  namespace = namespaceOf(scope),
): Promise<{ readonly client: ApiClient; readonly ref: Ref } | string> {
  const client = await clientOf(params, scope);
  if (typeof client === "string") return client;
  const type = await client.resourceType(object.apiVersion, object.kind);
  if (type === undefined) return `no kind ${object.kind} in version ${object.apiVersion}`;
  const { name = "", namespace: own = namespace } = object.metadata;
  return { client, ref: { type, name, ...(type.namespaced ? { namespace: own } : {}) } };
}

const read: Action = async (params, scope, form) => {
  if (params["value"] === undefined && textAt(params, "kind") !== undefined && form === "legacy")
    return readByName(params, scope);
  const object = kubeObject(params["value"]);
  if (typeof object === "string") return failure(object);
  const target = await targetOf(params, scope, object, "default");
  if (typeof target === "string") return done({ err: target });
  try {
    const found = await target.client.get(target.ref, { signal: scope.signal });
    return done({ value: asJson(found) }, isSecret(object));
  } catch (thrown) {
    if (scope.signal.aborted) throw thrown;
    return done({ err: messageOf(thrown) });
  }
};

/** The proposal's form: the fields name the object, and the step waits until it exists. */
async function readByName(params: JsonObject, scope: ActionScope): Promise<ActionResult> {
  const { apiVersion, kind } = params;
  const [name, namespace] = [textAt(params, "name") ?? "", textAt(params, "namespace") ?? namespaceOf(scope)];
  const object = kubeObject({ apiVersion, kind, metadata: { name, namespace } });
  if (typeof object === "string") return failure(object);
  const target = await targetOf(params, scope, object);
  if (typeof target === "string") return failure(target);
  const found = await getOrUndefined(target.client, target.ref, scope.signal);
  if (found === undefined) return { kind: "wait", message: `waiting for ${object.kind} ${namespace}/${name}` };
  const { metadata, spec, status } = asJson(found);
  const members = Object.entries({ metadata, spec, status }).filter(
    ([member, value]) => value !== undefined && params[member] === undefined,
  );
  return done({ ...Object.fromEntries(members), result: asJson(found) }, isSecret(object));
}

const list: Action = async (params, scope, form) => {
  const name = form === "new" ? "values" : "list";
  const { apiVersion, kind } = objectAt(params, "resource") ?? {};
  const client = await clientOf(params, scope);
  if (typeof client === "string") return done({ err: client });
  if (typeof apiVersion !== "string" || typeof kind !== "string") return failure("resource: kind is missing");
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) return done({ err: `no kind ${kind} in version ${apiVersion}` });
  const namespace = textAt(params, "filter", "namespace");
  const labels = objectAt(params, "filter", "matchingLabels");
  try {
    const found = await client.list(type, {
      ...(namespace === undefined || !type.namespaced ? {} : { namespace }),
      ...(labels === undefined ? {} : { labelSelector: selectorOf(labels) }),
      signal: scope.signal,
    });
    return done({ [name]: { items: found.items.map(asJson) } }, isSecret({ apiVersion, kind }));
  } catch (thrown) {
    if (scope.signal.aborted) throw thrown;
    return done({ err: messageOf(thrown) });
  }
};

const selectorOf = (labels: JsonObject): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(",");

const apply: Action = async (params, scope, form) => {
  const resource = form === "legacy" ? params["resource"] : undefined;
  if (typeof resource === "string") return applyNamed(resource, params, scope);
  const given = resource ?? params["value"] ?? (form === "legacy" ? ownFields(params) : undefined);
  const object = kubeObject(given, resource === undefined ? "value" : "resource");
  if (typeof object === "string") return failure(object);
  return applyOne(object, params, scope, form, resource !== undefined || params["value"] === undefined);
};

/** The object's fields beside those of the action. */
const ownFields = ({ apiVersion, kind, metadata, spec, data, ...rest }: JsonObject): JsonObject | undefined => {
  const { "#do": _do, "#provider": _provider, cluster: _cluster, patch: _patch, ...others } = rest;
  return kind === undefined ? undefined : { apiVersion, kind, metadata, spec, data, ...others };
};

async function applyNamed(name: string, params: JsonObject, scope: ActionScope): Promise<ActionResult> {
  const component = scope.app.components.find((each) => each.name === name);
  if (component === undefined) return failure(`resource: component "${name}" not found`);
  const rendered = await scope.delivery.render(component);
  if (!rendered.ok) return failure(rendered.error);
  const objects = [rendered.value.workload, ...rendered.value.auxiliaries];
  const applied = await scope.delivery.apply(objects, { cluster: clusterOf(params) }, "workflow");
  const [workload] = applied.ok ? applied.value : [];
  if (!applied.ok) return failure(applied.error);
  return done(workload === undefined ? {} : legacyResult(asJson(workload), params, true));
}

async function applyOne(
  object: KubeObject,
  params: JsonObject,
  scope: ActionScope,
  form: Form,
  hasOwnValue: boolean,
): Promise<ActionResult> {
  const whole = params["patch"] === undefined ? ok(object) : await patchedObject(asJson(object), scope);
  if (!whole.ok) return failure(whole.error);
  const applied = await scope.delivery.applyObject(whole.value, { cluster: clusterOf(params) });
  if (!applied.ok) return failure(applied.error);
  const live = asJson(applied.value);
  return done(form === "new" ? { value: live } : legacyResult(live, params, hasOwnValue), isSecret(object));
}

/** Patches cannot take away what makes it an object. */
const patchedObject = async (base: JsonObject, { patched }: ActionScope): Promise<Result<KubeObject, string>> =>
  (await patched(base)) as Result<JsonObject & KubeObject, string>;

const objectMembers = ["apiVersion", "kind", "metadata", "spec", "status"] as const;

/** Members are also at the top where the struct has none of that name. */
function legacyResult(live: JsonObject, params: JsonObject, hasOwnValue: boolean): JsonObject {
  const members = objectMembers.filter((name) => live[name] !== undefined && params[name] === undefined);
  const top = Object.fromEntries(members.map((name) => [name, live[name]]));
  // A value that the action has is unified with the live object, as long as the two agree.
  const value = hasOwnValue || agrees(params["value"], live) ? { value: live } : {};
  return { ...top, ...value };
}

/** Whether unification of the two has no conflict. */
function agrees(given: JsonValue | undefined, live: JsonValue | undefined): boolean {
  if (given === undefined || live === undefined) return true;
  if (isJsonObject(given))
    return isJsonObject(live) && Object.keys(given).every((key) => agrees(given[key], live[key]));
  if (!Array.isArray(given)) return given === live;
  const [mine, theirs]: readonly (readonly JsonValue[])[] = [given, Array.isArray(live) ? live : []];
  return mine?.length === theirs?.length && (mine ?? []).every((item, index) => agrees(item, theirs?.[index]));
}

const applyInParallel: Action = async (params, scope) => {
  const objects = listAt(params, "value").map((value, index) => kubeObject(value, `value[${index}]`));
  const wrong = objects.find((object) => typeof object === "string");
  if (wrong !== undefined) return failure(wrong);
  const errors: string[] = [];
  const applied: JsonObject[] = [];
  await inParallel([...objects.entries()], async ([index, object]) => {
    if (typeof object === "string") return;
    const result = await scope.delivery.applyObject(object, { cluster: clusterOf(params) });
    if (result.ok) applied[index] = asJson(result.value);
    else errors.push(result.error);
  });
  return errors.length > 0 ? failure(errors.join("; ")) : done({ value: applied }, applied.some(isSecret));
};

const patchLive: Action = async (params, scope) => {
  const object = kubeObject(params["value"]);
  if (typeof object === "string") return failure(object);
  const target = await targetOf(params, scope, object);
  if (typeof target === "string") return failure(target);
  const live = await getOrUndefined(target.client, target.ref, scope.signal);
  if (live === undefined) return failure(`${object.kind} ${object.metadata.name ?? ""} not found`);
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = asJson(live)["metadata"] as JsonObject;
  const { status: _status, ...bare } = asJson(live);
  const merged = await patchedObject({ ...bare, metadata }, scope);
  if (!merged.ok) return failure(merged.error);
  const applied = await scope.delivery.applyObject(merged.value, { cluster: clusterOf(params) });
  return applied.ok ? done({ result: asJson(applied.value) }, isSecret(object)) : failure(applied.error);
};

const remove: Action = async (params, scope) => {
  const object = kubeObject(params["value"]);
  if (typeof object === "string") return failure(object);
  const placement = { cluster: clusterOf(params) };
  const labels = objectAt(params, "filter", "matchingLabels");
  if (labels === undefined) {
    const removed = await scope.delivery.remove(object, placement);
    return removed.ok ? done({}) : done({ err: removed.error });
  }
  const target = await targetOf(params, scope, object);
  if (typeof target === "string") return done({ err: target });
  const { client, ref } = target;
  const namespace = textAt(params, "filter", "namespace") ?? ref.namespace;
  const options = { labelSelector: selectorOf(labels), ...defined({ namespace }) };
  const { items } = await client.list(ref.type, { ...options, signal: scope.signal });
  try {
    for (const item of items) await client.delete(refTo(ref.type, item), { signal: scope.signal });
  } catch (thrown) {
    if (!isNotFound(thrown)) throw thrown;
  }
  return done({});
};

export const kubeProviders = inBothForms("kube", {
  read,
  list,
  apply,
  "apply-in-parallel": applyInParallel,
  patch: patchLive,
  delete: remove,
});
