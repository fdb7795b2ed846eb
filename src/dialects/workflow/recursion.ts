import { type FieldPath, formatFieldPath, type Problem } from "#lib/base/index.ts";
import type { CheckedDocument } from "#kernel/dialect/index.ts";
import { stepSources } from "./compile/step-source.ts";
import { type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";

/** A template that a run of a specification always runs: nothing about the step that names it could end a recursion. */
export interface Contained {
  readonly name: string;
  /** Of the reference. */
  readonly path: FieldPath;
}

/**
 * The templates that every run of a specification runs, by steps without `when` and `repeat`, also inside of specifications that steps
 * write out. The specification has passed its checks.
 */
export function containedTemplates(spec: WorkflowSpec, at: FieldPath = []): readonly Contained[] {
  return stepSources(spec).flatMap(({ step, path }): readonly Contained[] => {
    if (step.workflow === undefined || step.when !== undefined || step.repeat !== undefined) return [];
    const place = [...at, ...path, "workflow"];
    const { templateRef, spec: inner } = step.workflow;
    if (templateRef !== undefined) return [{ name: templateRef.name, path: [...place, "templateRef"] }];
    // Checked as the specification of a template, where it stands.
    return inner === undefined ? [] : containedTemplates(inner, place);
  });
}

/** What to do about a template that contains itself. */
export const recursionHint = "a condition (when) ends the recursion";

/** A template among documents, and what it contains. */
interface Known {
  readonly key: string;
  readonly document: CheckedDocument;
  readonly contains: readonly (Contained & { readonly key: string })[];
}

/**
 * Templates that contain themselves by way of others, each with the shortest way back to it and at its own reference; problems by
 * document, in their order. Those that name themselves are told with the document alone. O(templates x references).
 */
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

/** Undefined for documents that are no templates. */
function knownOf(document: CheckedDocument): Known | undefined {
  const { kind, metadata } = document.object;
  if (kind !== WorkflowTemplate.kind) return undefined;
  const { namespace = "", name = "" } = metadata;
  const keyOf = (of: string): string => `${namespace}/${of}`;
  // It was read without an error, so it is one.
  const { spec } = document.object as WorkflowTemplate;
  return {
    key: keyOf(name),
    document,
    contains: containedTemplates(spec).map((one) => ({ ...one, key: keyOf(one.name) })),
  };
}

/** The names on the shortest way from one template to another, both of them included; undefined when there is none. */
function wayFrom(start: string, end: string, byKey: ReadonlyMap<string, Known>): readonly string[] | undefined {
  const before = new Map<string, string | undefined>([[start, undefined]]);
  // A map gives what is added while it is walked, too: it is its own queue.
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
