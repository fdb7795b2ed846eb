import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, parseInstant, silentLog } from "#lib/base/index.ts";
import { type ApiClient, Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { apiVersionOf, keyOf, type Stored } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { awaitedAgents, byAge, type Candidate } from "../dispatch-queue.ts";
import { Workflow, WorkflowV2 } from "../kinds.ts";
import { agentKey, agentsOf, isTerminal, type Phase, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, refOf, stateOf, storeState } from "../stored.ts";
import { action, pending } from "../testing/states.ts";
import { WorkflowMirror } from "./workflow-mirror.ts";

const agents = ["agent-a", "02:00:00:00:00:0a"] as const;
const spelled = ["agent-a", "02:00:00:00:00:0a", "02-00-00-00-00-0A", ""] as const;
const phases = ["", "Pending", "Scheduled", "Running", "Cancelling", "Succeeded", "Failed"] as const;

interface Write {
  readonly name: string;
  readonly agentID: string;
  readonly otherAgentIDs: readonly string[];
  readonly told: string;
  readonly phase: Phase;
  readonly held: boolean;
  readonly isDisabled: boolean;
  readonly isOwn: boolean;
  readonly isDeleted: boolean;
  readonly isHeard: boolean;
}

const write: fc.Arbitrary<Write> = fc.record({
  name: fc.constantFrom("a", "b", "c", "d", "e", "f"),
  agentID: fc.constantFrom(...spelled),
  otherAgentIDs: fc.subarray(["agent-a", "02:00:00:00:00:0a", "02-00-00-00-00-0A", "agent-z"]),
  told: fc.constantFrom(...spelled),
  phase: fc.constantFrom<Phase>(...phases),
  held: fc.boolean(),
  isDisabled: fc.boolean(),
  isOwn: fc.boolean(),
  isDeleted: fc.boolean(),
  isHeard: fc.boolean(),
});

/** Only workflows of v1alpha2 may have several agents. */
const isB = ({ name }: Pick<Write, "name">) => name > "c";

const stateIn = (change: Write): WorkflowState => {
  const { agentID, told, phase, held, otherAgentIDs } = change;
  return pending({
    ...(isB(change) ? { shape: "B", otherAgentIDs } : {}),
    agentID,
    phase,
    actions: [action("one", {}, agentID)],
    dispatch: { held, attempt: 1, rejections: 0, ...(told === "" ? {} : { agentID: told }) },
  });
};

async function perform(store: MemoryClient, own: ApiClient, change: Write, clock: FakeClock): Promise<void> {
  const client = change.isOwn ? own : store;
  const ref = refOf("default", change.name);
  if (change.isDeleted) return void (await client.delete(ref).catch(() => undefined));
  const metadata = { name: change.name, namespace: "default" };
  const type = isB(change) ? WorkflowV2 : Workflow;
  const references = isB(change) ? { templateRef: { name: "t" }, hardwareRef: { name: "h" } } : { templateRef: "t" };
  const spec = { ...references, disabled: change.isDisabled };
  const document = { apiVersion: apiVersionOf(type), kind: "Workflow", metadata, spec };
  const stored = await client
    .create<AnyWorkflow>(type, document)
    .catch(async () => client.patch<AnyWorkflow>({ ...ref, type }, { type: "merge", body: { spec } }));
  await storeState(client, stored, stateIn(change), clock.now());
}

/** The plain definition: look at everything. */
function lookAtAll(workflows: readonly Stored<AnyWorkflow>[], agent: string) {
  const all = workflows.map((workflow): Candidate => {
    const { metadata, spec } = workflow;
    const createdAt = parseInstant(metadata.creationTimestamp) ?? 0;
    const isDeleted = metadata.deletionTimestamp !== undefined;
    return {
      key: keyOf(metadata),
      uid: metadata.uid,
      createdAt,
      isDeleted,
      isDisabled: spec?.["disabled"] === true,
      state: stateOf(workflow),
    };
  });
  const isHeld = ({ state: { dispatch } }: Candidate) => dispatch.held && agentKey(dispatch.agentID ?? "") === agent;
  return {
    held: all
      .filter(isHeld)
      .toSorted(byAge)
      .map(({ key }) => key),
    oldest: all.filter((one) => awaitedAgents(one).includes(agent)).toSorted(byAge)[0]?.key,
    hasUnfinished: all.some(({ state }) => !isTerminal(state.phase) && agentsOf(state).map(agentKey).includes(agent)),
  };
}

test("an agent's queue is what looking at every workflow finds, own writes that were not heard of included", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 40 }), async (changes) => {
      const clock = new FakeClock();
      const store = memoryClient({ clock, types: [Workflow, WorkflowV2] });
      const manager = new Manager({ client: store, clock, log: silentLog, random: seededRandom(1) });
      const { informer } = manager.informers.acquire<AnyWorkflow>(Workflow);
      const mirror = new WorkflowMirror(informer);
      await mirror.synced(new AbortController().signal);
      for (const change of changes) {
        await perform(store, manager.client, change, clock);
        if (change.isHeard) await clock.advance(1000);
        for (const agent of agents) {
          const { held, oldest } = mirror.queueOf(agent);
          const found = {
            held: held.map(({ key }) => key),
            oldest: oldest?.key,
            hasUnfinished: mirror.hasUnfinished(agent),
          };
          expect(found).toEqual(lookAtAll(informer.list(), agent));
        }
      }
      await manager.informers.close();
    }),
    { numRuns: runs(100) },
  );
});

/** Counts how often the status of a workflow is read, which is the begin of every look at one. */
function counting(store: MemoryClient) {
  const counter = { reads: 0 };
  const watched = <T extends object>(object: T): T => {
    const { status } = object as { readonly status?: unknown };
    return Object.defineProperty({ ...object }, "status", {
      enumerable: true,
      get: () => {
        counter.reads++;
        return status;
      },
    });
  };
  const client = new Proxy<ApiClient>(store, {
    get(target, name) {
      if (name === "list")
        return async (...args: Parameters<ApiClient["list"]>) => {
          const list = await target.list(...args);
          return { ...list, items: list.items.map(watched) };
        };
      if (name === "watch")
        return async function* (...args: Parameters<ApiClient["watch"]>) {
          for await (const event of target.watch(...args))
            yield event.type === "BOOKMARK" ? event : { ...event, object: watched(event.object) };
        };
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { client, counter };
}

/** Statuses that were looked at for one change of the youngest of so many that wait, and for the look at the agent that follows. */
async function costOf(queue: number): Promise<number> {
  const clock = new FakeClock();
  const store = memoryClient({ clock, types: [Workflow] });
  const { client, counter } = counting(store);
  const manager = new Manager({ client, clock, log: silentLog, random: seededRandom(1) });
  const { informer } = manager.informers.acquire<AnyWorkflow>(Workflow);
  const mirror = new WorkflowMirror(informer);
  await mirror.synced(new AbortController().signal);
  const change = {
    agentID: "agent-a",
    otherAgentIDs: [],
    told: "",
    phase: "Pending",
    held: false,
    isDisabled: false,
  } as const;
  const more = { isOwn: false, isDeleted: false, isHeard: false } as const;
  for (let at = 0; at < queue; at++) await perform(store, store, { ...change, ...more, name: `aw${at}` }, clock);
  await clock.advance(1000);
  mirror.queueOf("agent-a");
  counter.reads = 0;
  await perform(store, store, { ...change, ...more, name: `aw${queue - 1}`, isDisabled: true }, clock);
  await clock.advance(1000);
  expect(mirror.queueOf("agent-a").oldest?.key).toBe("default/aw0");
  await manager.informers.close();
  return counter.reads;
}

test("a change, and the look at the agent that follows, cost the same behind two workflows as behind two thousand", async () => {
  const few = await costOf(2);
  expect(few).toBeGreaterThan(0);
  expect(await costOf(2000)).toBe(few);
});
