import type { StepView } from "#engine/index.ts";

/** A row of the tree: a step, or the heading of a stage that is no step itself. */
export interface TreeRow {
  readonly id: string;
  readonly label: string;
  readonly level: number;
  readonly isStep: boolean;
  /** Undefined if there is nothing below. */
  readonly isOpen: boolean | undefined;
  /** Steps below a heading or group. */
  readonly members: readonly string[];
  readonly position: number;
  readonly setSize: number;
}

type TreeStep = Pick<StepView, "id" | "name" | "group">;

interface Branch {
  readonly id: string;
  readonly label: string;
  readonly isStep: boolean;
  readonly children: Branch[];
}

/** Steps below their groups; a group stands where its first step does. */
function branchesOf(steps: readonly TreeStep[]): readonly Branch[] {
  const roots: Branch[] = [];
  const byId = new Map<string, Branch>();
  for (const { id, name } of steps) byId.set(id, { id, label: name, isStep: true, children: [] });
  for (const { id, group } of steps) {
    const branch = byId.get(id);
    if (branch === undefined) continue;
    if (group === undefined || group === id) {
      roots.push(branch);
      continue;
    }
    let parent = byId.get(group);
    if (parent === undefined) {
      parent = { id: `group:${group}`, label: group, isStep: false, children: [] };
      byId.set(group, parent);
      roots.push(parent);
    }
    parent.children.push(branch);
  }
  return roots;
}

/** The rows that are visible; `closed` are ids of closed groups. */
export function treeRows(steps: readonly TreeStep[], closed: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (branches: readonly Branch[], level: number): void => {
    for (const [index, { id, label, isStep, children }] of branches.entries()) {
      const isOpen = children.length === 0 ? undefined : !closed.has(id);
      const members = membersOf(children);
      rows.push({ id, label, level, isStep, isOpen, members, position: index + 1, setSize: branches.length });
      if (isOpen === true) visit(children, level + 1);
    }
  };
  visit(branchesOf(steps), 1);
  return rows;
}

const membersOf = (branches: readonly Branch[]): readonly string[] =>
  branches.flatMap(({ id, children }) => (children.length === 0 ? [id] : membersOf(children)));
