import { Workflow } from "#dialects/workflow/kinds.ts";
import { type HostPlane, startHostPlane } from "./host-plane.ts";

// B11: the whole server of `slipway up`, to be killed with many runs in flight. Every step is a host process that writes one line to
// a file when it begins, so what was carried out is known by what is in the file, whatever the server says.

let running: HostPlane | undefined;

export async function start({ dir, runnerPath }: { readonly dir: string; readonly runnerPath: string }): Promise<void> {
  running = await startHostPlane(dir, runnerPath);
}

export interface RunsToStart {
  readonly runs: number;
  /** One after the other in each run. */
  readonly steps: number;
  /** Names of runs begin with it. */
  readonly prefix: string;
  /** Where steps write `RUN STEP` to. */
  readonly effects: string;
}

/** Resolves when all runs are stored. */
export async function startMany({ runs, steps, prefix, effects }: RunsToStart): Promise<void> {
  const client = clientOf();
  const workflows = Array.from({ length: runs }, (_, run) => workflowOf(`${prefix}${run}`, steps, effects));
  await Promise.all(workflows.map((workflow) => client.create(Workflow, workflow)));
}

/** Runs of one definition, as the peers have it: who runs it is told to the step when it starts. */
function workflowOf(run: string, steps: number, effects: string): Workflow {
  const stepOf = (step: number) => ({
    container: {
      image: "none",
      command: ["/bin/sh", "-c", `echo "$RUN" ${step} >>'${effects}'`],
      env: [{ name: "RUN", value: "${{ workflow.name }}" }],
    },
    ...(step === 0 ? {} : { dependencies: [`step-${step - 1}`] }),
  });
  return {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: run, namespace: "default" },
    spec: { steps: Object.fromEntries(Array.from({ length: steps }, (_, step) => [`step-${step}`, stepOf(step)])) },
  };
}

/** Resolves when as many runs have succeeded; rejects when one ends otherwise. */
export async function waitMany({ runs }: { readonly runs: number }): Promise<void> {
  const done = new Set<string>();
  const stop = new AbortController();
  for await (const { object } of clientOf().watch<Workflow>(Workflow, { namespace: "default", signal: stop.signal })) {
    const { phase } = ("status" in object ? (object as Workflow).status : undefined) ?? {};
    if (phase === "Failed" || phase === "Canceled") throw new Error(`${object.metadata.name} is ${phase}`);
    if (phase === "Succeeded") done.add(object.metadata.name ?? "");
    if (done.size === runs) return stop.abort();
  }
}

/** Stops the server and its runner. */
export async function stop(): Promise<void> {
  await running?.close();
  running = undefined;
}

const clientOf = () => {
  if (running === undefined) throw new Error("not started");
  return running.plane.server.client();
};
