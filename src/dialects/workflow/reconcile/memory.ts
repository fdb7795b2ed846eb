import type { Instant, Problem } from "#lib/base/index.ts";
import { createRunCache, type Fact, type RunCache, type RunState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledWorkflow } from "../compile/compiled.ts";
import type { Workflow } from "../kinds.ts";
import { collectProblems } from "../problems.ts";
import { decodeRun } from "../state.ts";

/** What compiling a workflow gave. `problems` are its errors when there is no `compiled`. */
export interface Compilation {
  readonly compiled: CompiledWorkflow | undefined;
  readonly problems: readonly Problem[];
}

/**
 * What the controller remembers of one unfinished workflow between passes. All of it is derived: losing it costs time, never
 * correctness.
 */
export interface Memory {
  readonly uid: string;
  readonly cache: RunCache;
  /** The run that the status of this version describes. */
  known?: { readonly resourceVersion: string; readonly run: RunState };
  compilation?: Compilation & { readonly generation: number; readonly labels: unknown };
  /** Facts that only carrying out an effect has shown, for the next pass. */
  facts: Fact[];
  /** When an effect was carried out, by its name: what is still owed is not done again at once. */
  readonly performed: Map<string, Instant>;
  /** Starts that have created a child in this process. */
  readonly created: Set<string>;
  /** Refusals in a row by step, for the pauses between tries. */
  readonly refusals: Map<string, number>;
  /** Since when nothing but steps that came alive would have to be written. */
  quietSince?: Instant;
  /** Objects whose existence was reported. */
  readonly reportedStrays: Set<string>;
  /** Since when the deletion waits for children. */
  deletingSince?: Instant;
  reportedCleanup?: boolean;
}

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
      facts: [],
      performed: new Map(),
      created: new Set(),
      refusals: new Map(),
      reportedStrays: new Set(),
    };
    this.#byKey.set(key, memory);
    return memory;
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }

  get size(): number {
    return this.#byKey.size;
  }
}

/** The run the workflow's status describes: the very object of the last pass if nobody else has written since. */
export function runOf(memory: Memory, workflow: Stored<Workflow>): RunState {
  const { resourceVersion } = workflow.metadata;
  if (memory.known?.resourceVersion === resourceVersion) return memory.known.run;
  const run = decodeRun(workflow.status);
  memory.known = { resourceVersion, run };
  return run;
}

/** Compiles once per generation; labels count too, because expressions see them. */
export function compilationOf(memory: Memory, workflow: Stored<Workflow>): Compilation {
  const { generation = 0, labels } = workflow.metadata;
  const last = memory.compilation;
  if (last?.generation === generation && last.labels === labels) return last;
  if (last?.generation === generation && JSON.stringify(last.labels) === JSON.stringify(labels)) return last;
  const found = collectProblems();
  const compiled = compileWorkflow(workflow, found);
  const problems = found.problems.filter((problem) => problem.severity === "error");
  const compilation = { generation, labels, compiled, problems };
  memory.compilation = compilation;
  return compilation;
}
