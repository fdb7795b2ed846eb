import { isJsonObject, type Problem } from "#lib/base/index.ts";
import { asJson, splitApiVersion } from "#kernel/model/index.ts";
import type { Document } from "./documents.ts";

/**
 * Warnings for objects of kinds that nobody here knows: neither a dialect, nor Kubernetes, nor a definition among the documents. Of such
 * an object nothing was checked, and a server takes it only if it has the definition; without a word it would pass for a good one.
 */
export function foreignKinds(documents: readonly Document[]): ReadonlyMap<Document, readonly Problem[]> {
  const defined = new Set(documents.flatMap(definedBy));
  const found = new Map<Document, readonly Problem[]>();
  for (const document of documents) {
    const { object, reader, source } = document;
    if (object === undefined || reader !== undefined) continue;
    const { apiVersion, kind } = object;
    const { group } = splitApiVersion(apiVersion);
    if (isOfKubernetes(group) || defined.has(keyOf(group, kind))) continue;
    const position = source.positionOf(["kind"]);
    const message = `unknown kind ${kind} in ${apiVersion}: it was not checked`;
    const hint = "a server accepts it only with its CustomResourceDefinition, which can be among the documents";
    found.set(document, [{ severity: "warning", code: "unknown-kind", path: "kind", message, position, hint }]);
  }
  return found;
}

/** Its own groups have no dot or this end; which kinds they hold differs from server to server. */
const isOfKubernetes = (group: string): boolean => !group.includes(".") || group.endsWith(".k8s.io");

const keyOf = (group: string, kind: string): string => `${kind}.${group}`;

/** What a CustomResourceDefinition defines; its versions are not looked at. */
function definedBy({ object }: Document): readonly string[] {
  if (object?.kind !== "CustomResourceDefinition") return [];
  const { spec } = asJson(object);
  const { group, names } = isJsonObject(spec) ? spec : {};
  const kind = isJsonObject(names) ? names["kind"] : undefined;
  return typeof group === "string" && typeof kind === "string" ? [keyOf(group, kind)] : [];
}
