import type { Instant, Problem } from "#lib/base/index.ts";
import { createRunCache, type Effect, type Fact, type Plan, type RunCache, type RunState } from "#engine/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import type { ChildReference, Workflow, WorkflowSpec } from "../kinds.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { SharedPlan } from "../shared-slots.ts";
import { decodeRun } from "../state.ts";

/** `problems` has the errors if `compiled` is undefined. */
export interface Compilation {
  readonly compiled: CompiledWorkflow | undefined;
  readonly problems: readonly Problem[];
}

/** The spec to run, and the template's version; empty if none is read any more. */
export interface Resolved {
  readonly spec: WorkflowSpec;
  readonly template: string;
}

export interface KnownRun {
  readonly resourceVersion: string;
  readonly stored: RunState;
  /** Including changes that need not be stored at once. */
  readonly run: RunState;
}

/** What the controller remembers of an unfinished workflow between passes. All derived: losing it costs only time. */
export interface Memory {
  readonly uid: string;
  readonly cache: RunCache;
  readonly sharedPlan: SharedPlan;
  known?: KnownRun;
  compilation?: Compilation & { readonly generation: number; readonly labels: unknown; readonly template: string };
  facts: Fact[];
  references: ReadonlyMap<string, ChildReference>;
  /** Times of effects by name, so that they are not repeated at once. */
  readonly performed: Map<string, Instant>;
  /** Started children seen in the mirror. */
  readonly created: Set<string>;
  /** Consecutive refusals by step or item, for backoff. */
  readonly refusals: Map<string, number>;
  /** When a wait was last reported, by step. */
  readonly toldLocks: Map<string, Instant>;
  /** When its place in the queue was last reported. */
  toldQueue?: Instant;
  /** A plan that keeps the run from starting, and its source. */
  heldPlan?: { readonly from: Plan; readonly message: string | undefined; readonly plan: Plan };
  queueObstacle?: string;
  /** Rivals canceled for this workflow, by uid and run number. */
  readonly superseded: Set<string>;
  /** Since when only steps that came alive are unstored. */
  quietSince?: Instant;
  /** Started steps whose definition has changed, by generation. */
  conflicts?: { readonly generation: number; readonly keys: readonly string[] };
  readonly reportedStrays: Set<string>;
  deletingSince?: Instant;
  reportedCleanup?: boolean;
}

/** Key of an effect in `performed` and `created`. */
export const effectName = ({
  kind,
  step,
  attempt,
  item,
}: Pick<Effect, "kind" | "step" | "attempt" | "item">): string =>
  item === undefined ? `${kind} ${step} ${attempt}` : `${kind} ${step}[${item.index}] ${item.attempt}`;

export class Memories {
  readonly #byKey = new Map<string, Memory>();

  /** Memory of an earlier object with the name is dropped. */
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

  /** A version that this process wrote and acted on. */
  isOwnWrite(workflow: Stored): boolean {
    const { known } = this.#byKey.get(keyOf(workflow.metadata)) ?? {};
    return known?.resourceVersion === workflow.metadata.resourceVersion;
  }
}

/** The run of the status: the same object as in the last pass unless someone else has written. */
export function runOf(memory: Memory, workflow: Stored<Workflow>): KnownRun {
  const { resourceVersion } = workflow.metadata;
  if (memory.known?.resourceVersion === resourceVersion) return memory.known;
  const stored = decodeRun(workflow.status);
  memory.known = { resourceVersion, stored, run: stored };
  return memory.known;
}

/** Compiles once per generation, labels (expressions see them) and template version. */
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

/** Started steps that were changed or removed, which admission refuses if present. Cached per generation. */
export function conflictsOf(memory: Memory, workflow: Stored<Workflow>, compiled: CompiledWorkflow): readonly string[] {
  const { generation = 0 } = workflow.metadata;
  if (memory.conflicts?.generation === generation) return memory.conflicts.keys;
  const keys = Object.entries(workflow.status?.statuses ?? {}).flatMap(([key, entry]) => {
    const { templateHash, phase, attempt = 0, earlierAttempts = 0 } = entry;
    // After a retry a step has the hash of its earlier attempt until it starts.
    const started =
      templateHash !== undefined && (phase === "Suspended" || (phase !== "Pending" && attempt > earlierAttempts));
    return started && compiled.steps.get(key)?.hash() !== templateHash ? [key] : [];
  });
  memory.conflicts = { generation, keys };
  return keys;
}
