import { int, item } from "./arrays.ts";
import type { Plan, PlanStep } from "./plan.ts";

/** One graph of a plan: the main one, the final one, or that of a group. */
export interface Scope {
  readonly index: number;
  readonly plan: Plan;
  /** Node `n` of the scope's graph is node `base + n` of the layout. */
  readonly base: number;
  /** The group's node, or -1 for the main and the final plan. */
  readonly group: number;
  /** Scope the group belongs to, or -1. */
  readonly parent: number;
  readonly isFinal: boolean;
}

/**
 * A plan with its nested and final plans laid out in one row of nodes, so that a run is a few flat arrays.
 * A function of the plan alone.
 */
export interface Layout {
  readonly plan: Plan;
  /** Full ids. */
  readonly ids: readonly string[];
  readonly steps: readonly PlanStep[];
  readonly scopes: readonly Scope[];
  readonly scopeOf: Int32Array;
  /** Scope of the nested plan of a group's node; -1 for other nodes. */
  readonly nested: Int32Array;
  readonly nodeById: ReadonlyMap<string, number>;
  /** All nodes in topological order; those of a group follow it at once, final ones come last. */
  readonly order: Int32Array;
  readonly position: Int32Array;
  /** Place in the order of starts: priority first, topological position second. `startOrder` is its inverse. */
  readonly startRank: Int32Array;
  readonly startOrder: Int32Array;
}

/** Index of the main scope; the final scope, if any, is the next one. */
export const mainScope = 0;

// Plans are immutable and layouts depend on nothing else, so remembering them cannot be observed except in time.
const known = new WeakMap<Plan, Layout>();

/** The layout of a plan; built on first use, O(V). */
export function layoutOf(plan: Plan): Layout {
  const remembered = known.get(plan);
  if (remembered !== undefined) return remembered;
  const layout = isFlat(plan) ? layFlat(plan) : build(plan);
  known.set(plan, layout);
  return layout;
}

/** The final scope; undefined when the plan has none or it has no steps. */
export const finalScope = (layout: Layout): Scope | undefined => {
  const second = layout.scopes[1];
  return second?.isFinal === true && second.plan.steps.length > 0 ? second : undefined;
};

const isFlat = ({ steps, final }: Plan): boolean =>
  final === undefined && steps.every(({ kind, group }) => kind !== "group" || group === undefined);

/** One scope that is the plan itself: nearly everything is there already. */
function layFlat(plan: Plan): Layout {
  const { ids, nodeById, order, position } = plan.graph;
  const startOrder = startOrderOf(plan.steps, order);
  return {
    plan,
    ids,
    steps: plan.steps,
    scopes: [{ index: mainScope, plan, base: 0, group: -1, parent: -1, isFinal: false }],
    scopeOf: new Int32Array(ids.length),
    nested: new Int32Array(ids.length).fill(-1),
    nodeById,
    order,
    position,
    startOrder,
    startRank: startOrder === order ? position : inverse(startOrder),
  };
}

interface Draft {
  readonly ids: string[];
  readonly steps: PlanStep[];
  readonly scopes: Scope[];
  readonly scopeOf: number[];
  readonly nested: number[];
  readonly nodeById: Map<string, number>;
}

function build(plan: Plan): Layout {
  const draft: Draft = { ids: [], steps: [], scopes: [], scopeOf: [], nested: [], nodeById: new Map() };
  addScope(draft, plan, { group: -1, parent: -1, isFinal: false }, "");
  if (plan.final !== undefined) addScope(draft, plan.final, { group: -1, parent: -1, isFinal: true }, "");
  // Groups add scopes at the end while we go, nested groups included.
  for (let node = 0; node < draft.steps.length; node++) {
    const { kind, group } = item(draft.steps, node);
    if (kind !== "group" || group === undefined) continue;
    draft.nested[node] = draft.scopes.length;
    const parent = item(draft.scopeOf, node);
    const place = { group: node, parent, isFinal: item(draft.scopes, parent).isFinal };
    addScope(draft, group, place, `${item(draft.ids, node)}/`);
  }
  const nested = Int32Array.from(draft.nested);
  const order = orderOf(draft, nested);
  const position = inverse(order);
  const startOrder = startOrderOf(draft.steps, order);
  return {
    ...draft,
    plan,
    scopeOf: Int32Array.from(draft.scopeOf),
    nested,
    order,
    position,
    startOrder,
    startRank: startOrder === order ? position : inverse(startOrder),
  };
}

function addScope(draft: Draft, plan: Plan, place: Pick<Scope, "group" | "parent" | "isFinal">, prefix: string): void {
  const base = draft.ids.length;
  const index = draft.scopes.length;
  draft.scopes.push({ index, plan, base, ...place });
  for (const [node, step] of plan.steps.entries()) {
    const id = prefix + item(plan.graph.ids, node);
    draft.nodeById.set(id, base + node);
    draft.ids.push(id);
    draft.steps.push(step);
    draft.scopeOf.push(index);
    draft.nested.push(-1);
  }
}

function orderOf(draft: Draft, nested: Int32Array): Int32Array {
  const order = new Int32Array(draft.ids.length);
  let length = 0;
  const append = (scope: Scope) => {
    for (const local of scope.plan.graph.order) {
      const node = scope.base + local;
      order[length++] = node;
      if (int(nested, node) > 0) append(item(draft.scopes, int(nested, node)));
    }
  };
  for (const scope of draft.scopes) if (scope.parent === -1) append(scope);
  return order;
}

function inverse(order: Int32Array): Int32Array {
  const position = new Int32Array(order.length);
  for (let at = 0; at < order.length; at++) position[int(order, at)] = at;
  return position;
}

function startOrderOf(steps: readonly PlanStep[], order: Int32Array): Int32Array {
  const first = steps[0]?.priority;
  if (steps.every((step) => step.priority === first)) return order;
  const nodes = [...order];
  // The sort is stable, so equal priorities keep their topological order.
  return Int32Array.from(nodes.sort((a, b) => item(steps, b).priority - item(steps, a).priority));
}
