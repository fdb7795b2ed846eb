import { expect, test } from "vitest";
import { atOnce } from "#lib/base/index.ts";
import type { Graph } from "#engine/index.ts";
import type { WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { countReads, fullWorkflow } from "../testing/full-graph.ts";
import { buildStepGraphs, visibleTo } from "./step-graph.ts";
import { stepSources } from "./step-source.ts";

type Edges = Readonly<Record<string, readonly string[]>>;
const stepsOf = (edges: Edges): Record<string, WorkflowStep> =>
  Object.fromEntries(Object.entries(edges).map(([key, dependencies]) => [key, { dependencies }]));

function graphs(steps: Edges, final: Edges = {}) {
  const found = collectProblems();
  const sources = stepSources({ steps: stepsOf(steps), finally: stepsOf(final) });
  return {
    graphs: atOnce(buildStepGraphs(sources, found.error, found.warn)),
    sources,
    problems: found.problems.map((p) => `${p.path}: ${p.message}`),
  };
}

test("an unknown dependency is reported with the nearest key", () => {
  expect(graphs({ two: ["thre"], three: [] }).problems).toEqual([
    'spec.steps.two.dependencies[0]: no step "thre", did you mean "three"',
  ]);
});

test("every cycle is reported, beginning with its smallest key", () => {
  expect(graphs({ three: ["five"], four: ["three"], five: ["four"], a: ["b"], b: ["a"], me: ["me"] }).problems).toEqual(
    [
      "spec.steps: cycle: a -> b -> a",
      "spec.steps: cycle: five -> three -> four -> five",
      "spec.steps: cycle: me -> me",
    ],
  );
});

test("ten cycles are shown, and the number of the others under a code of its own", () => {
  const found = collectProblems();
  const pairs = Array.from({ length: 12 }, (_, index): [string, readonly string[]] => [`s${index}`, [`s${index}`]]);
  atOnce(buildStepGraphs(stepSources({ steps: stepsOf(Object.fromEntries(pairs)) }), found.error, found.warn));
  expect(found.problems.map(({ code }) => code)).toEqual([...Array<string>(10).fill("cycle"), "more-cycles"]);
});

test("a final step cannot depend on a step, because it comes after all of them", () => {
  expect(graphs({ one: [] }, { last: ["one"] }).problems).toEqual(['spec.finally.last.dependencies[0]: no step "one"']);
});

test("dependencies of a reference are ignored with a warning", () => {
  const found = collectProblems();
  const sources = stepSources({ steps: { one: {}, ref: { externalRef: { name: "x" }, dependencies: ["one"] } } });
  const built = atOnce(buildStepGraphs(sources, found.error, found.warn));
  expect(found.problems.map((p) => [p.severity, p.path])).toEqual([["warning", "spec.steps.ref.dependencies"]]);
  expect([...(built.main?.graph.rank ?? [])]).toEqual([0, 0]);
});

test("a step sees its direct and transitive dependencies only", () => {
  const { graphs: built, sources } = graphs({ a: [], b: ["a"], c: ["b"], d: [] }, { y: [], z: ["y"] });
  const seen = Object.fromEntries(
    sources.map((source) => [source.key, sources.map(({ key }) => key).filter(visibleTo(source, built))]),
  );
  expect(seen).toEqual({
    a: [],
    b: ["a"],
    c: ["a", "b"],
    d: [],
    y: ["a", "b", "c", "d"],
    z: ["a", "b", "c", "d", "y"],
  });
});

test("where the dependencies have a cycle a step may see every other", () => {
  const { graphs: built, sources } = graphs({ a: ["b"], b: ["a"], c: [] });
  expect(sources.map((source) => visibleTo(source, built)("a"))).toEqual([true, true, true]);
});

test("what steps may see is worked out once for all of them", () => {
  const { spec } = fullWorkflow(50);
  const sources = stepSources(spec);
  const found = collectProblems();
  const built = atOnce(buildStepGraphs(sources, found.error, found.warn));
  const reads = countReads(built.main?.graph as Graph);
  const seen = sources.filter((source) => visibleTo(source, built)("s0"));
  expect(seen).toHaveLength(49);
  expect(reads()).toBe((50 * 49) / 2);
});

test("of many unknown dependencies only the first are compared with every step", () => {
  const names = Array.from({ length: 2000 }, (_, at) => `bild${at % 10}`);
  const { problems } = graphs({ build1: names, build2: [] });
  expect(problems.filter((problem) => problem.includes("did you mean"))).toHaveLength(10);
  expect(problems.at(-1)).not.toContain("did you mean");
});
