import type { StatusCause } from "#kernel/model/index.ts";
import { formatElement } from "./elements.ts";
import {
  difference,
  type ElementPath,
  type FieldSet,
  FieldSetBuilder,
  intersection,
  isEmptySet,
  pathsOf,
} from "./field-set.ts";
import type { Manager } from "./managers.ts";

export interface Conflict {
  readonly manager: Manager;
  readonly path: ElementPath;
}

// Kubernetes' texts: kubectl prints them. Paths begin with a dot, unlike those of other causes.

/** The fields of `taken` that these managers own, ordered by manager. */
export function conflictsWith(managers: readonly Manager[], taken: FieldSet): readonly Conflict[] {
  if (isEmptySet(taken)) return [];
  const byName = [...managers].sort((a, b) => compareTexts(describe(a), describe(b)));
  return byName.flatMap((manager) => pathsOf(intersection(manager.fields, taken)).map((path) => ({ manager, path })));
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function conflictsBeyond(conflicts: readonly Conflict[], allowed: FieldSet): readonly Conflict[] {
  const found = new FieldSetBuilder();
  for (const { path } of conflicts) found.insert(path);
  const left = new Set(pathsOf(difference(found.build(), allowed)).map(formatPath));
  return conflicts.filter(({ path }) => left.has(formatPath(path)));
}

export const formatPath = (path: ElementPath): string => path.map(formatElement).join("");

/** `"kubectl" with subresource "status" using v1`; appliers have no version. */
function describe({ name, subresource, operation, apiVersion }: Manager): string {
  const part = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(name)}${part}${operation === "Update" ? ` using ${apiVersion}` : ""}`;
}

/** The refusal in Kubernetes' words; needs at least one conflict. */
export function conflictMessage(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (first !== undefined && conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${describe(first.manager)}: ${formatPath(first.path)}`;
  }
  const pathsByManager = new Map<string, string[]>();
  for (const { manager, path } of conflicts) {
    const name = describe(manager);
    const paths = pathsByManager.get(name) ?? [];
    paths.push(formatPath(path));
    pathsByManager.set(name, paths);
  }
  const lines = [...pathsByManager].flatMap(([name, paths]) => [
    `conflicts with ${name}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

export const conflictCauses = (conflicts: readonly Conflict[]): readonly StatusCause[] =>
  conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    field: formatPath(path),
    message: `conflict with ${describe(manager)}`,
  }));
