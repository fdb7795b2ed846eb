import { types, type WorkflowPlane } from "./control-plane.ts";

/**
 * Defines a kind of somebody else, of which nothing is known but that it has a status, and resolves with where its objects are in the
 * namespace `default`. The plural is the kind with an `s`.
 */
export async function createKind(plane: WorkflowPlane, group: string, kind: string, version = "v1"): Promise<string> {
  const plural = `${kind.toLowerCase()}s`;
  const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: free, status: free } } };
  const body = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { plural, singular: kind.toLowerCase(), kind },
      scope: "Namespaced",
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
  const answer = await plane.api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body });
  if (answer.status !== 201) throw new Error(answer.text);
  await plane.settle();
  return `/apis/${group}/${version}/namespaces/default/${plural}`;
}

/** Writes the status of an object, as its controller does. */
export async function putStatus(plane: WorkflowPlane, path: string, status: object): Promise<void> {
  const bytes = JSON.stringify({ status });
  const answer = await plane.api.ask("PATCH", `${path}/status`, { bytes, headers: types.merge });
  if (answer.status !== 200) throw new Error(answer.text);
  await plane.settle();
}
