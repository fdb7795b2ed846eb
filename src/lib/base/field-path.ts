/** Member names and array indexes from the document's root; empty for the root. */
export type FieldPath = readonly (string | number)[];

// Names that need no brackets; a dot would read as two members.
const plainName = /^[A-Za-z0-9_$-]+$/;

/** Kubernetes' notation: `spec.steps.build.dependencies[0]`, `metadata.labels[a.b/c]`. */
export function formatFieldPath(path: FieldPath): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number" || !plainName.test(part)) text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}
