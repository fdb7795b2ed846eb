import { listAt, objectsAt, textAt, textsAt, type FieldPath, type JsonObject } from "#lib/base/index.ts";
import { buildGraph } from "#engine/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { Named, PlacedStep } from "./placed.ts";

/** A step or component with what it waits for. */
interface Node extends Named {
  readonly object: JsonObject;
  /** Names beside `dependsOn` and inputs. */
  readonly further: readonly string[];
}

/** Reports names in `dependsOn` that nothing has; `what` is `step` or `component`. */
export function checkDependsOn(
  nodes: readonly (Named & { readonly object: JsonObject })[],
  what: string,
  report: Report,
): void {
  const names = new Set(nodes.map(({ name }) => name));
  for (const { object, path, name } of nodes) {
    for (const [index, dependency] of listAt(object, "dependsOn").entries()) {
      if (typeof dependency !== "string" || names.has(dependency)) continue;
      const message = `${what} "${name}" depends on "${dependency}", which does not exist`;
      report([...path, "dependsOn", index], "unknown-dependency", message, didYouMean(dependency, names));
    }
  }
}

/** Who outputs a variable, by its name. */
export const producersOf = (nodes: readonly (Named & { readonly object: JsonObject })[]): ReadonlyMap<string, string> =>
  new Map(
    nodes.flatMap(({ object, name }) =>
      objectsAt(object, "outputs").map((output) => [textAt(output, "name") ?? "", name]),
    ),
  );

/** The variable that an input reads: the whole name, or its first part. */
export function variableOf(from: string, known: { has(name: string): boolean }): string | undefined {
  if (known.has(from)) return from;
  const first = /^[^.[]+/.exec(from)?.[0] ?? "";
  return known.has(first) ? first : undefined;
}

/** Reports every cycle over `dependsOn`, inputs and groups, once. */
export function checkCycles(nodes: readonly Node[], report: Report): void {
  const names = new Set(nodes.map(({ name }) => name));
  const producers = producersOf(nodes);
  const specs = nodes.map(({ object, name, further }) => {
    const inputs = objectsAt(object, "inputs").flatMap((input) => {
      const variable = variableOf(textAt(input, "from") ?? "", producers);
      return variable === undefined ? [] : (producers.get(variable) ?? []);
    });
    const all = [...textsAt(object, "dependsOn"), ...inputs, ...further];
    return { id: name, dependsOn: all.filter((dependency) => names.has(dependency)) };
  });
  // Duplicates are reported elsewhere.
  const graph = buildGraph(specs.filter(({ id }, index) => specs.findIndex((spec) => spec.id === id) === index));
  if (graph.ok) return;
  for (const problem of graph.error) {
    if (problem.kind !== "cycle") continue;
    // The engine lists dependencies first.
    const cycle = problem.path.toReversed();
    const path: FieldPath = nodes.find(({ name }) => name === cycle[0])?.path ?? [];
    report([...path], "cycle", `waits for itself: ${cycle.join(" -> ")}`);
  }
}

/** A group ends after its sub-steps, which start after what the group waits for. */
export const stepNodes = (steps: readonly PlacedStep[]): readonly Node[] =>
  steps.map(({ step, name, path, group }) => ({
    object: step,
    name,
    path,
    further: [
      ...steps.flatMap((sub) => (sub.group?.name === name ? sub.name : [])),
      ...(group === undefined ? [] : textsAt(group.step, "dependsOn")),
    ],
  }));
