import type { Instant, Problem } from "#lib/base/index.ts";
import { createRunCache, type Effect, type Fact, type Plan, type RunCache, type RunState } from "#engine/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import type { ChildReference, Workflow, WorkflowSpec } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { SharedPlan } from "../shared-slots.ts";
import { decodeRun } from "../state.ts";

/** What compiling a workflow gave. `problems` are its errors when there is no `compiled`. */
export interface Compilation {
  readonly compiled: CompiledWorkflow | undefined;
  readonly problems: readonly Problem[];
}

/** The specification to be run, and the version of the template it comes from; empty where none is read any more. */
export interface Resolved {
  readonly spec: WorkflowSpec;
  readonly template: string;
}

/** The run of one stored version of a workflow. */
export interface KnownRun {
  readonly resourceVersion: string;
  /** What the status says. */
  readonly stored: RunState;
  /** What it has become since, as far as that needs not be stored at once. */
  readonly run: RunState;
}

/**
 * What the controller remembers of one unfinished workflow between passes. All of it is derived: losing it costs time, never
 * correctness.
 */
export interface Memory {
  readonly uid: string;
  readonly cache: RunCache;
  readonly sharedPlan: SharedPlan;
  known?: KnownRun;
  compilation?: Compilation & { readonly generation: number; readonly labels: unknown; readonly template: string };
  /** Facts that only carrying out an effect has shown, for the next pass. */
  facts: Fact[];
  /** Along with them: references to what was applied, by step. */
  references: ReadonlyMap<string, ChildReference>;
  /** When an effect was carried out, by its name: what is still owed is not done again at once. */
  readonly performed: Map<string, Instant>;
  /** Starts whose child this process has created and then seen in its mirror. */
  readonly created: Set<string>;
  /** Refusals in a row by step, or item of one, for the pauses between tries. */
  readonly refusals: Map<string, number>;
  /** When it was last told what a step waits for, by step. */
  readonly toldLocks: Map<string, Instant>;
  /** When it was last told where the workflow stands in the queue of its concurrency key. */
  toldQueue?: Instant;
  /** The plan that keeps the run from beginning, and what it was made from. */
  heldPlan?: { readonly from: Plan; readonly message: string | undefined; readonly plan: Plan };
  /** Why those that are in the way of the workflow could not be told to end. */
  queueObstacle?: string;
  /** Workflows that were told to end for this one, by uid and number of the run. */
  readonly superseded: Set<string>;
  /** Since when nothing but steps that came alive would have to be written. */
  quietSince?: Instant;
  /** Started steps whose definition differs from the one they were started with, as of a generation. */
  conflicts?: { readonly generation: number; readonly keys: readonly string[] };
  /** Objects whose existence was reported. */
  readonly reportedStrays: Set<string>;
  /** Since when the deletion waits for children. */
  deletingSince?: Instant;
  reportedCleanup?: boolean;
}

/** How `performed` and `created` call an effect. */
export const effectName = ({
  kind,
  step,
  attempt,
  item,
}: Pick<Effect, "kind" | "step" | "attempt" | "item">): string =>
  item === undefined ? `${kind} ${step} ${attempt}` : `${kind} ${step}[${item.index}] ${item.attempt}`;

/** The memories of all unfinished workflows, by key. */
export class Memories {
  readonly #byKey = new Map<string, Memory>();

  /** The memory of this very object; one of an earlier object of its name is dropped. */
  of(key: string, workflow: Stored<Workflow>): Memory {
    const { uid } = workflow.metadata;
    const known = this.#byKey.get(key);
    if (known?.uid === uid) return known;
    const memory: Memory = {
      uid,
      cache: createRunCache(),
      sharedPlan: new SharedPlan(),
      facts: [],
      references: new Map(),
      performed: new Map(),
      created: new Set(),
      refusals: new Map(),
      toldLocks: new Map(),
      superseded: new Set(),
      reportedStrays: new Set(),
    };
    this.#byKey.set(key, memory);
    return memory;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  /** True for a version that this process wrote and has acted on already. */
  isOwnWrite(workflow: Stored): boolean {
    const { known } = this.#byKey.get(keyOf(workflow.metadata)) ?? {};
    return known?.resourceVersion === workflow.metadata.resourceVersion;
  }
}

/** The run the workflow's status describes: the very object of the last pass if nobody else has written since. */
export function runOf(memory: Memory, workflow: Stored<Workflow>): KnownRun {
  const { resourceVersion } = workflow.metadata;
  if (memory.known?.resourceVersion === resourceVersion) return memory.known;
  const stored = decodeRun(workflow.status);
  memory.known = { resourceVersion, stored, run: stored };
  return memory.known;
}

/** Compiles once per generation; labels count too, because expressions see them, and so does the template it is to start with. */
export function compilationOf(memory: Memory, workflow: Stored<Workflow>, { spec, template }: Resolved): Compilation {
  const { generation = 0, labels } = workflow.metadata;
  const last = memory.compilation;
  if (last?.generation === generation && last.template === template) {
    if (last.labels === labels || JSON.stringify(last.labels) === JSON.stringify(labels)) return last;
  }
  const found = collectProblems();
  const compiled = compileWorkflow(spec === workflow.spec ? workflow : { ...workflow, spec }, found);
  const problems = found.problems.filter((problem) => problem.severity === "error");
  const compilation = { generation, labels, template, compiled, problems };
  memory.compilation = compilation;
  return compilation;
}

/**
 * Started steps that were changed or removed afterwards, which admission refuses where it can. Looked for once per generation;
 * steps that start later start with what stands there.
 */
export function conflictsOf(memory: Memory, workflow: Stored<Workflow>, compiled: CompiledWorkflow): readonly string[] {
  const { generation = 0 } = workflow.metadata;
  if (memory.conflicts?.generation === generation) return memory.conflicts.keys;
  const keys = Object.entries(workflow.status?.statuses ?? {}).flatMap(([key, entry]) => {
    const { templateHash, phase, attempt = 0, earlierAttempts = 0 } = entry;
    // After a retry a step keeps the hash of the attempt before until it starts anew.
    const started =
      templateHash !== undefined && (phase === "Suspended" || (phase !== "Pending" && attempt > earlierAttempts));
    return started && compiled.steps.get(key)?.hash() !== templateHash ? [key] : [];
  });
  memory.conflicts = { generation, keys };
  return keys;
}
