import { expect, test } from "vitest";
import type { WorkflowStep } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { buildStepGraphs, visibleTo } from "./step-graph.ts";
import { stepSources } from "./step-source.ts";

type Edges = Readonly<Record<string, readonly string[]>>;
const stepsOf = (edges: Edges): Record<string, WorkflowStep> =>
  Object.fromEntries(Object.entries(edges).map(([key, dependencies]) => [key, { dependencies }]));

function graphs(steps: Edges, final: Edges = {}) {
  const found = collectProblems();
  const sources = stepSources({ steps: stepsOf(steps), finally: stepsOf(final) });
  return {
    graphs: buildStepGraphs(sources, found.error, found.warn),
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
  buildStepGraphs(stepSources({ steps: stepsOf(Object.fromEntries(pairs)) }), found.error, found.warn);
  expect(found.problems.map(({ code }) => code)).toEqual([...Array<string>(10).fill("cycle"), "more-cycles"]);
});

test("a final step cannot depend on a step, because it comes after all of them", () => {
  expect(graphs({ one: [] }, { last: ["one"] }).problems).toEqual(['spec.finally.last.dependencies[0]: no step "one"']);
});

test("dependencies of a reference are ignored with a warning", () => {
  const found = collectProblems();
  const sources = stepSources({ steps: { one: {}, ref: { externalRef: { name: "x" }, dependencies: ["one"] } } });
  const built = buildStepGraphs(sources, found.error, found.warn);
  expect(found.problems.map((p) => [p.severity, p.path])).toEqual([["warning", "spec.steps.ref.dependencies"]]);
  expect([...(built.main?.rank ?? [])]).toEqual([0, 0]);
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
