import { Workflow } from "#dialects/workflow/kinds.ts";
import { Event } from "#kernel/model/index.ts";
import { type ClosedLoad, closedLoop } from "../harness/closed-loop.ts";
import { longestHold } from "../harness/loop-delay.ts";
import type { Measured } from "../harness/types.ts";
import { type NoopPlane, startNoopPlane } from "./control-plane.ts";
import { type RunKind, stepsOf, workflowOf } from "./workflows.ts";

// B1, B1b, B2: the whole control plane as a library in the process that also makes the load. A caller creates a Workflow and
// waits until its watch shows the end.

export async function run({
  kind,
  dir,
  ...load
}: ClosedLoad & { readonly kind: RunKind; readonly dir: string }): Promise<Measured> {
  const plane = await startNoopPlane(dir);
  const ends = await watchEnds(plane);
  longestHold();
  const cpu = process.cpuUsage();
  const figures = await closedLoop(load, async (id) => {
    const name = `run-${id}`;
    const end = ends.of(name);
    await plane.client.create<Workflow>(Workflow, workflowOf(kind, name));
    const phase = await end;
    if (phase !== "Succeeded") throw new Error(`${name} is ${phase}`);
  });
  const { user, system } = process.cpuUsage(cpu);
  const heldMs = longestHold();
  ends.close();
  const note = await check(plane, kind, figures.ops);
  await plane.close();
  return { ...figures, cpuUs: user + system, heldMs, note };
}

interface Ends {
  of(name: string): Promise<string>;
  close(): void;
}

async function watchEnds({ client }: NoopPlane): Promise<Ends> {
  const waiting = new Map<string, (phase: string) => void>();
  const stop = new AbortController();
  const { metadata } = await client.list<Workflow>(Workflow, { namespace: "default" });
  const follow = async (): Promise<void> => {
    const events = client.watch<Workflow>(Workflow, {
      namespace: "default",
      resourceVersion: metadata.resourceVersion,
      signal: stop.signal,
    });
    for await (const { object } of events) {
      if (!("status" in object)) continue;
      const { phase } = (object as Workflow).status ?? {};
      if (phase !== "Succeeded" && phase !== "Failed" && phase !== "Canceled") continue;
      const name = object.metadata.name ?? "";
      waiting.get(name)?.(phase);
      waiting.delete(name);
    }
  };
  void follow().catch((thrown: unknown) => console.error(thrown));
  return {
    of: (name) => new Promise((resolve) => waiting.set(name, resolve)),
    close: () => stop.abort(new Error("done")),
  };
}

/** Every run has carried out every step once, says so in its status, and has told of it in events. */
async function check({ client, effects }: NoopPlane, kind: RunKind, ops: number): Promise<string> {
  const steps = stepsOf(kind);
  if (effects() !== ops * steps) throw new Error(`${ops} runs carried out ${effects()} steps, expected ${steps} each`);
  const { items } = await client.list<Workflow>(Workflow, { namespace: "default" });
  const done = items.filter(({ status }) => status?.progress === `${steps}/${steps}`);
  if (done.length !== ops) throw new Error(`${done.length} of ${ops} runs say ${steps}/${steps}`);
  const events = await client.list(Event, { namespace: "default" });
  return `${(events.items.length / ops).toFixed(1)} events per run`;
}
