import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { canonicalJson, parseJson } from "#lib/json/index.ts";
import { compare } from "./compare.ts";
import { difference, type FieldSet, leaf, union } from "./field-set.ts";
import { fieldSetOf } from "./field-set-of.ts";
import type { TypeNode } from "./type-node.ts";

// kubectl's client-side apply keeps the last document in an annotation and owns its fields as an updater. When the same kubectl goes
// over to server-side apply, what the annotation declares is its own, so taking it is no conflict.

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** The manager kubectl applies as; another name opts out of the migration. */
export const kubectlManager = "kubectl";

/** All annotations of an object together may have this many bytes; the annotation is dropped rather than going over it. */
const maxAnnotationBytes = 256 * 1024;

function annotationsOf(object: JsonObject): JsonObject {
  const annotations = isJsonObject(object["metadata"]) ? object["metadata"]["annotations"] : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/** The fields that the annotation declares and that still have the declared values; none without a readable annotation. */
export function fieldsOfLastApplied(live: JsonObject, type: TypeNode): FieldSet {
  const text = annotationsOf(live)[lastAppliedAnnotation];
  const parsed = typeof text === "string" ? parseJson(text) : undefined;
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return leaf;
  const document = parsed.value;
  if (document["apiVersion"] !== live["apiVersion"]) return leaf;
  const { added, modified, removed } = compare(document, live, type);
  return difference(fieldSetOf(document, type), union(union(added, modified), removed));
}

/** The object with the annotation renewed from the document, when it has one. */
export function withLastApplied(object: JsonObject, document: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  const text = annotations[lastAppliedAnnotation];
  if (typeof text !== "string" || text === "") return object;
  const renewed = `${canonicalJson(withoutAnnotation(document))}\n`;
  if (renewed === text) return object;
  const { [lastAppliedAnnotation]: _old, ...others } = annotations;
  const all = { ...annotations, [lastAppliedAnnotation]: renewed };
  return withAnnotations(object, Buffer.byteLength(JSON.stringify(all)) > maxAnnotationBytes ? others : all);
}

function withoutAnnotation(document: JsonObject): JsonObject {
  const annotations = annotationsOf(document);
  if (annotations[lastAppliedAnnotation] === undefined) return document;
  const { [lastAppliedAnnotation]: _nested, ...others } = annotations;
  return withAnnotations(document, others);
}

const withAnnotations = (object: JsonObject, annotations: JsonObject): JsonObject => ({
  ...object,
  metadata: { ...(isJsonObject(object["metadata"]) ? object["metadata"] : {}), annotations },
});
