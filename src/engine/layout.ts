import { int, item } from "./arrays.ts";
import type { Plan, PlanStep } from "./plan.ts";

export interface Scope {
  readonly index: number;
  readonly plan: Plan;
  /** Number of its first node. */
  readonly base: number;
  /** The group's node, or -1. */
  readonly group: number;
  /** The group's scope, or -1. */
  readonly parent: number;
  readonly isFinal: boolean;
}

/** All graphs of a plan in one row of nodes. Depends on the plan only. */
export interface Layout {
  readonly plan: Plan;
  /** Full ids. */
  readonly ids: readonly string[];
  readonly steps: readonly PlanStep[];
  readonly scopes: readonly Scope[];
  readonly scopeOf: Int32Array;
  /** Scope of a group's nested plan; -1 for other nodes. */
  readonly nested: Int32Array;
  readonly nodeById: ReadonlyMap<string, number>;
  /** Topological; a group is followed by its nodes, final ones come last. */
  readonly order: Int32Array;
  readonly position: Int32Array;
  /** By priority, then topologically. The inverse of `startOrder`. */
  readonly startRank: Int32Array;
  readonly startOrder: Int32Array;
}

/** The final scope is the next one. */
export const mainScope = 0;

// Plans are immutable.
const known = new WeakMap<Plan, Layout>();

/** Cached; O(V). */
export function layoutOf(plan: Plan): Layout {
  const remembered = known.get(plan);
  if (remembered !== undefined) return remembered;
  const layout = isFlat(plan) ? layFlat(plan) : build(plan);
  known.set(plan, layout);
  return layout;
}

/** Undefined without final steps. */
export const finalScope = (layout: Layout): Scope | undefined => {
  const second = layout.scopes[1];
  return second?.isFinal === true && second.plan.steps.length > 0 ? second : undefined;
};

const isFlat = ({ steps, final }: Plan): boolean =>
  final === undefined && steps.every(({ kind, group }) => kind !== "group" || group === undefined);

/** A single scope is the plan itself. */
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
  // Groups append scopes during the loop.
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
  // Stable, so equal priorities keep their order.
  return Int32Array.from(nodes.sort((a, b) => item(steps, b).priority - item(steps, a).priority));
}
