import { isJsonObject, type JsonObject, type Problem } from "#lib/base/index.ts";
import type { AnyHardware } from "../hardware.ts";
import type { AnyTemplate } from "../reconcile/inputs.ts";
import { group } from "../kinds.ts";
import { referencesOf } from "../references.ts";
import { shapeOfTemplate, shapeOfWorkflow } from "../shape.ts";
import type { AnyWorkflow } from "../stored.ts";
import type { Sources, Written } from "./sources.ts";

export interface Subject {
  readonly template: Written<AnyTemplate>;
  readonly hardware: AnyHardware | undefined;
  readonly workflow: AnyWorkflow;
  /** Absent for a stand-in. */
  readonly written?: Written<AnyWorkflow>;
}

export interface Choice {
  /** Override the workflow's values. */
  readonly values: Readonly<Record<string, string>>;
  /** Replace the machines of workflows. If absent, templates without workflow use all machines of the files. */
  readonly machines?: readonly AnyHardware[];
}

/** Each workflow with its template and machine, and each unused template. Dangling references are problems. */
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

/** Without machines a template is rendered once, for none. */
const machinesBeside = ({ hardware }: Pick<Sources, "hardware">): readonly (AnyHardware | undefined)[] =>
  hardware.length === 0 ? [undefined] : hardware.map(({ object }) => object);

const valuesOf = { A: "hardwareMap", B: "templateParams", C: "templateParams" } as const;

/** Values of the command line override the workflow's. */
function withValues(workflow: AnyWorkflow, values: Choice["values"]): AnyWorkflow {
  const { spec = {} } = workflow;
  const member = valuesOf[shapeOfWorkflow(spec)];
  const before = isJsonObject(spec[member]) ? spec[member] : {};
  return { ...workflow, spec: { ...spec, [member]: { ...before, ...values } } };
}

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
