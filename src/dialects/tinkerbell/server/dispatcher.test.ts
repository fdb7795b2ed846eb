import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Informer } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { Workflow, WorkflowV2 } from "../kinds.ts";
import type { WorkflowState } from "../state.ts";
import { type AnyWorkflow, storeState } from "../stored.ts";
import { begin, pending, settings } from "../testing/states.ts";
import { beginCancel, dispatch } from "../transitions.ts";
import { type Connection, streamsOfAgents } from "./connection.ts";
import { Dispatcher } from "./dispatcher.ts";
import { Lanes } from "./lanes.ts";
import { workflowId } from "./workflow-id.ts";
import { WorkflowMirror } from "./workflow-mirror.ts";

const told = dispatch(pending(), { agentID: "agent-a", protocol: "stream" }, begin, settings).state;

class CountingLanes extends Lanes {
  count = 0;

  override run<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.count++;
    return super.run(key, work);
  }
}

/** An agent that is woken with one workflow in this state: how often it was looked at, and what it was told then. */
async function woken(state: WorkflowState, of: (id: string) => Partial<Connection>) {
  const clock = new FakeClock(begin);
  const client = memoryClient({ clock, types: [Workflow, WorkflowV2] });
  const created = await client.create<AnyWorkflow>(Workflow, {
    apiVersion: "tinkerbell.org/v1alpha1",
    kind: "Workflow",
    metadata: { name: "w", namespace: "default" },
    spec: { templateRef: "t" },
  });
  const stored = await storeState(client, created, state, clock.now());
  const random = seededRandom(1);
  const informer = new Informer<AnyWorkflow>({ client, type: Workflow, clock, log: silentLog, random });
  const mirror = new WorkflowMirror(informer);
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await mirror.synced(stop.signal);
  const [connections, lanes, commands] = [streamsOfAgents(), new CountingLanes(), [] as unknown[]];
  const parts = { client, clock, log: silentLog, settings, mirror, connections, lanes, tell: () => undefined };
  const dispatcher = new Dispatcher(parts);
  connections.open(
    {
      agentID: "agent-a",
      key: "agent-a",
      resumed: new Map(),
      stopped: new Set(),
      isGreeted: true,
      send: ({ cmd }) => void commands.push(cmd?.case),
      end: () => undefined,
      ...of(workflowId(stored)),
    },
    clock.now(),
  );
  dispatcher.wake("agent-a");
  await clock.settle();
  dispatcher.close();
  stop.abort();
  await running;
  return { looks: lanes.count, commands };
}

const started = (id: string) => ({ started: { id, attempt: told.dispatch.attempt } });

test("an agent that goes on with what it was told is not looked at", async () => {
  expect(await woken(told, started)).toEqual({ looks: 0, commands: [] });
});

test("one that is to begin, to stop, or has come just now is", async () => {
  expect(await woken(told, () => ({}))).toEqual({ looks: 1, commands: ["startWorkflow"] });
  expect(await woken({ ...told, dispatch: { ...told.dispatch, attempt: 2 } }, started)).toMatchObject({
    commands: ["startWorkflow"],
  });
  const cancelling = beginCancel(told, "User", begin, settings).state;
  expect(await woken(cancelling, started)).toEqual({ looks: 1, commands: ["stopWorkflow"] });
  expect(await woken(told, (id) => ({ ...started(id), isGreeted: false }))).toMatchObject({ looks: 1 });
  expect(await woken(told, (id) => ({ ...started(id), stopped: new Set(["other"]) }))).toMatchObject({ looks: 1 });
  expect(await woken(pending(), () => ({}))).toMatchObject({ looks: 1, commands: ["startWorkflow"] });
});
