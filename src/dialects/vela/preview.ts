import type { Problem } from "#lib/base/index.ts";
import { asJson } from "#kernel/model/index.ts";
import { type CheckedDocument, collectProblems, type PreviewParts, type RunPreviews } from "#kernel/dialect/index.ts";
import type { Step } from "./app.ts";
import { checkDefinitions } from "./checks/definitions.ts";
import { templateOf } from "./definitions/definition-object.ts";
import { definitionsOf, sourcesOfObjects } from "./definitions/find.ts";
import { packagesFor } from "./definitions/packages.ts";
import { Application, WorkflowRun } from "./kinds.ts";
import { commandBudgetMs, library, openCue } from "./library.ts";
import { systemNamespaceOf } from "./settings.ts";
import { stepsOf } from "./view.ts";

const runKinds: readonly string[] = [Application.kind, WorkflowRun.kind];

/** The steps of each run, and the problems that show with CUE and the definitions of the files and of this version. */
export async function previewRuns(
  documents: readonly CheckedDocument[],
  { templates, variable, signal }: PreviewParts,
): Promise<RunPreviews> {
  const systemNamespace = systemNamespaceOf(variable);
  const cue = openCue(templates, commandBudgetMs);
  const objects = documents.map(({ object }) => object);
  const definitions = definitionsOf(sourcesOfObjects(objects, { shipped: library.definitions, systemNamespace }));
  const problems: Problem[] = [];
  for (const { object, source } of documents) {
    const found = collectProblems(source.positionOf);
    const namespace = object.metadata.namespace ?? "default";
    const checks = { definitions, cue, systemNamespace, namespace, isOpen: true, signal };
    await checkDefinitions(asJson(object), checks, found);
    const template = templateOf(object);
    const vetted =
      template === "" ? undefined : await cue.vet(template, undefined, signal, packagesFor(template, objects));
    for (const { message, line, column } of vetted?.ok === false ? vetted.error.problems : [])
      found.error(
        ["spec", "schematic", "cue", "template"],
        "invalid-definition",
        `${line === undefined ? "" : `line ${line}, column ${column ?? 1}: `}${message}`,
      );
    problems.push(...found.problems);
  }
  const plans = objects.flatMap((object) => {
    if (!runKinds.includes(object.kind)) return [];
    const steps = stepsOf(object);
    const { name = "" } = object.metadata;
    return [{ text: `${object.kind} ${name}\n${steps.map(lineOf).join("")}`, data: dataOf(name, steps) }];
  });
  return { plans, problems };
}

const lineOf = ({ name, type, subSteps }: Step): string =>
  `  ${name} (${type})\n${subSteps.map((sub) => `    ${sub.name} (${sub.type})\n`).join("")}`;

const dataOf = (name: string, steps: readonly Step[]) => ({
  name,
  steps: steps.map((step) => ({
    name: step.name,
    type: step.type,
    subSteps: step.subSteps.map((sub) => ({ name: sub.name, type: sub.type })),
  })),
});
