import { defined, isJsonObject, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { AppIdentity, Component } from "../app.ts";
import { auxiliaryWorkload, copiedAnnotations, copiedLabels, label, textsOf } from "../labels.ts";
import { shortHash } from "../revision/hash.ts";
import { componentRevision } from "./context.ts";

export interface Placing {
  readonly identity: AppIdentity;
  readonly revisionHash: string;
  /** For objects without one; undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
}

/** `isNamespaced` is false for kinds of the whole cluster. */
export type IsNamespaced = (apiVersion: string, kind: string) => Promise<boolean>;

/** What an object needs to be one: the text says what is missing. */
export function objectFault(value: unknown): string | undefined {
  if (Array.isArray(value)) return "expected object, found a list";
  if (!isJsonObject(value)) return `expected object, found ${value === undefined ? "nothing" : JSON.stringify(value)}`;
  if (textAt(value, "kind") === undefined) return "expected object with kind";
  return textAt(value, "apiVersion") === undefined ? "expected object with apiVersion" : undefined;
}

export function nameWorkload(object: JsonObject, component: Component, type: string, placing: Placing): KubeObject {
  return completed(object, component.name, placing, {
    ...componentLabels(component),
    [label.resourceType]: "WORKLOAD",
    [label.workloadType]: type,
  });
}

/** `trait` is the trait's type, or `AuxiliaryWorkload`. */
export function nameAuxiliary(
  object: JsonObject,
  component: Component,
  { trait, resource }: { readonly trait: string; readonly resource: string },
  placing: Placing,
): KubeObject {
  const name = `${component.name}-${trait === auxiliaryWorkload ? "auxiliary" : trait}-${shortHash(canonicalJson(object))}`;
  return completed(object, name.toLowerCase(), placing, {
    ...componentLabels(component),
    [label.resourceType]: "TRAIT",
    [label.traitType]: trait,
    [label.traitResource]: resource,
  });
}

/** Objects of policies and steps, which belong to no component. */
export const nameOther = (
  object: JsonObject,
  name: string,
  placing: Placing,
  labels: Readonly<Record<string, string>> = {},
): KubeObject => completed(object, name, placing, labels);

const componentLabels = (component: Component): Readonly<Record<string, string>> => ({
  [label.component]: component.name,
  [label.revision]: componentRevision(component),
  ...defined({ [label.replicaKey]: component.replicaKey }),
});

/** The labels that show whose object it is win over the template's. */
function completed(
  object: JsonObject,
  name: string,
  { identity, revisionHash, namespace }: Placing,
  own: Readonly<Record<string, string>>,
): KubeObject {
  const metadata = objectAt(object, "metadata") ?? {};
  const place = textAt(metadata, "namespace") ?? namespace;
  return {
    ...object,
    apiVersion: textAt(object, "apiVersion") ?? "",
    kind: textAt(object, "kind") ?? "",
    metadata: {
      ...metadata,
      name: textAt(metadata, "name") ?? name,
      ...defined({ namespace: place }),
      labels: {
        ...copiedLabels(identity),
        ...textsOf(objectAt(metadata, "labels")),
        ...identityLabels(identity, revisionHash),
        ...own,
      },
      ...annotationsOf(identity, metadata),
    },
  };
}

export const identityLabels = (
  { name, namespace, revision }: AppIdentity,
  revisionHash: string,
): Readonly<Record<string, string>> => ({
  [label.app]: name,
  [label.appNamespace]: namespace,
  ...(revision === "" ? {} : { [label.appRevision]: revision }),
  ...(revisionHash === "" ? {} : { [label.appRevisionHash]: revisionHash }),
});

function annotationsOf(identity: AppIdentity, metadata: JsonObject) {
  const annotations = { ...copiedAnnotations(identity), ...textsOf(objectAt(metadata, "annotations")) };
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

/** The namespace for objects of a kind that have none. */
export async function namespaceFor(
  object: JsonObject,
  namespace: string,
  isNamespaced: IsNamespaced,
): Promise<string | undefined> {
  const [apiVersion, kind] = [textAt(object, "apiVersion") ?? "", textAt(object, "kind") ?? ""];
  if (kind === "Namespace" && apiVersion === "v1") return undefined;
  return (await isNamespaced(apiVersion, kind)) ? namespace : undefined;
}
