import { getOrAdd } from "#lib/base/index.ts";
import { countPhases, isActive, isTerminal, type Plan, type RunState } from "#engine/index.ts";
import type { Informer } from "#kernel/kit/index.ts";
import { controllerOf, keyOf, type Stored } from "#kernel/model/index.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { type StepSource, stepSources } from "./compile/step-source.ts";
import { type StepStatus, type Workflow, isFinished } from "./kinds.ts";
import { statusOf } from "./reconcile/attempts.ts";
import { specOf } from "./spec-of.ts";
import { isChildOfStep } from "./child-names.ts";

// `parallelism` includes steps of child workflows. A `workflow` step lends its slot to the child's first active step,
// so that every child can go on; each further one takes a slot of all parents.

const childIndex = "slipway.dev/child-of";

const noLimit = Number.POSITIVE_INFINITY;

type Progress = Pick<StepStatus, "phase"> & { readonly items?: { readonly states: string } };

/** Active main steps and items, without references. O(steps). */
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

/** From the stored status. O(steps) once per version. */
function activeIn(workflow: Stored<Workflow>): number {
  return getOrAdd(known, workflow, () => countActive(stepSources(specOf(workflow)), (key) => statusOf(workflow, key)));
}

const activeOf = ({ steps }: CompiledWorkflow, run: RunState): number =>
  countActive(steps.values(), (key) => run.steps[key]);

/** The plan with other slots. The last one is reused, because the engine lays out every new plan. */
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

/** Shares slots with child workflows. Its memory saves time and coordinates concurrent passes. */
export class SharedSlots {
  readonly #workflows: Informer<Workflow>;
  readonly #wake: (key: string) => void;
  /** Active steps by uid, of runs being written. */
  readonly #ahead = new Map<string, number>();
  /** Workflows without free slots, by the outermost parent's uid. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(workflows: Informer<Workflow>, wake: (key: string) => void) {
    this.#workflows = workflows;
    this.#wake = wake;
    workflows.addIndex(childIndex, (workflow) =>
      isFinished(workflow) || !isChildOfStep(workflow) ? [] : [controllerOf(workflow)?.uid ?? ""],
    );
  }

  /** Limit of active steps; undefined if no slots are shared. */
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

  /** Writes a run with `most` slots. Others see at once what it takes, and after the write what it returns. */
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

  /** Parents, innermost first. */
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

  /** Active steps, including those of children beyond their first. */
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
