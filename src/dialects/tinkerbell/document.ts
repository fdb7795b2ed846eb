import { hasErrors, isJsonObject, type JsonObject, type Problem } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import {
  type CheckedDocument,
  checkSchema,
  collectProblems,
  type DocumentReader,
  documentReader,
  isOfGroup,
  kindOfDocument,
  type References,
  type Report,
  schemaOf,
} from "#kernel/dialect/index.ts";
import type { AnyHardware } from "./hardware.ts";
import { impliedRuns } from "./implied-runs.ts";
import { group, Hardware, HardwareV2, Osie, Template, TemplateV2, Workflow, WorkflowV2 } from "./kinds.ts";
import { referencesOf } from "./references.ts";
import { bootFileAlone } from "./schema/hardware.ts";
import { shapeOfTemplate, shapeOfWorkflow } from "./shape.ts";
import type { AnyWorkflow } from "./stored.ts";
import { templateOfText } from "./template-text.ts";

const kinds: readonly Kind[] = [Hardware, HardwareV2, Template, TemplateV2, Workflow, WorkflowV2, Osie];

/** Reads documents of this group, and files that are a template's text. Returns problems and never throws. */
export const documents: DocumentReader = documentReader({
  detect: (document) => isOfGroup(document, group),
  fromText: templateOfText,
  impliedRuns,
  read({ value, positionOf }, options = {}) {
    const found = collectProblems(positionOf);
    const whole = isJsonObject(value) ? withArguments(value, options.arguments ?? {}) : value;
    if (isJsonObject(whole)) checkDocument(whole, found.error);
    else found.error([], "wrong-type", "expected an object");
    // Validated: it is an object.
    const object = hasErrors(found.problems) ? undefined : (whole as unknown as KubeObject);
    return { object, problems: found.problems };
  },
  references: ({ value }) => (isJsonObject(value) ? namedIn(value) : []),
  readTogether: mixedShapes,
  lintTogether: mixedShapes,
});

/** Arguments of the command line are template values and override the Workflow's. Other documents take none. */
function withArguments(document: JsonObject, given: Readonly<Record<string, string>>): JsonObject {
  const { apiVersion, kind, spec } = document;
  if (kind !== Workflow.kind || Object.keys(given).length === 0) return document;
  const own = isJsonObject(spec) ? spec : {};
  const member = apiVersion === apiVersionOf(WorkflowV2) ? "templateParams" : "hardwareMap";
  const before = own[member];
  return { ...document, spec: { ...own, [member]: { ...(isJsonObject(before) ? before : {}), ...given } } };
}

function checkDocument(document: JsonObject, report: Report): void {
  const kind = kindOfDocument(document, kinds, report);
  if (kind === undefined) return;
  const schema = schemaOf(kind);
  const whole = schema.withDefaults(document);
  const isRight = checkSchema(schema, isJsonObject(whole) ? whole : document, report);
  if (isRight && kind === Hardware) checkBootFiles(document as unknown as AnyHardware, report);
}

/** A rule of the schema that only servers evaluate. */
function checkBootFiles({ spec = {} }: AnyHardware, report: Report): void {
  const interfaces = Array.isArray(spec["interfaces"]) ? spec["interfaces"] : [];
  for (const [at, one] of interfaces.entries()) {
    const dhcp = isJsonObject(one) && isJsonObject(one["dhcp"]) ? one["dhcp"] : {};
    const isGiven = (name: string): boolean => (dhcp[name] ?? "") !== "";
    if (isGiven("tftp_server_name") !== isGiven("boot_file_name"))
      report(["spec", "interfaces", at, "dhcp"], "invalid-value", bootFileAlone);
  }
}

function namedIn(document: JsonObject): References {
  const { apiVersion, kind, metadata, spec } = document;
  if (kind !== Workflow.kind || typeof apiVersion !== "string" || !isJsonObject(spec)) return [];
  const names = referencesOf({ spec });
  const namespace = isJsonObject(metadata) ? metadata["namespace"] : undefined;
  const place = typeof namespace === "string" ? { namespace } : {};
  return [
    { kind: Template.kind, name: names.template, path: ["spec", "templateRef"] },
    { kind: Hardware.kind, name: names.hardware, path: ["spec", "hardwareRef"] },
  ].flatMap(({ path, ...ref }) => (ref.name === "" ? [] : [{ ref: { apiVersion, ...ref, ...place }, path }]));
}

/** Workflows that name a template of the other shape could never run. */
function mixedShapes(all: readonly CheckedDocument[]): readonly (readonly Problem[])[] {
  return all.map(({ object, source }) => {
    const found = collectProblems(source.positionOf);
    // Validated by the schema.
    const workflow = object as AnyWorkflow;
    const { template: name } = referencesOf(workflow);
    const own = shapeOfWorkflow(workflow.spec);
    if (object.kind !== Workflow.kind || name === "" || own === "C") return found.problems;
    const named = all.find(
      ({ object: other }) =>
        other.kind === Template.kind &&
        other.metadata.name === name &&
        other.metadata.namespace === object.metadata.namespace,
    )?.object;
    const shape = shapeOfTemplate(named?.spec);
    if (shape !== undefined && shape !== own) {
      const message = `template "${name}" has shape ${shape}, the workflow shape ${own}`;
      found.error(["spec", "templateRef"], "invalid-value", message, "both must be written in one version");
    }
    return found.problems;
  });
}
