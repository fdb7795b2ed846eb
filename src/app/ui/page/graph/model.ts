import type { StepPhase, StepView } from "#engine/index.ts";

/** What is drawn as one box: a step, or many that are folded. */
export interface GraphNode {
  readonly id: string;
  readonly label: string;
  /** Longest path from a root, of the drawn graph. */
  readonly rank: number;
  /** Steps that it stands for; empty for a step by itself. */
  readonly members: readonly string[];
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

export interface DrawnGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** What the graph needs of a step. */
export type GraphStep = Pick<StepView, "id" | "name" | "group" | "dependencies">;

/** More members than that are one box until a person opens it. */
export const mostUnfolded = 20;

/** Adds to the list of the key. */
export function collect<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}

/** Edges between steps: into a group at its first steps, out of it at its last. */
export function edgesOf(steps: readonly GraphStep[]): readonly GraphEdge[] {
  const ids = new Set(steps.map(({ id }) => id));
  const inner = new Map<string, GraphStep[]>();
  for (const step of steps) if (step.group !== undefined && ids.has(step.group)) collect(inner, step.group, step);
  const lastOf = new Map<string, readonly string[]>();
  for (const [group, members] of inner) {
    const followed = new Set(members.flatMap(({ dependencies }) => dependencies));
    lastOf.set(
      group,
      members.map(({ id }) => id).filter((id) => !followed.has(id)),
    );
  }
  return steps.flatMap((step) => {
    const before = step.dependencies.filter((id) => ids.has(id));
    const isFirst = step.group !== undefined && ids.has(step.group) && before.length === 0;
    const sources = isFirst ? [step.group ?? ""] : before.flatMap((id) => lastOf.get(id) ?? [id]);
    return [...new Set(sources)].map((from) => ({ from, to: step.id }));
  });
}

/** Longest paths from the roots, or undefined if edges go in a circle. O(V + E). */
export function ranksOf(ids: readonly string[], edges: readonly GraphEdge[]): ReadonlyMap<string, number> | undefined {
  const after = new Map<string, string[]>();
  const open = new Map<string, number>(ids.map((id) => [id, 0]));
  for (const { from, to } of edges) {
    collect(after, from, to);
    open.set(to, (open.get(to) ?? 0) + 1);
  }
  const ranks = new Map<string, number>();
  const ready = ids.filter((id) => open.get(id) === 0);
  for (const id of ready) ranks.set(id, 0);
  for (let at = 0; at < ready.length; at += 1) {
    const id = ready[at] ?? "";
    for (const next of after.get(id) ?? []) {
      ranks.set(next, Math.max(ranks.get(next) ?? 0, (ranks.get(id) ?? 0) + 1));
      const left = (open.get(next) ?? 0) - 1;
      open.set(next, left);
      if (left === 0) ready.push(next);
    }
  }
  return ready.length === ids.length ? ranks : undefined;
}

interface Fold {
  readonly id: string;
  readonly label: string;
  readonly members: readonly string[];
}

/** Groups, and steps that stand between the same others, of more than `mostUnfolded` members. */
function foldsOf(steps: readonly GraphStep[], edges: readonly GraphEdge[], withGroups: boolean): readonly Fold[] {
  const byGroup = new Map<string, string[]>();
  const taken = new Set<string>();
  if (withGroups) for (const { id, group } of steps) if (group !== undefined) collect(byGroup, group, id);
  const groups = [...byGroup].filter(([, members]) => members.length > mostUnfolded);
  for (const [, members] of groups) for (const id of members) taken.add(id);
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const { from, to } of edges) {
    collect(before, to, from);
    collect(after, from, to);
  }
  const alike = new Map<string, string[]>();
  for (const { id } of steps) {
    if (taken.has(id)) continue;
    const place = `${(before.get(id) ?? []).join("\n")}\n\n${(after.get(id) ?? []).join("\n")}`;
    collect(alike, place, id);
  }
  return [
    ...groups.map(([group, members]) => ({ id: `fold:${group}`, label: group, members })),
    ...[...alike.values()]
      .filter((members) => members.length > mostUnfolded)
      .map((members) => ({ id: `fold:${members[0]}`, label: `${members.length} steps side by side`, members })),
  ];
}

/** The graph that is drawn; `opened` are ids of folded boxes that a person has opened. */
export function drawnGraph(steps: readonly GraphStep[], opened: ReadonlySet<string>): DrawnGraph {
  const edges = edgesOf(steps);
  // A group that others pass through would be before and after itself.
  return folded(steps, edges, opened, true) ?? folded(steps, edges, opened, false) ?? unranked(steps);
}

function folded(
  steps: readonly GraphStep[],
  edges: readonly GraphEdge[],
  opened: ReadonlySet<string>,
  withGroups: boolean,
): DrawnGraph | undefined {
  const folds = foldsOf(steps, edges, withGroups).filter(({ id }) => !opened.has(id));
  const foldOf = new Map(folds.flatMap((fold) => fold.members.map((id) => [id, fold] as const)));
  const nameOf = (id: string): string => foldOf.get(id)?.id ?? id;
  const seen = new Set<string>();
  const between = edges.flatMap(({ from, to }) => {
    const edge = { from: nameOf(from), to: nameOf(to) };
    const text = `${edge.from}\n${edge.to}`;
    if (edge.from === edge.to || seen.has(text)) return [];
    seen.add(text);
    return [edge];
  });
  const boxes = new Map<string, Omit<GraphNode, "rank">>();
  for (const { id, name } of steps) {
    const fold = foldOf.get(id);
    if (fold === undefined) boxes.set(id, { id, label: name, members: [] });
    else boxes.set(fold.id, fold);
  }
  const ranks = ranksOf([...boxes.keys()], between);
  if (ranks === undefined) return undefined;
  return { nodes: [...boxes.values()].map((box) => ({ ...box, rank: ranks.get(box.id) ?? 0 })), edges: between };
}

/** For what no valid plan is: everything in one column. */
const unranked = (steps: readonly GraphStep[]): DrawnGraph => ({
  nodes: steps.map(({ id, name }) => ({ id, label: name, rank: 0, members: [] })),
  edges: [],
});

/** How urgent a phase is where many steps are shown as one. */
export const urgency: readonly StepPhase[] = [
  "Failed",
  "Suspended",
  "Cancelling",
  "Running",
  "Starting",
  "Waiting",
  "Pending",
  "Canceled",
  "Succeeded",
  "Skipped",
];

export function phaseOfMany(phases: readonly StepPhase[]): StepPhase {
  return urgency.find((phase) => phases.includes(phase)) ?? "Pending";
}

/** `3 Failed, 17 Succeeded`, the most urgent first. */
export function countsOf(phases: readonly StepPhase[]): string {
  return urgency
    .map((phase) => [phases.filter((one) => one === phase).length, phase] as const)
    .filter(([count]) => count > 0)
    .map(([count, phase]) => `${count} ${phase}`)
    .join(", ");
}

/** Everything that leads to the node, and everything that it leads to, the node included. */
export function pathThrough(id: string, edges: readonly GraphEdge[]): ReadonlySet<string> {
  const walk = (next: (edge: GraphEdge) => readonly [string, string], found: Set<string>): void => {
    const links = new Map<string, string[]>();
    for (const edge of edges) {
      const [from, to] = next(edge);
      collect(links, from, to);
    }
    const open = [id];
    for (let at = open.pop(); at !== undefined; at = open.pop())
      for (const to of links.get(at) ?? [])
        if (!found.has(to)) {
          found.add(to);
          open.push(to);
        }
  };
  const found = new Set([id]);
  walk(({ from, to }) => [to, from], found);
  walk(({ from, to }) => [from, to], found);
  return found;
}
