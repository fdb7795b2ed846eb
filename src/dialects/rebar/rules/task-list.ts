import type { ObjectOf, Workflow } from "../objects.ts";
import type { World } from "../world.ts";

/** The task list of a workflow, before prerequisites are added. Unknown stages count as empty. */
export function tasksOfWorkflow(workflow: Workflow, world: World): readonly string[] {
  return workflow.Stages.flatMap((name) => {
    const stage = world.get("stages", name);
    const bootEnv = stage?.BootEnv ?? "";
    return [`stage:${name}`, ...(bootEnv === "" ? [] : [`bootenv:${bootEnv}`]), ...(stage?.Tasks ?? [])];
  });
}

/** Longest list after expansion; longer ones are left unexpanded. */
export const longestTaskList = 10_000;

/**
 * Inserts the prerequisites of each task before it, unless they occur earlier in the same boot environment. `bootEnv`
 * is in force at the start. Entries before `from` have run or are running and stay as they are.
 */
export function expandPrerequisites(
  tasks: readonly string[],
  world: World,
  { from, bootEnv }: { readonly from: number; readonly bootEnv: string },
): readonly string[] {
  const expanded: string[] = [];
  const seen = new Set<string>();
  const flattened = new Map<string, readonly string[]>();
  let inForce = bootEnv;
  for (const [index, entry] of tasks.entries()) {
    if (entry.startsWith("bootenv:")) {
      const name = entry.slice("bootenv:".length);
      if (name !== inForce) seen.clear();
      inForce = name;
    } else if (!entry.includes(":")) {
      const missing =
        index < from ? [] : flattenPrerequisites(entry, world, flattened).filter((name) => !seen.has(name));
      for (const name of missing) {
        expanded.push(name);
        seen.add(name);
      }
      seen.add(entry);
    }
    expanded.push(entry);
    if (expanded.length > longestTaskList) return tasks;
  }
  return expanded;
}

/**
 * The flattened prerequisites of a task without duplicates: first those of its prerequisites, then the direct ones, in
 * order. `known` caches results and ends cycles.
 */
function flattenPrerequisites(task: string, world: World, known: Map<string, readonly string[]>): readonly string[] {
  const before = known.get(task);
  if (before !== undefined) return before;
  known.set(task, []);
  const direct = world.get("tasks", task)?.Prerequisites ?? [];
  const all = new Set(direct.flatMap((name) => flattenPrerequisites(name, world, known)));
  for (const name of direct) all.add(name);
  all.delete(task);
  const flattened = [...all];
  known.set(task, flattened);
  return flattened;
}

/**
 * The index at which a machine under a workflow restarts: going back from `at`, the earliest `stage:` entry before the
 * boot environment differs from the machine's. Stages without a boot environment are skipped. -1 if there is none.
 */
export function restartIndex(tasks: readonly string[], at: number, bootEnv: string, world: World): number {
  let found = -1;
  for (let index = Math.min(at, tasks.length - 1); index >= 0; index--) {
    const entry = tasks[index];
    if (entry === undefined || !entry.startsWith("stage:")) continue;
    const needed = world.get("stages", entry.slice("stage:".length))?.BootEnv ?? "";
    if (needed === "") continue;
    if (needed !== bootEnv) break;
    found = index;
  }
  return found;
}

/** The context at an index: the last `context:` entry before it, or the machine's base context. */
export function contextAt(tasks: readonly string[], index: number, base: string): string {
  for (let at = Math.min(index, tasks.length) - 1; at >= 0; at--) {
    const entry = tasks[at];
    if (entry?.startsWith("context:") === true) return entry.slice("context:".length);
  }
  return base;
}

export const baseContext = (meta: ObjectOf["machines"]["Meta"]): string => meta["BaseContext"] ?? "";

/** The entries that have run or are running, and those from the next stage on. */
export function windowsOf(
  tasks: readonly string[],
  currentTask: number,
): { readonly past: readonly string[]; readonly future: readonly string[] } {
  const pastEnd = Math.min(currentTask + 1, tasks.length);
  let futureStart = pastEnd;
  while (futureStart < tasks.length && tasks[futureStart]?.startsWith("stage:") === false) futureStart++;
  return { past: tasks.slice(0, pastEnd), future: tasks.slice(futureStart) };
}

export const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((text, index) => text === b[index]));

/** Refusals of a client's edit of a list, in the same workflow or stage. */
export function editErrors(
  old: { readonly tasks: readonly string[]; readonly currentTask: number },
  tasks: readonly string[],
  isForced: boolean,
): readonly string[] {
  const { past, future } = windowsOf(old.tasks, old.currentTask);
  if (tasks.length < past.length) {
    return ["Cannot remove tasks that have already executed or are already executing"];
  }
  if (!sameTexts(past, tasks.slice(0, past.length))) {
    return ["Cannot change tasks that have already executed or are executing"];
  }
  const kept = future.length === 0 ? [] : tasks.slice(past.length).slice(-future.length);
  return isForced || sameTexts(future, kept) ? [] : ["Cannot change tasks that are past the next stage transition"];
}
