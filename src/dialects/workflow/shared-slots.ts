import { countPhases, isActive, isTerminal, type Plan, type RunState } from "#engine/index.ts";
import type { Informer } from "#kernel/kit/index.ts";
import { controllerOf, keyOf, type Stored } from "#kernel/model/index.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { type StepSource, stepSources } from "./compile/step-source.ts";
import { type StepStatus, type Workflow, isFinished } from "./kinds.ts";
import { statusOf } from "./reconcile/attempts.ts";
import { specOf } from "./spec-of.ts";
import { isChildOfStep } from "./child-names.ts";

// `parallelism` of a workflow counts the steps of its child workflows too. The slot of a `workflow` step is that of the first active
// step of its child, so that every child can go on, whatever the others do; each further one takes a slot of all workflows around it.

/** Unfinished children by the uid of their parent. */
const childIndex = "slipway.dev/child-of";

const noLimit = Number.POSITIVE_INFINITY;

type Progress = Pick<StepStatus, "phase"> & { readonly items?: { readonly states: string } };

/** Main steps and items that are active, references aside. O(steps). */
export function countActive(
  steps: Iterable<Pick<StepSource, "key" | "step" | "final">>,
  stateOf: (key: string) => Progress | undefined,
): number {
  let count = 0;
  for (const { key, final, step } of steps) {
    const { phase, items } = stateOf(key) ?? {};
    if (final || step.externalRef !== undefined || phase === undefined || !isActive(phase)) continue;
    const { R = 0, A = 0, C = 0 } = items === undefined ? { A: 1 } : countPhases(items.states);
    count += R + A + C;
  }
  return count;
}

const known = new WeakMap<Workflow, number>();

/** As the stored status says. O(steps) once per version. */
function activeIn(workflow: Stored<Workflow>): number {
  const found = known.get(workflow) ?? countActive(stepSources(specOf(workflow)), (key) => statusOf(workflow, key));
  known.set(workflow, found);
  return found;
}

const activeOf = ({ steps }: CompiledWorkflow, run: RunState): number =>
  countActive(steps.values(), (key) => run.steps[key]);

/** The plan with another number of slots. The last one is kept: the engine lays out every plan it has not seen before. */
export class SharedPlan {
  #last: { readonly from: Plan; readonly most: number; readonly plan: Plan } | undefined;

  of(from: Plan, most: number | undefined): Plan {
    if (most === undefined) return from;
    if (this.#last?.from === from && this.#last.most === most) return this.#last.plan;
    const plan = { ...from, policy: { ...from.policy, parallelism: most } };
    this.#last = { from, most, plan };
    return plan;
  }
}

/** Shares the slots of workflows with their child workflows. What it remembers only saves time, and keeps passes of a moment apart. */
export class SharedSlots {
  readonly #workflows: Informer<Workflow>;
  readonly #wake: (key: string) => void;
  /** Active steps, by uid, of runs whose status is being written. */
  readonly #ahead = new Map<string, number>();
  /** Workflows that have used all their slots, by the uid of the outermost one around them. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(workflows: Informer<Workflow>, wake: (key: string) => void) {
    this.#workflows = workflows;
    this.#wake = wake;
    workflows.addIndex(childIndex, (workflow) =>
      isFinished(workflow) || !isChildOfStep(workflow) ? [] : [controllerOf(workflow)?.uid ?? ""],
    );
  }

  /** How many steps of a workflow may be active; undefined when it shares its slots with no other. */
  mostOf(workflow: Stored<Workflow>, compiled: CompiledWorkflow, run: RunState): number | undefined {
    const { parallelism } = compiled.spec;
    const isSharing = parallelism !== undefined && this.#childrenOf(workflow).length > 0;
    const own = isSharing ? Math.max(0, parallelism - this.#beyond(workflow)) : (parallelism ?? noLimit);
    const room = Math.min(
      ...this.#around(workflow).map((one) => (specOf(one).parallelism ?? noLimit) - this.#load(one)),
    );
    if (!isSharing && room === noLimit) return undefined;
    const first = this.#load(workflow) === 0 ? 1 : 0;
    return Math.min(own, Math.max(1, activeOf(compiled, run) + room + first));
  }

  /** Stores a run that has `most` slots. Others see at once what it takes, and get what it gives back when it is stored. */
  async storing<T>(
    workflow: Stored<Workflow>,
    compiled: CompiledWorkflow,
    { before, after, most }: { readonly before: RunState; readonly after: RunState; readonly most: number | undefined },
    store: () => Promise<T>,
  ): Promise<T> {
    if (most === undefined) return await store();
    const { uid } = workflow.metadata;
    const active = activeOf(compiled, after);
    this.#ahead.set(uid, active);
    const outermost = this.#around(workflow).at(-1)?.metadata.uid ?? uid;
    if (active >= most)
      this.#waiting.set(outermost, (this.#waiting.get(outermost) ?? new Set()).add(keyOf(workflow.metadata)));
    try {
      return await store();
    } finally {
      this.#ahead.delete(uid);
      if (active < activeOf(compiled, before) || isTerminal(after.phase)) {
        const waiting = this.#waiting.get(outermost) ?? [];
        this.#waiting.delete(outermost);
        for (const key of waiting) this.#wake(key);
      }
    }
  }

  /** The workflows around one, the innermost first. */
  #around(workflow: Stored<Workflow>): readonly Stored<Workflow>[] {
    const found: Stored<Workflow>[] = [];
    for (let inner = workflow; isChildOfStep(inner); ) {
      const owner = controllerOf(inner);
      const { namespace } = inner.metadata;
      const outer =
        owner && this.#workflows.get(keyOf({ name: owner.name, ...(namespace === undefined ? {} : { namespace }) }));
      if (outer === undefined || outer.metadata.uid !== owner?.uid || found.includes(outer)) break;
      found.push(outer);
      inner = outer;
    }
    return found;
  }

  /** Active steps of a workflow, and those of its children beyond their first ones. */
  #load(workflow: Stored<Workflow>): number {
    const ahead = this.#ahead.get(workflow.metadata.uid) ?? 0;
    return Math.max(activeIn(workflow), ahead) + this.#beyond(workflow);
  }

  #beyond(workflow: Stored<Workflow>): number {
    return this.#childrenOf(workflow).reduce((sum, child) => sum + Math.max(0, this.#load(child) - 1), 0);
  }

  #childrenOf({ metadata }: Stored<Workflow>): readonly Stored<Workflow>[] {
    return this.#workflows.byIndex(childIndex, metadata.uid);
  }
}
