import {
  type Ancestry,
  ancestryOf,
  buildGraph,
  formatGraphProblem,
  type Graph,
  type GraphProblem,
  type NodeSpec,
} from "#engine/index.ts";
import { nearest } from "#lib/text/index.ts";
import { mostProblems, type Report } from "#kernel/dialect/index.ts";
import type { StepSource } from "./step-source.ts";

export interface StepGraph {
  readonly graph: Graph;
  /** Lazy: most expressions need none. */
  readonly ancestry: () => Ancestry;
}

/** Undefined if there is a cycle. */
export interface StepGraphs {
  readonly main: StepGraph | undefined;
  readonly final: StepGraph | undefined;
}

/**
 * Builds both graphs, in steps. Up to ten cycles are reported and make a graph undefined; unknown dependencies are
 * reported and dropped; those of an `externalRef` are ignored with a warning, because it is watched from the start.
 * O(steps + dependencies).
 */
export function* buildStepGraphs(
  sources: readonly StepSource[],
  report: Report,
  warn: Report,
): Generator<undefined, StepGraphs> {
  const main = sources.filter((source) => !source.final);
  const final = sources.filter((source) => source.final);
  return { main: yield* build(main, "steps", report, warn), final: yield* build(final, "finally", report, warn) };
}

/** A missing part is an empty graph. */
function* build(
  sources: readonly StepSource[],
  part: string,
  report: Report,
  warn: Report,
): Generator<undefined, StepGraph | undefined> {
  const names: Names = {
    namedBy: new Map(sources.map(({ key }) => [key, { by: undefined }])),
    wrong: 0,
  };
  const nodes = sources.map((source) => nodeOf(source, names, report, warn));
  yield;
  const built = buildGraph(nodes);
  if (!built.ok) {
    for (const problem of built.error) report(["spec", part], codes[problem.kind], formatGraphProblem(problem));
    return undefined;
  }
  const graph = built.value;
  let known: Ancestry | undefined;
  return { graph, ancestry: () => (known ??= ancestryOf(graph)) };
}

/** Problem codes. Unknown and repeated keys were reported before. */
const codes: Readonly<Record<GraphProblem["kind"], string>> = {
  duplicate: "duplicate-key",
  unknown: "unknown-dependency",
  cycle: "cycle",
  moreCycles: "more-cycles",
  tooLarge: "too-many-dependencies",
};

/** Each compares with every step. */
const mostSuggestions = 10;

interface Names {
  /** By key, the last step that depends on it. */
  readonly namedBy: Map<string, { by: StepSource | undefined }>;
  /** Unknown names. */
  wrong: number;
}

/** Only known dependencies become edges, so that a typo does not hide a cycle. */
function nodeOf(source: StepSource, names: Names, report: Report, warn: Report): NodeSpec {
  const { key, path, step } = source;
  const { dependencies = [] } = step;
  const wrong = new Set<number>();
  for (const [index, dependency] of dependencies.entries()) {
    const known = names.namedBy.get(dependency);
    if (known !== undefined && known.by !== source) {
      known.by = source;
      continue;
    }
    wrong.add(index);
    names.wrong += 1;
    if (names.wrong > mostProblems) continue;
    const at = [...path, "dependencies", index];
    if (known === undefined)
      report(at, "unknown-dependency", `no step "${dependency}"${suggestion(dependency, names)}`);
    else report(at, "duplicate-dependency", `"${dependency}" is named twice`);
  }
  const edges = wrong.size === 0 ? dependencies : dependencies.filter((_, index) => !wrong.has(index));
  if (step.externalRef === undefined || edges.length === 0) return { id: key, dependsOn: edges };
  const message = "an externalRef is watched from the start: its dependencies are ignored";
  warn([...path, "dependencies"], "ignored-dependencies", message);
  return { id: key, dependsOn: [] };
}

function suggestion(dependency: string, names: Names): string {
  if (names.wrong > mostSuggestions) return "";
  const close = nearest(dependency, names.namedBy.keys());
  return close === undefined ? "" : `, did you mean "${close}"`;
}

/** Tells by key which steps' results a step may use. All steps if the graph is undefined. */
export function visibleTo(source: StepSource, graphs: StepGraphs): (key: string) => boolean {
  const { graph, ancestry } = (source.final ? graphs.final : graphs.main) ?? {};
  const node = graph?.nodeById.get(source.key);
  if (graph === undefined || ancestry === undefined || node === undefined) return () => true;
  return (key) => {
    if (source.final && graphs.main?.graph.nodeById.has(key) === true) return true;
    const other = graph.nodeById.get(key);
    return other !== undefined && ancestry().dependsOn(node, other);
  };
}
