import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import { type Report, RunAction, unknownKind } from "#kernel/dialect/index.ts";
import { type StepSource, stepSources } from "./compile/step-source.ts";
import { Workflow, type WorkflowSpec, WorkflowTemplate } from "./kinds.ts";

// An unserved kind may be defined later and the step waits for it, but mostly it is a typo.

export type Serves = (apiVersion: string, kind: string) => boolean;

export function warnUnserved(spec: WorkflowSpec, serves: Serves, warn: Report): void {
  for (const { path, apiVersion, kind } of kindsOf(spec)) {
    if (serves(apiVersion, kind)) continue;
    const message = `the server serves no ${kind} in ${apiVersion}: the step waits until it does`;
    warn(path, "unknown-kind", message, hintFor(apiVersion, kind));
  }
}

/** Warns, without a server, about unknown kinds of Kubernetes' and Slipway's groups. */
export function warnUnknown(spec: WorkflowSpec, warn: Report): void {
  for (const { path, apiVersion, kind } of kindsOf(spec)) {
    const isOurs = apiVersion.startsWith(`${Workflow.group}/`);
    if (isOurs ? ownKinds.includes(kind) : unknownKind(apiVersion, kind) === undefined) continue;
    warn(path, "unknown-kind", `there is no ${kind} in ${apiVersion}`, hintFor(apiVersion, kind));
  }
}

const ownKinds: readonly string[] = [Workflow.kind, WorkflowTemplate.kind, RunAction.kind];

function hintFor(apiVersion: string, kind: string): string | undefined {
  if (!apiVersion.startsWith(`${Workflow.group}/`)) return unknownKind(apiVersion, kind)?.hint;
  const meant = nearest(kind, ownKinds);
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

function* kindsOf(spec: WorkflowSpec) {
  for (const source of stepSources(spec)) {
    const member = memberOf(source);
    if (member === undefined) continue;
    const { apiVersion, kind } = isJsonObject(member.value) ? member.value : {};
    if (isPlain(apiVersion) && isPlain(kind)) yield { path: [...source.path, member.name, "kind"], apiVersion, kind };
  }
}

function memberOf({ step }: StepSource): { readonly name: string; readonly value: unknown } | undefined {
  if (step.template !== undefined) return { name: "template", value: step.template };
  return step.externalRef === undefined ? undefined : { name: "externalRef", value: step.externalRef };
}

const isPlain = (value: JsonValue | undefined): value is string =>
  typeof value === "string" && value !== "" && !value.includes("${{");
