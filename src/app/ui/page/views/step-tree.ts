import type { StepView } from "#engine/index.ts";
import { wordsOf } from "../data/words.ts";

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

export interface StepFilter {
  /** Words that all occur in the id, in any order. */
  readonly text: string;
  /** Of any of these phases; empty: of all. */
  readonly phases: readonly string[];
}

/** The steps that a filter leaves, as rows without levels. */
export function foundRows(
  steps: readonly (TreeStep & Pick<StepView, "phase">)[],
  { text, phases }: StepFilter,
): readonly TreeRow[] {
  const fits = wordsOf(text);
  const found = steps.filter(
    ({ id, name, phase }) => (phases.length === 0 || phases.includes(phase)) && fits(`${id} ${name}`),
  );
  return found.map(({ id, name, group }, index) => ({
    id,
    label: group === undefined || group === id ? name : `${group} / ${name}`,
    level: 1,
    isStep: true,
    isOpen: undefined,
    members: [],
    position: index + 1,
    setSize: found.length,
  }));
}

const membersOf = (branches: readonly Branch[]): readonly string[] =>
  branches.flatMap(({ id, children }) => (children.length === 0 ? [id] : membersOf(children)));
