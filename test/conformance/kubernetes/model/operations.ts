import type { JsonObject } from "#lib/base/index.ts";
import type { ApiClient, Ref } from "#kernel/kit/index.ts";
import type { KubeObject, ResourceType } from "#kernel/model/index.ts";

/** The kind that is written: scalars, a map, a list with keys, a set, a status. */
export const Gadget: ResourceType = {
  group: "model.example.org",
  version: "v1",
  kind: "Gadget",
  plural: "gadgets",
  namespaced: true,
};
const text = { type: "string" };
export const gadgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gadgets.model.example.org" },
  spec: {
    group: "model.example.org",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  color: text,
                  fields: { type: "object", additionalProperties: text },
                  tags: { type: "array", items: text, "x-kubernetes-list-type": "set" },
                  items: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    items: { type: "object", required: ["name"], properties: { name: text, value: text } },
                  },
                },
              },
              status: { type: "object", properties: { phase: text } },
            },
          },
        },
      },
    ],
  },
};

export interface Spec {
  readonly color?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly items?: readonly { readonly name: string; readonly value?: string }[];
  readonly tags?: readonly string[];
}

/** One request, whole: what it does follows from it and from the object alone. */
export type Operation = { readonly name: string; readonly manager: string; readonly dryRun: boolean } & (
  | { readonly verb: "create"; readonly spec: Spec; readonly labels: Labels; readonly isHeld: boolean }
  | { readonly verb: "replace"; readonly spec: Spec; readonly isStale: boolean }
  | { readonly verb: "merge"; readonly spec: JsonObject }
  | { readonly verb: "label"; readonly show: string | null }
  | { readonly verb: "color"; readonly color: string }
  | { readonly verb: "apply"; readonly spec: Spec; readonly labels: Labels; readonly force: boolean }
  | { readonly verb: "status"; readonly phase: string | null }
  | { readonly verb: "release" }
  | { readonly verb: "delete"; readonly isStale: boolean }
);
export type Labels = Readonly<Record<string, string>>;

const names = ["a", "b", "c", "d", "e", "f"];
const managers = ["one", "two", "three"];
const values = ["1", "2"];

/** Draws a request. Few names and values, so that requests meet. */
export function drawOperation(random: () => number): Operation {
  const of = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const chance = (odds: number) => random() < odds;
  const some = <T>(list: readonly T[]): readonly T[] => list.filter(() => chance(0.5));
  const orNull = (value: string) => (chance(0.4) ? null : value);
  const spec = (): Spec => {
    const fields = some(["x", "y"]).map((key) => [key, of(values)]);
    const items = some(["i", "j"]).map((name) => ({ name, ...(chance(0.7) ? { value: of(values) } : {}) }));
    const tags = some(["s", "t"]);
    return {
      ...(chance(0.6) ? { color: of(values) } : {}),
      ...(fields.length > 0 ? { fields: Object.fromEntries(fields) as Labels } : {}),
      ...(items.length > 0 ? { items } : {}),
      ...(tags.length > 0 ? { tags } : {}),
    };
  };
  const labels = (): Labels => (chance(0.3) ? { show: of(["on", "off"]) } : {});
  const common = { name: of(names), manager: of(managers), dryRun: chance(0.05) };
  const dice = random();
  if (dice < 0.12) return { ...common, verb: "create", spec: spec(), labels: labels(), isHeld: chance(0.3) };
  if (dice < 0.28) return { ...common, verb: "replace", spec: spec(), isStale: chance(0.15) };
  if (dice < 0.38) return { ...common, verb: "merge", spec: { fields: { [of(["x", "y"])]: orNull(of(values)) } } };
  if (dice < 0.43) return { ...common, verb: "merge", spec: { color: orNull(of(values)) } };
  if (dice < 0.53) return { ...common, verb: "label", show: orNull(of(["on", "off"])) };
  if (dice < 0.58) return { ...common, verb: "color", color: of(values) };
  if (dice < 0.84) return { ...common, verb: "apply", spec: spec(), labels: labels(), force: chance(0.5) };
  if (dice < 0.9) return { ...common, verb: "status", phase: orNull(of(values)) };
  if (dice < 0.94) return { ...common, verb: "release" };
  return { ...common, verb: "delete", isStale: chance(0.2) };
}

const document = (name: string, spec: Spec, metadata: object): KubeObject & { readonly spec: Spec } => ({
  apiVersion: "model.example.org/v1",
  kind: "Gadget",
  metadata: { name, namespace: "default", ...metadata },
  spec,
});

/** The document of an operation that sends a whole one. */
export const documentOf = (done: Operation & { readonly verb: "create" | "apply" }): KubeObject =>
  document(done.name, done.spec, {
    ...(Object.keys(done.labels).length > 0 ? { labels: done.labels } : {}),
    ...(done.verb === "create" && done.isHeld ? { finalizers: ["example.org/hold"] } : {}),
  });

export const refOf = (name: string): Ref => ({ type: Gadget, namespace: "default", name });

/** Sends the request; answers with the object, or with what a deletion gives. */
export async function perform(client: ApiClient, done: Operation): Promise<unknown> {
  const ref = refOf(done.name);
  const { dryRun } = done;
  const options = { fieldManager: done.manager, dryRun };
  const merge = (body: JsonObject) => client.patch(ref, { type: "merge", body }, options);
  switch (done.verb) {
    case "create":
      return client.create(Gadget, documentOf(done), options);
    case "replace": {
      const now = await client.get(ref);
      const metadata = done.isStale ? { ...now.metadata, resourceVersion: "1" } : now.metadata;
      return client.update(Gadget, { ...now, metadata, spec: done.spec }, options);
    }
    case "merge":
      return merge({ spec: done.spec });
    case "label":
      return merge({ metadata: { labels: { show: done.show } } });
    case "color":
      return client.patch(
        ref,
        { type: "json", operations: [{ op: "replace", path: "/spec/color", value: done.color }] },
        options,
      );
    case "apply": {
      const body = JSON.parse(JSON.stringify(documentOf(done))) as JsonObject;
      return client.patch(ref, { type: "apply", body, force: done.force }, options);
    }
    case "status":
      return client.patch(
        ref,
        { type: "merge", body: { status: { phase: done.phase } } },
        { ...options, subresource: "status" },
      );
    case "release":
      return merge({ metadata: { finalizers: null } });
    case "delete":
      return client.delete(ref, { dryRun, ...(done.isStale ? { preconditions: { resourceVersion: "1" } } : {}) });
  }
}
