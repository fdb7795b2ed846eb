import {
  defined,
  type JsonObject,
  type JsonValue,
  numberAt,
  objectAt,
  objectsAt,
  parseInstant,
  textAt,
  textsAt,
} from "#lib/base/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, Event, Pod, Service } from "#kernel/model/index.ts";
import { Application } from "../kinds.ts";
import { label, objectsOf } from "../labels.ts";
import { type Action, clientOf, done, failure, inBothForms } from "./form.ts";
import type { ActionScope } from "./provider.ts";

// Questions about what applications have applied, for views and export steps.

const longestLog = 1024 * 1024;

interface Filter {
  readonly name: string;
  readonly namespace: string;
  readonly components: readonly string[];
  readonly kind?: string | undefined;
  readonly cluster?: string | undefined;
}

function filterOf(params: JsonObject): Filter {
  const app = objectAt(params, "app");
  const filter = objectAt(app, "filter");
  return {
    name: textAt(app, "name") ?? "",
    namespace: textAt(app, "namespace") ?? "default",
    components: textsAt(filter, "components"),
    kind: textAt(filter, "kind"),
    cluster: textAt(filter, "cluster"),
  };
}

/** As the application's status lists them. */
async function appliedOf(filter: Filter, { client, signal }: ActionScope): Promise<readonly JsonObject[] | string> {
  const { name, namespace } = filter;
  const app = await getOrUndefined(client, { type: Application, namespace, name }, signal);
  if (app === undefined) return `application ${namespace}/${name} not found`;
  return objectsAt(asJson(app), "status", "appliedResources").filter(
    (resource) =>
      (filter.kind === undefined || resource["kind"] === filter.kind) &&
      (filter.cluster === undefined || (textAt(resource, "cluster") ?? "local") === filter.cluster),
  );
}

const listApplied: Action = async (params, scope) => {
  const found = await appliedOf(filterOf(params), scope);
  return typeof found === "string" ? failure(found) : done({ list: found });
};

const listResources: Action = async (params, scope) => {
  const found = await appliedOf(filterOf(params), scope);
  if (typeof found === "string") return failure(found);
  const list: JsonObject[] = [];
  for (const resource of found) {
    const client = await clientOf({ cluster: resource["cluster"] }, scope);
    const type =
      typeof client === "string"
        ? undefined
        : await client.resourceType(textAt(resource, "apiVersion") ?? "", textAt(resource, "kind") ?? "");
    if (typeof client === "string" || type === undefined) continue;
    const namespace = textAt(resource, "namespace");
    const ref = { type, name: textAt(resource, "name") ?? "", ...defined({ namespace }) };
    const object = await getOrUndefined(client, ref, scope.signal);
    if (object !== undefined) list.push({ cluster: textAt(resource, "cluster") ?? "", object: asJson(object) });
  }
  return done(
    { list },
    list.some(({ object }) => textAt(object, "kind") === "Secret"),
  );
};

const collectable = { Pod, Service } as const;

/** By the labels that applied objects and their Pods have. */
const collect: Action = async (params, scope) => {
  const { name, namespace, components, kind = "Pod" } = filterOf(params);
  const type = kind === "Service" ? collectable.Service : collectable.Pod;
  const { items } = await scope.client.list(type, {
    namespace,
    labelSelector: objectsOf(name),
    signal: scope.signal,
  });
  const list = items
    .filter(({ metadata }) => components.length === 0 || components.includes(metadata.labels?.[label.component] ?? ""))
    .map((object) => ({
      cluster: "local",
      component: object.metadata.labels?.[label.component] ?? "",
      object: asJson(object),
    }));
  return done({ list });
};

const endpoints: Action = async (params, scope) => {
  const { name, namespace, components } = filterOf(params);
  const options = { namespace, labelSelector: objectsOf(name), signal: scope.signal };
  const { items } = await scope.client.list(Service, options);
  const list = items.flatMap((service) => {
    const component = service.metadata.labels?.[label.component] ?? "";
    if (components.length > 0 && !components.includes(component)) return [];
    const { apiVersion, kind, metadata } = service;
    const ref = { apiVersion, kind, name: metadata.name, namespace, uid: metadata.uid };
    return objectsAt(asJson(service), "spec", "ports").map(
      (port): JsonValue => ({
        endpoint: {
          protocol: textAt(port, "protocol") ?? "TCP",
          appProtocol: textAt(port, "appProtocol") ?? "",
          host: `${metadata.name}.${namespace}`,
          port: numberAt(port, "port") ?? 0,
          portName: textAt(port, "name") ?? "",
          path: "",
          inner: true,
        },
        ref,
        cluster: "local",
        component,
      }),
    );
  });
  return done({ list });
};

const searchEvents: Action = async (params, scope) => {
  const client = await clientOf(params, scope);
  if (typeof client === "string") return failure(client);
  const value = objectAt(params, "value");
  const [kind, name] = [textAt(value, "kind") ?? "", textAt(value, "metadata", "name") ?? ""];
  const namespace = textAt(value, "metadata", "namespace") ?? "default";
  const { items } = await client.list(Event, { namespace, signal: scope.signal });
  const list = items
    .map(asJson)
    .filter(
      (event) => textAt(event, "involvedObject", "kind") === kind && textAt(event, "involvedObject", "name") === name,
    );
  return done({ list });
};

const collectLogs: Action = async (params, scope) => {
  const client = await clientOf(params, scope);
  if (typeof client === "string") return done({ outputs: { err: client } });
  const options = objectAt(params, "options");
  const [container, sinceTime] = [textAt(options, "container"), textAt(options, "sinceTime")];
  const [tailLines, sinceSeconds] = [numberAt(options, "tailLines"), numberAt(options, "sinceSeconds")];
  const ref = { type: Pod, namespace: textAt(params, "namespace") ?? "default", name: textAt(params, "pod") ?? "" };
  const chunks: Uint8Array[] = [];
  const asked = {
    ...defined({ container }),
    ...(sinceTime === undefined || parseInstant(sinceTime) === undefined ? {} : { sinceTime }),
    ...defined({ tailLines, sinceSeconds }),
    limitBytes: Math.min(longestLog, numberAt(options, "limitBytes") ?? longestLog),
    previous: options?.["previous"] === true,
    timestamps: options?.["timestamps"] === true,
    signal: scope.signal,
  };
  try {
    for await (const chunk of client.logs(ref, asked)) chunks.push(chunk);
  } catch (thrown) {
    if (scope.signal.aborted) throw thrown;
    return done({ outputs: { err: String(thrown) } });
  }
  return done({ outputs: { logs: Buffer.concat(chunks).toString("base64") } });
};

const actions = {
  listAppliedResources: listApplied,
  listResourcesInApp: listResources,
  collectResources: collect,
  collectServiceEndpoints: endpoints,
  searchEvents,
  collectLogsInPod: collectLogs,
};

/** `ql` is the legacy form of `query`. */
export const queryProviders = Object.fromEntries(
  Object.entries(inBothForms("query", actions)).map(([name, provider]) => [name.replace(/^op\//, "ql/"), provider]),
);
