import { inTurns, type Problem } from "#lib/base/index.ts";
import { type Writer, writersOf } from "#kernel/model/index.ts";
import type { Workflow, WorkflowSpec } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { compileAhead } from "../compile/compile.ts";
import { maxSpecBytes, specOf, withTemplate } from "../spec-of.ts";
import type { Resolved } from "./memory.ts";
import type { Pass } from "./pass.ts";

export type InvalidReason = "InvalidSpec" | "TemplateNotFound" | "Forbidden";

export type Resolution =
  /** `writers`: the template's; none if it is not read any more. */
  | ({ readonly is: "resolved"; readonly writers: readonly Writer[] } & Resolved)
  | { readonly is: "unresolved"; readonly reason: InvalidReason; readonly problems: readonly Problem[] };

/** The spec of this pass: the workflow's own, the one frozen at the start, or before that the template's. */
export async function resolveStage({
  workflow,
  templates,
  signal,
}: Pick<Pass, "workflow" | "templates" | "signal">): Promise<Resolution> {
  const { spec, status } = workflow;
  if (spec.templateRef === undefined || status?.resolvedSpec !== undefined)
    return { is: "resolved", spec: specOf(workflow), template: "", writers: [] };
  const { name } = spec.templateRef;
  const look = await templates.look(workflow, name, signal);
  if (look.is === "missing") return unresolved("TemplateNotFound", `there is no WorkflowTemplate "${name}"`);
  if (look.is === "refused") return unresolved("Forbidden", look.message);
  const { metadata } = look.template;
  const resolved = withTemplate(spec, look.template.spec);
  const bytes = bytesOf(spec) + bytesOf(resolved);
  const writers = writersOf(look.template);
  if (bytes <= maxSpecBytes) {
    // Admission has compiled a workflow's own spec.
    if (bytes > largeBytes) await inTurns(compileAhead({ ...workflow, spec: resolved }), nextTurn);
    return { is: "resolved", spec: resolved, template: metadata.resourceVersion, writers };
  }
  const message = `with its template the specification has ${bytes} bytes, at most ${maxSpecBytes} can be kept`;
  return unresolved("InvalidSpec", message);
}

/** Compiling smaller ones takes few milliseconds. */
const largeBytes = 128 * 1024;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const bytesOf = (spec: WorkflowSpec): number => Buffer.byteLength(JSON.stringify(spec));

function unresolved(reason: InvalidReason, message: string): Resolution {
  const found = collectProblems();
  found.error(["spec", "templateRef"], "invalid-value", message);
  return { is: "unresolved", reason, problems: found.problems };
}

/** Stored by the write that starts the run, which then ignores changes of the template. */
export const frozenSpec = ({ spec, status }: Workflow, resolved: WorkflowSpec) =>
  spec.templateRef === undefined || status?.resolvedSpec !== undefined ? {} : { resolvedSpec: { ...resolved } };
