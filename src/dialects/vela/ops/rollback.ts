import {
  err,
  isJsonObject,
  isTrueAt,
  type JsonObject,
  objectAt,
  ok,
  type Result,
  textAt,
  textsAt,
} from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, ConfigMap, type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import type { RenderedObject } from "../render/rendered.ts";
import type { ActionScope, Provider } from "./provider.ts";
import { fail, failed, inputOf, returning } from "./use-case-value.ts";

/** `app/rollback`: applies the rendered objects of an earlier revision that succeeded. The specification stays. */
export const rollback: Provider = async (value, scope) => {
  const wanted = textAt(inputOf(value), "revision");
  const revision = await chooseRevision(wanted, scope);
  if (!revision.ok) return fail(revision.error);
  const objects = await renderedObjects(revision.value, scope);
  if (!objects.ok) return failed(objects.error);
  const applied = await scope.delivery.apply(objects.value, { cluster: "local" }, "workflow");
  if (!applied.ok) return failed(applied.error);
  const { name } = revision.value.metadata;
  scope.say(`rolled back to ${name}`);
  return returning({ revision: name });
};

async function chooseRevision(wanted: string | undefined, scope: ActionScope): Promise<Result<Stored, string>> {
  const { name, namespace, revision } = scope.app.identity;
  const type = await scope.client.resourceType("core.oam.dev/v1beta1", "ApplicationRevision");
  if (type === undefined) return err("no kind ApplicationRevision in version core.oam.dev/v1beta1");
  const { items } = await scope.client.list(type, { namespace, signal: scope.signal });
  const numberOf = (each: Stored): number => {
    const own = each.metadata.name.startsWith(`${name}-v`) ? each.metadata.name.slice(name.length + 2) : "";
    return /^\d+$/.test(own) ? Number(own) : 0;
  };
  const known = items.filter((each) => numberOf(each) > 0).toSorted((a, b) => numberOf(b) - numberOf(a));
  const found =
    wanted === undefined
      ? known.find((each) => each.metadata.name !== revision && isTrueAt(asJson(each), "status", "succeeded"))
      : known.find((each) => each.metadata.name === wanted);
  if (found !== undefined) return ok(found);
  return err(wanted === undefined ? "there is no earlier revision that succeeded" : `revision "${wanted}" not found`);
}

/** All parts of the revision's ConfigMap; Secrets are kept in a Secret of the same name. */
async function renderedObjects(
  revision: Stored,
  { client, signal }: ActionScope,
): Promise<Result<readonly RenderedObject[], string>> {
  const { namespace = "" } = revision.metadata;
  const reference = objectAt(asJson(revision), "spec", "resourcesConfigMap");
  const first = textAt(reference, "name");
  if (first === undefined) return err(`revision "${revision.metadata.name}" has no rendered resources`);
  const names = [...new Set([first, ...textsAt(reference, "shards")])];
  const objects: RenderedObject[] = [];
  for (const name of names) {
    const map = await getOrUndefined(client, { type: ConfigMap, namespace, name }, signal);
    if (map === undefined)
      return err(`ConfigMap "${namespace}/${name}" of revision "${revision.metadata.name}" not found`);
    for (const [key, text] of Object.entries(objectAt(asJson(map), "data") ?? {})) {
      let object = objectIn(text);
      if (object?.["x-in-secret"] === true) {
        const secret = await getOrUndefined(client, { type: Secret, namespace, name }, signal);
        const kept = secret === undefined ? undefined : textAt(asJson(secret), "data", key);
        object = kept === undefined ? undefined : objectIn(Buffer.from(kept, "base64").toString());
      }
      if (object === undefined) return err(`${key} in ConfigMap "${namespace}/${name}" cannot be read`);
      objects.push(renderedObject(key, object));
    }
  }
  return ok(objects);
}

function objectIn(text: unknown): JsonObject | undefined {
  const read = typeof text === "string" ? parseJson(text) : undefined;
  return read?.ok === true && isJsonObject(read.value) ? read.value : undefined;
}

/** What the object is says its labels. */
function renderedObject(key: string, json: JsonObject): RenderedObject {
  // Written by the revision: a whole object.
  const object = json as unknown as KubeObject;
  const label = (name: string): string | undefined => object.metadata.labels?.[name];
  const role = key.startsWith("policy.")
    ? "POLICY"
    : label("app.oam.dev/resourceType") === "TRAIT"
      ? "TRAIT"
      : "WORKLOAD";
  const [component, trait, resource] = ["app.oam.dev/component", "trait.oam.dev/type", "trait.oam.dev/resource"].map(
    label,
  );
  return {
    key,
    role,
    object,
    ...(component === undefined || role === "POLICY" ? {} : { component }),
    ...(trait === undefined ? {} : { trait }),
    ...(resource === undefined ? {} : { resource }),
  };
}
