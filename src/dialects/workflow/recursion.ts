import { type FieldPath, formatFieldPath, type Problem } from "#lib/base/index.ts";
import type { CheckedDocument } from "#kernel/dialect/index.ts";
import { stepSources } from "./compile/step-source.ts";
import { type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";

/** A template that every run of a spec runs. */
export interface Contained {
  readonly name: string;
  readonly path: FieldPath;
}

/** Templates that every run of a valid spec runs, by steps without `when` and `repeat`, also in inline specs. */
export function containedTemplates(spec: WorkflowSpec, at: FieldPath = []): readonly Contained[] {
  return stepSources(spec).flatMap(({ step, path }): readonly Contained[] => {
    if (step.workflow === undefined || step.when !== undefined || step.repeat !== undefined) return [];
    const place = [...at, ...path, "workflow"];
    const { templateRef, spec: inner } = step.workflow;
    if (templateRef !== undefined) return [{ name: templateRef.name, path: [...place, "templateRef"] }];
    // Checked as the template's spec.
    return inner === undefined ? [] : containedTemplates(inner, place);
  });
}

export const recursionHint = "a condition (when) ends the recursion";

interface Known {
  readonly key: string;
  readonly document: CheckedDocument;
  readonly contains: readonly (Contained & { readonly key: string })[];
}

/** Templates that contain themselves through others, with the shortest circle. O(templates x references). */
export function indirectRecursions(documents: readonly CheckedDocument[]): readonly (readonly Problem[])[] {
  const templates = documents.map(knownOf);
  const byKey = new Map(templates.flatMap((known) => (known === undefined ? [] : [[known.key, known] as const])));
  return templates.map((known) => {
    if (known === undefined) return [];
    return known.contains.flatMap((first) => {
      const way = first.key === known.key ? undefined : wayFrom(first.key, known.key, byKey);
      return way === undefined ? [] : [problemAt(known, first, [known.document.object.metadata.name ?? "", ...way])];
    });
  });
}

/** Undefined for other kinds. */
function knownOf(document: CheckedDocument): Known | undefined {
  const { kind, metadata } = document.object;
  if (kind !== WorkflowTemplate.kind) return undefined;
  const { namespace = "", name = "" } = metadata;
  const keyOf = (of: string): string => `${namespace}/${of}`;
  // It was read without an error.
  const { spec } = document.object as WorkflowTemplate;
  return {
    key: keyOf(name),
    document,
    contains: containedTemplates(spec).map((one) => ({ ...one, key: keyOf(one.name) })),
  };
}

/** The shortest path, with both ends; undefined if there is none. */
function wayFrom(start: string, end: string, byKey: ReadonlyMap<string, Known>): readonly string[] | undefined {
  const before = new Map<string, string | undefined>([[start, undefined]]);
  // The map is its own queue: iteration includes additions.
  for (const [key] of before) {
    if (key === end) return namesTo(key, before, byKey);
    for (const next of byKey.get(key)?.contains ?? []) if (!before.has(next.key)) before.set(next.key, key);
  }
  return undefined;
}

function namesTo(
  end: string,
  before: ReadonlyMap<string, string | undefined>,
  byKey: ReadonlyMap<string, Known>,
): readonly string[] {
  const names: string[] = [];
  for (let key: string | undefined = end; key !== undefined; key = before.get(key))
    names.unshift(byKey.get(key)?.document.object.metadata.name ?? "");
  return names;
}

function problemAt({ document }: Known, { path }: Contained, way: readonly string[]): Problem {
  return {
    severity: "error",
    code: "recursion",
    path: formatFieldPath(path),
    message: `the template "${way[0] ?? ""}" contains itself: ${way.join(" -> ")}`,
    hint: recursionHint,
    position: document.source.positionOf(path),
  };
}
