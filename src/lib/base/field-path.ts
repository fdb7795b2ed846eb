/** Member names and array indexes (from 0) from the root of a document to one of its values; empty for the root. */
export type FieldPath = readonly (string | number)[];

// Names of members that need no brackets. A map's key with a dot in it would otherwise read as two members.
const plainName = /^[A-Za-z0-9_$-]+$/;

/** Kubernetes' notation: `spec.steps.build.dependencies[0]`; names with other characters as `metadata.labels[a.b/c]`. */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number" || !plainName.test(part)) text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}
