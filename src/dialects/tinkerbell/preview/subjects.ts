import { isJsonObject, type JsonObject, type Problem } from "#lib/base/index.ts";
import type { AnyHardware } from "../hardware.ts";
import type { AnyTemplate } from "../inputs.ts";
import { group } from "../kinds.ts";
import { referencesOf } from "../references.ts";
import { shapeOfTemplate, shapeOfWorkflow } from "../shape.ts";
import type { AnyWorkflow } from "../stored.ts";
import type { Sources, Written } from "./sources.ts";

/** A template to be rendered, by whom it is used and for which machine. */
export interface Subject {
  readonly template: Written<AnyTemplate>;
  readonly hardware: AnyHardware | undefined;
  /** The one that was written, or one that stands for those that will use the template. */
  readonly workflow: AnyWorkflow;
  /** Where the workflow is written; absent for a stand-in. */
  readonly written?: Written<AnyWorkflow>;
}

/** What is asked for. */
export interface Choice {
  /** Values beside those of the workflow, before which they come. */
  readonly values: Readonly<Record<string, string>>;
  /** For each of these machines, whatever workflows say. Absent: for those that workflows name, and templates without one for all of the files. */
  readonly machines?: readonly AnyHardware[];
}

/**
 * What there is to render: each workflow with the template and the machine it names, each template that no workflow names for itself. What a
 * workflow names and nobody has is a problem where it is named.
 */
export function subjectsOf(sources: Pick<Sources, "hardware" | "templates" | "workflows">, choice: Choice) {
  const problems: Problem[] = [];
  const subjects: Subject[] = [];
  const used = new Set<Written<AnyTemplate>>();
  for (const written of sources.workflows) {
    const names = referencesOf(written.object);
    const template = sources.templates.find(({ object }) => object.metadata.name === names.template);
    const isB = shapeOfWorkflow(written.object.spec) === "B";
    const missing = (field: "hardwareRef" | "templateRef", message: string): undefined => {
      const path = ["spec", field, ...(isB ? ["name"] : [])];
      const position = written.positionOf(path);
      problems.push({ severity: "error", code: "missing-reference", path: path.join("."), message, position });
    };
    if (template === undefined) {
      missing("templateRef", `template not found: "${names.template}"`);
      continue;
    }
    used.add(template);
    const own = sources.hardware.find(({ object }) => object.metadata.name === names.hardware)?.object;
    if (choice.machines === undefined && names.hardware !== "" && own === undefined)
      missing("hardwareRef", `hardware not found: "${names.hardware}"`);
    else
      for (const hardware of choice.machines ?? [own])
        subjects.push({ template, hardware, workflow: withValues(written.object, choice.values), written });
  }
  for (const template of sources.templates.filter((one) => !used.has(one)))
    for (const hardware of choice.machines ?? machinesBeside(sources))
      subjects.push({ template, hardware, workflow: standIn(template.object, hardware, choice) });
  return { subjects, problems };
}

/** Without any, a template is rendered for none: not all of them ask for one. */
const machinesBeside = ({ hardware }: Pick<Sources, "hardware">): readonly (AnyHardware | undefined)[] =>
  hardware.length === 0 ? [undefined] : hardware.map(({ object }) => object);

/** Where the values of either shape are; of the draft nothing is rendered. */
const valuesOf = { A: "hardwareMap", B: "templateParams", C: "templateParams" } as const;

/** The workflow with values of the command line before its own, which are kept where none has the same name. */
function withValues(workflow: AnyWorkflow, values: Choice["values"]): AnyWorkflow {
  const { spec = {} } = workflow;
  const member = valuesOf[shapeOfWorkflow(spec)];
  const before = isJsonObject(spec[member]) ? spec[member] : {};
  return { ...workflow, spec: { ...spec, [member]: { ...before, ...values } } };
}

/** A workflow as somebody would write it for this template and machine, named after the template. */
function standIn(template: AnyTemplate, hardware: AnyHardware | undefined, { values }: Choice): AnyWorkflow {
  const { name = "", namespace } = template.metadata;
  const machine = hardware?.metadata.name ?? "";
  const isB = shapeOfTemplate(template.spec) === "B";
  const spec: JsonObject = isB
    ? { templateRef: { name }, hardwareRef: { name: machine }, templateParams: values }
    : { templateRef: name, hardwareRef: machine, hardwareMap: values };
  return {
    apiVersion: `${group}/${isB ? "v1alpha2" : "v1alpha1"}`,
    kind: "Workflow",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  };
}
