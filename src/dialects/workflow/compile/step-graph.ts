import {
  ancestors,
  buildGraph,
  formatGraphProblem,
  type Graph,
  type GraphProblem,
  neighbours,
  type NodeSpec,
} from "#engine/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { StepSource } from "./step-source.ts";

/**
 * The graphs of a workflow, before anything else of it is known to be right. Undefined: there is a cycle, and what
 * depends on what cannot be told.
 */
export interface StepGraphs {
  readonly main: Graph | undefined;
  readonly final: Graph | undefined;
}

/**
 * Checks the dependencies and builds both graphs; a graph with a cycle is undefined, and every cycle is reported, up
 * to ten. Unknown dependencies are reported with what was probably meant, and left out. Dependencies of an
 * `externalRef` mean nothing, since it is watched from the start: ignored with a warning. O(steps + dependencies).
 */
export function buildStepGraphs(sources: readonly StepSource[], report: Report, warn: Report): StepGraphs {
  return {
    main: build(
      sources.filter((source) => !source.final),
      "steps",
      report,
      warn,
    ),
    final: build(
      sources.filter((source) => source.final),
      "finally",
      report,
      warn,
    ),
  };
}

/** Both parts alike; the one that is missing is an empty graph. */
function build(sources: readonly StepSource[], part: string, report: Report, warn: Report): Graph | undefined {
  const keys = new Set(sources.map((source) => source.key));
  const nodes = sources.map((source) => nodeOf(source, keys, report, warn));
  const graph = buildGraph(nodes);
  if (graph.ok) return graph.value;
  for (const problem of graph.error) report(["spec", part], codes[problem.kind], formatGraphProblem(problem));
  return undefined;
}

/** The engine's findings under the codes people see. Unknown and repeated keys have been reported before, with their places. */
const codes: Readonly<Record<GraphProblem["kind"], string>> = {
  duplicate: "duplicate-key",
  unknown: "unknown-dependency",
  cycle: "cycle",
  moreCycles: "more-cycles",
  tooLarge: "too-many-dependencies",
};

/** Only known dependencies become edges, so that one wrong name does not hide a cycle. */
function nodeOf({ key, path, step }: StepSource, keys: ReadonlySet<string>, report: Report, warn: Report): NodeSpec {
  const known = new Set<string>();
  for (const [index, dependency] of (step.dependencies ?? []).entries()) {
    if (known.has(dependency)) {
      report([...path, "dependencies", index], "duplicate-dependency", `"${dependency}" is named twice`);
      continue;
    }
    if (keys.has(dependency)) {
      known.add(dependency);
      continue;
    }
    const close = nearest(dependency, keys);
    const suggestion = close === undefined ? "" : `, did you mean "${close}"`;
    report([...path, "dependencies", index], "unknown-dependency", `no step "${dependency}"${suggestion}`);
  }
  const ignored = step.externalRef !== undefined && known.size > 0;
  if (ignored)
    warn(
      [...path, "dependencies"],
      "ignored-dependencies",
      "an externalRef is watched from the start: its dependencies are ignored",
    );
  return { id: key, dependsOn: ignored ? [] : [...known] };
}

/**
 * Tells by its key whether a step may use the results of another: of its direct and transitive dependencies; a final step also of all
 * main ones. Of all where the graph is undefined: then nobody can be told to have used too much. O(dependencies) for a direct one, which
 * nearly all are; the first other one costs O(ancestors).
 */
export function visibleTo(source: StepSource, graphs: StepGraphs): (key: string) => boolean {
  const graph = source.final ? graphs.final : graphs.main;
  const node = graph?.nodeById.get(source.key);
  if (graph === undefined || node === undefined) return () => true;
  let before: ReadonlySet<number> | undefined;
  return (key) => {
    if (source.final && graphs.main?.nodeById.has(key) === true) return true;
    const other = graph.nodeById.get(key);
    if (other === undefined || other === node) return false;
    if (neighbours(graph.predecessors, node).includes(other)) return true;
    before ??= ancestors(graph, [node]);
    return before.has(other);
  };
}
