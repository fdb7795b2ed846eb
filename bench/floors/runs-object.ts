import type { RunKind } from "../ours/workflows.ts";
import { type Commit, floorSteps, playRuns, type PlayRun, type RunLoad } from "./runs.ts";

// Floor of a Kubernetes-shaped engine: a run is one object with a status entry per step and an incremental ready set; every
// transition makes the whole object durable, about 3 KB of JSON for a chain of ten.

export const run = (load: RunLoad) =>
  playRuns(
    playObjects((object) => object),
    load,
  );

interface StepStatus {
  readonly name: string;
  phase: string;
  attempts: number;
  finishTime: string | null;
}

interface RunObject {
  readonly metadata: { readonly name: string; resourceVersion: string };
  readonly status: { phase: string; readonly steps: readonly StepStatus[] };
}

/** Plays runs as objects. `recordOf` says what a transition makes durable: the object, or what has changed of it. */
export function playObjects(recordOf: (object: RunObject, path: string, value: unknown) => object): PlayRun {
  const objects = new Map<number, RunObject>();
  let revision = 0;
  return async (id, kind, commit, effect) => {
    const count = floorSteps(kind);
    const object = newObject(id, kind, count);
    objects.set(id, object);
    const save = (path: string, value: unknown): Promise<void> => {
      object.metadata.resourceVersion = String(++revision);
      return commit(recordOf(object, path, value));
    };
    await commit(object);
    await playGraph(object, count, kind, save, effect);
    objects.delete(id);
  };
}

/** Counters of open dependencies and lists of successors: O(out-degree) per completion. */
function playGraph(
  object: RunObject,
  count: number,
  kind: RunKind,
  save: (path: string, value: unknown) => ReturnType<Commit>,
  effect: () => void,
): Promise<void> {
  const waits = Array.from({ length: count }, (_, index) => (kind === "fan" || index === 0 ? 0 : 1));
  let open = count;
  return new Promise((resolve, reject) => {
    const runStep = async (index: number): Promise<void> => {
      const step = object.status.steps[index];
      if (step === undefined) return;
      effect();
      Object.assign(step, { phase: "Succeeded", attempts: 1, finishTime: new Date().toISOString() });
      await save(`status/steps/${index}`, step);
      if (kind !== "fan" && index + 1 < count) runStep(index + 1).catch(reject);
      if (--open > 0) return;
      object.status.phase = "Succeeded";
      await save("status/phase", "Succeeded");
      resolve();
    };
    for (const [index, left] of waits.entries()) if (left === 0) runStep(index).catch(reject);
  });
}

function newObject(id: number, kind: RunKind, count: number): RunObject {
  const names = Array.from({ length: count }, (_, index) => `step-${index}`);
  const object = {
    apiVersion: "slipway.dev/v1",
    kind: "Workflow",
    metadata: {
      name: `run-${id}`,
      namespace: "default",
      uid: `uid-${id}`,
      resourceVersion: "0",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { app: "bench" },
    },
    spec: {
      steps: names.map((name, index) => ({
        name,
        type: "noop",
        dependsOn: kind === "fan" || index === 0 ? [] : [`step-${index - 1}`],
        timeout: "30m",
      })),
    },
    status: {
      phase: "Pending",
      conditions: [],
      steps: names.map((name) => ({ name, phase: "Pending", startTime: null, finishTime: null, attempts: 0 })),
    },
  };
  return object;
}
