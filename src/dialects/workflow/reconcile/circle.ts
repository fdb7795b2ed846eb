import type { Problem } from "#lib/base/index.ts";
import { isTerminal } from "#engine/index.ts";
import type { Lister } from "#kernel/kit/index.ts";
import { keyOf, splitApiVersion, type Stored } from "#kernel/model/index.ts";
import { Workflow, type WorkflowSpec, isFinished } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { specOf } from "../spec-of.ts";

interface Wait {
  readonly part: "steps" | "finally";
  readonly step: string;
  readonly name: string;
}

/** Workflows visited per check; longer circles are not found. */
const mostLookedAt = 1_000;

/** Steps that wait for their own workflow, with the shortest circle. Names from expressions are ignored. */
export function circlesOf(
  workflow: Stored<Workflow>,
  spec: WorkflowSpec,
  workflows: Pick<Lister<Workflow>, "get">,
): readonly Problem[] {
  const found = collectProblems();
  const { name: own } = workflow.metadata;
  for (const { part, step, name } of waitsOf(workflow, spec)) {
    const path = pathTo(own, name, workflow, workflows);
    if (path === undefined) continue;
    const circle = [own, ...path].join(" -> ");
    found.error(
      ["spec", part, step, "externalRef"],
      "waits-for-itself",
      `a workflow cannot wait for itself: ${circle}`,
    );
  }
  return found.problems;
}

function pathTo(
  wanted: string,
  first: string,
  { metadata: { namespace } }: Stored<Workflow>,
  workflows: Pick<Lister<Workflow>, "get">,
): readonly string[] | undefined {
  const seen = new Set([first]);
  const paths: (readonly string[])[] = [[first]];
  for (const path of paths) {
    const name = path.at(-1) ?? first;
    if (name === wanted) return path;
    const next = workflows.get(keyOf({ name, ...(namespace === undefined ? {} : { namespace }) }));
    for (const wait of next === undefined ? [] : waitsOf(next)) {
      if (seen.has(wait.name) || seen.size >= mostLookedAt) continue;
      seen.add(wait.name);
      paths.push([...path, wait.name]);
    }
  }
  return undefined;
}

function waitsOf(workflow: Stored<Workflow>, spec = specOf(workflow)): readonly Wait[] {
  if (isFinished(workflow)) return [];
  return (["steps", "finally"] as const).flatMap((part) =>
    Object.entries(spec[part] ?? {}).flatMap(([step, { externalRef }]): readonly Wait[] => {
      const { apiVersion = "", kind, name = "" } = externalRef ?? {};
      const isWorkflow = kind === Workflow.kind && splitApiVersion(apiVersion).group === Workflow.group;
      const phase = workflow.status?.statuses?.[step]?.phase;
      return isWorkflow && (phase === undefined || !isTerminal(phase)) ? [{ part, step, name }] : [];
    }),
  );
}
