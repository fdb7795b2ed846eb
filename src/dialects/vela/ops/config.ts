import { defined, isJsonObject, type JsonObject, type JsonValue, textAt } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { createOrUpdate, ensureDeleted, getOrUndefined, secretData, secretText } from "#kernel/kit/index.ts";
import { type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import { type Action, done, failure, inBothForms, namespaceOf } from "./form.ts";
import type { ActionScope } from "./provider.ts";

// A config is a Secret with labels and its properties as JSON.

const catalogLabel = "config.oam.dev/catalog";
const catalog = "velacore-config";
const typeLabel = "config.oam.dev/type";
const dataKey = "input-properties";

const refOf = (params: JsonObject, scope: ActionScope) => ({
  type: Secret,
  namespace: textAt(params, "namespace") ?? namespaceOf(scope),
  name: textAt(params, "name") ?? "",
});

const isConfig = (secret: Stored): boolean => secret.metadata.labels?.[catalogLabel] === catalog;

const create: Action = async (params, scope) => {
  const ref = refOf(params, scope);
  if (ref.name === "") return failure("name is missing");
  const { config } = params;
  if (!isJsonObject(config)) return failure("config: expected object");
  const template = textAt(params, "template")?.split("/").at(-1);
  const present = await getOrUndefined(scope.client, ref, scope.signal);
  if (present !== undefined && !isConfig(present))
    return failure(`secret "${ref.namespace}/${ref.name}" is not a config`);
  const labels = { [catalogLabel]: catalog, ...defined({ [typeLabel]: template }) };
  const data = secretData({ [dataKey]: JSON.stringify(config) });
  const { clock, signal } = scope;
  const wanted = (was: Stored | undefined): KubeObject =>
    ({
      ...was,
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        ...was?.metadata,
        name: ref.name,
        namespace: ref.namespace,
        labels: { ...was?.metadata.labels, ...labels },
      },
      data,
    }) as KubeObject;
  await createOrUpdate<KubeObject>(scope.client, ref, wanted, { clock, signal });
  return done();
};

function configIn(secret: Stored): JsonValue {
  const parsed = parseJson(secretText(secret, dataKey) ?? "{}");
  return parsed.ok ? parsed.value : {};
}

const read: Action = async (params, scope) => {
  const ref = refOf(params, scope);
  const secret = await getOrUndefined(scope.client, ref, scope.signal);
  if (secret === undefined || !isConfig(secret)) return failure(`config ${ref.namespace}/${ref.name} not found`);
  return done({ config: configIn(secret) }, true);
};

const list: Action = async (params, scope) => {
  const template = textAt(params, "template")?.split("/").at(-1);
  const { namespace } = refOf(params, scope);
  const type = template === undefined ? "" : `,${typeLabel}=${template}`;
  const options = { namespace, labelSelector: `${catalogLabel}=${catalog}${type}`, signal: scope.signal };
  const { items } = await scope.client.list(Secret, options);
  const configs = items.map((secret) => ({ name: secret.metadata.name, config: configIn(secret) }));
  return done({ configs }, true);
};

const remove: Action = async (params, scope) => {
  const secret = await getOrUndefined(scope.client, refOf(params, scope), scope.signal);
  if (secret !== undefined && isConfig(secret))
    await ensureDeleted(scope.client, Secret, secret, { signal: scope.signal });
  return done();
};

export const configProviders = inBothForms(
  "config",
  { create, read, list, delete: remove },
  { create: "create-config", read: "read-config", list: "list-config", delete: "delete-config" },
);
