import fc from "fast-check";
import { expect, test } from "vitest";
import { gap, type Layout, layOut, node, spreadOut } from "./layout.ts";
import { drawnGraph, type GraphStep, mostUnfolded, ranksOf } from "./model.ts";

/** Plans in topological order: a step depends on some before it. */
const plans = fc
  .array(fc.tuple(fc.array(fc.nat(), { maxLength: 3 }), fc.option(fc.constantFrom("a", "b"), { nil: undefined })), {
    minLength: 1,
    maxLength: 60,
  })
  .map((drafts) =>
    drafts.map(([before, group], index): GraphStep => {
      const dependencies = index === 0 ? [] : [...new Set(before.map((one) => `s${one % index}`))];
      return { id: `s${index}`, name: `s${index}`, dependencies, ...(group === undefined ? {} : { group }) };
    }),
  );

function expectNoOverlap({ places }: Layout): void {
  const columns = new Map<number, number[]>();
  for (const { x, y } of places.values()) columns.set(x, [...(columns.get(x) ?? []), y]);
  for (const ys of columns.values()) {
    const sorted = ys.toSorted((a, b) => a - b);
    // Places are whole numbers, the steps between them are not.
    for (const [index, y] of sorted.entries())
      if (index > 0) expect(y - (sorted[index - 1] ?? 0)).toBeGreaterThanOrEqual(node.height + gap.y - 1);
  }
}

test("no two nodes overlap, and every edge leads to the right", () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const graph = drawnGraph(plan, new Set());
      const layout = layOut(graph);
      expect(layout.places.size).toBe(graph.nodes.length);
      expectNoOverlap(layout);
      for (const { from, to } of graph.edges)
        expect(layout.places.get(to)?.x).toBeGreaterThan(layout.places.get(from)?.x ?? 0);
      for (const { id, rank } of graph.nodes) expect(layout.places.get(id)?.x).toBe(rank * (node.width + gap.x));
      for (const { y } of layout.places.values()) expect(y).toBeGreaterThanOrEqual(0);
    }),
  );
});

test("nodes that are appended move none of those that keep their rank, and overlap none", () => {
  fc.assert(
    fc.property(plans, fc.nat({ max: 20 }), (plan, more) => {
      const before = drawnGraph(plan.slice(0, Math.max(1, plan.length - more)), new Set());
      const after = drawnGraph(plan, new Set());
      const first = layOut(before);
      const second = layOut(after, first);
      expectNoOverlap(second);
      const kept = after.nodes.filter(({ id, rank }) => before.nodes.some((old) => old.id === id && old.rank === rank));
      if (kept.length > 0 && after.nodes.length - kept.length <= Math.max(kept.length, 20))
        for (const { id } of kept) expect(second.places.get(id)).toEqual(first.places.get(id));
    }),
  );
});

test("every step is drawn once, by itself or in a fold, and folds are larger than what is drawn unfolded", () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const drawn = drawnGraph(plan, new Set()).nodes;
      const ids = drawn.flatMap(({ id, members }) => (members.length === 0 ? [id] : members));
      expect(ids.toSorted()).toEqual(plan.map(({ id }) => id).toSorted());
      for (const { members } of drawn) if (members.length > 0) expect(members.length).toBeGreaterThan(mostUnfolded);
    }),
  );
});

test("positions keep their order and distance, and stay where they are if they can", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5000, max: 5000 }), { maxLength: 50 }), (wanted) => {
      const found = spreadOut(wanted);
      for (let index = 1; index < found.length; index += 1)
        expect((found[index] ?? 0) - (found[index - 1] ?? 0)).toBeGreaterThan(node.height + gap.y - 0.001);
      const again = spreadOut(found);
      for (const [index, y] of found.entries()) expect(again[index]).toBeCloseTo(y, 3);
    }),
  );
});

test("a circle has no ranks", () => {
  expect(
    ranksOf(
      ["a", "b"],
      [
        { from: "a", to: "b" },
        { from: "b", to: "a" },
      ],
    ),
  ).toBeUndefined();
});
