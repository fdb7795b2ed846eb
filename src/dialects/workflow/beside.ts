import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import type { References, Report } from "#kernel/dialect/index.ts";
import { checkValues } from "./compile/params.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";

// What a Workflow refers to is beside it in the same files, or on a server.

export function referencesOf(document: JsonObject): References {
  const { kind, metadata, spec } = document;
  const templateRef = isJsonObject(spec) ? spec["templateRef"] : undefined;
  const name = isJsonObject(templateRef) ? templateRef["name"] : undefined;
  if (kind !== Workflow.kind || typeof name !== "string" || name === "") return [];
  const namespace = isJsonObject(metadata) ? metadata["namespace"] : undefined;
  const place = typeof namespace === "string" ? { namespace } : {};
  const ref = { apiVersion: apiVersionOf(WorkflowTemplate), kind: WorkflowTemplate.kind, name, ...place };
  return [{ ref, path: ["spec", "templateRef"] }];
}

export const templateBeside = (
  name: string | undefined,
  namespace: string | undefined,
  beside: readonly KubeObject[],
): WorkflowTemplate | undefined =>
  beside.find(
    (object): object is WorkflowTemplate & KubeObject =>
      isTemplate(object) && object.metadata.name === name && object.metadata.namespace === namespace,
  );

const isTemplate = ({ apiVersion, kind }: KubeObject): boolean =>
  kind === WorkflowTemplate.kind && apiVersion === apiVersionOf(WorkflowTemplate);

export function checkAgainst({ spec }: WorkflowTemplate, document: JsonObject, report: Report): void {
  const given = isJsonObject(document["spec"]) ? document["spec"]["arguments"] : undefined;
  if (given !== undefined && !isJsonObject(given)) return;
  checkValues(spec.params ?? [], given ?? {}, ["spec", "arguments"], report);
}
