import { type Clock, type Instant, jsonEquals, type Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  type Informer,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  requestFor,
  requestKey,
  withCondition,
} from "#kernel/kit/index.ts";
import { isConflict, isNotFound, Pod, type Stored } from "#kernel/model/index.ts";
import type { Runtime, TaskStatus } from "#kernel/runtimes/index.ts";
import { type Container, isFinished, type PodObject, type PodStatus } from "../pod-types.ts";
import { type Sources, sourcesOf } from "./config-sources.ts";
import type { ContainerStopper } from "./container-stopper.ts";
import { type ContainerView, viewContainers } from "./container-view.ts";
import { calmAfter, type Execution, planPod, type PodPlan, type Waiting } from "./plan-pod.ts";
import type { PodCleaner } from "./pod-cleaner.ts";
import type { Node } from "./pod-fields.ts";
import { PodMemories, type PodMemory } from "./pod-memory.ts";
import type { PodNotes } from "./pod-notes.ts";
import { podPaths, taskId } from "./pod-paths.ts";
import { podStatus } from "./pod-status.ts";
import type { SourceWaits } from "./source-waits.ts";
import { type RuntimeTraits, type Support, supportFor } from "./support.ts";
import { terminationMessage } from "./termination-message.ts";
import type { Workspace } from "./workspace.ts";

export interface PodRunnerParts {
  readonly client: ApiClient;
  readonly pods: Informer<PodObject>;
  readonly runtime: Runtime;
  readonly notes: PodNotes;
  readonly stopper: ContainerStopper;
  readonly workspace: Workspace;
  readonly cleaner: PodCleaner;
  readonly waits: SourceWaits;
  readonly node: Node;
  readonly directory: string;
  readonly isRoot: boolean;
  readonly clock: Clock;
}

/** A status that is not yet decisive waits this long for a better one: a short pod costs one status write. */
const coalesce: Millis = 250;

/** What the host lacks may come without anybody telling. */
const hostRetry: Millis = 30_000;

/** Runs the pods of one node on a runtime, as a kubelet does: binds them, starts and restarts containers, reports. */
export class PodRunner implements Reconciler {
  readonly #parts: PodRunnerParts;
  readonly #memories: PodMemories;
  #traits: RuntimeTraits | undefined;

  constructor(parts: PodRunnerParts) {
    this.#parts = parts;
    this.#memories = new PodMemories(parts.directory);
  }

  async reconcile(request: ReconcileRequest, context: ReconcileContext): Promise<ReconcileResult | undefined> {
    const key = requestKey(request);
    // Before the runtime is attached nothing is known of its tasks, and nothing may be started.
    await this.#parts.runtime.list();
    const pod = this.#parts.pods.get(key);
    await this.#forgetOthers(key, pod?.metadata.uid);
    if (pod === undefined) return undefined;
    const { name } = this.#parts.node;
    if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== name) return undefined;
    const memory = this.#memories.of(key, pod, context.now);
    if (isFinished(pod)) {
      return this.#settle(pod, memory);
    }
    if (!this.#fits(pod)) return this.#leaveUnscheduled(pod, context.now);
    return this.#sync(key, pod, memory, context);
  }

  /** The node's labels fit the pod's selector. */
  #fits(pod: PodObject): boolean {
    const { labels } = this.#parts.node;
    if (pod.spec.nodeName !== undefined) return true;
    return Object.entries(pod.spec.nodeSelector ?? {}).every(([label, value]) => labels[label] === value);
  }

  async #leaveUnscheduled(pod: Stored<PodObject>, now: Instant): Promise<undefined> {
    const message = `0/1 nodes are available: node ${this.#parts.node.name} does not match the pod's node selector`;
    const present = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (present?.message === message) return;
    this.#parts.notes.unschedulable(pod, message);
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message } as const;
    const conditions = withCondition(pod.status?.conditions ?? [], condition, now);
    await patchStatus(this.#parts.client, Pod, pod, { ...pod.status, conditions });
  }

  async #sync(
    key: string,
    given: Stored<PodObject>,
    memory: PodMemory,
    { now, signal }: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const bound = this.#bind(given);
    // It is awaited below; what fails before must not make its refusal look unseen.
    bound.catch(() => undefined);
    const traits = await this.#runtimeTraits();
    const support = (memory.support ??= supportFor(given, traits));
    const refusal = refusalText(support, this.#parts.runtime.name);
    const { acceptedAt, calmSince } = memory;
    const facts = { acceptedAt, calmSince, blocked: new Map<string, Waiting>() };
    const obstacles = refusal === undefined ? facts : { ...facts, refused: refusal };
    let views = await this.#look(given, memory, now);
    let plan = planPod(given, views, obstacles, now);
    const failure = await this.#startAll(key, given, plan.start, facts.blocked, memory).catch(
      (thrown: unknown) => thrown,
    );
    const pod = await bound;
    signal.throwIfAborted();
    if (plan.start.length > 0) {
      views = await this.#look(pod, memory, this.#parts.clock.now());
      plan = planPod(pod, views, obstacles, this.#parts.clock.now());
    }
    this.#parts.notes.findings(pod, plan, support, traits, memory.told);
    await this.#stopAll(pod, plan, memory);
    const result = await this.#report(pod, views, plan, memory);
    if (failure !== undefined) throw failure;
    const isHostBlocked = [...facts.blocked.values()].some(({ reason }) => reason === "CreateContainerError");
    return isHostBlocked ? { requeueAfter: Math.min(hostRetry, result?.requeueAfter ?? hostRetry) } : result;
  }

  /** Binding is written while the first container already starts: the runtime's journal is what must not be lost. */
  async #bind(pod: Stored<PodObject>): Promise<Stored<PodObject>> {
    if (pod.spec.nodeName !== undefined || pod.metadata.deletionTimestamp !== undefined) return pod;
    const { client, node } = this.#parts;
    const body = { metadata: { uid: pod.metadata.uid }, spec: { nodeName: node.name } };
    const bound = await client.patch<PodObject>(refTo(Pod, pod), { type: "merge", body });
    this.#parts.notes.scheduled(pod, node.name);
    return bound;
  }

  async #runtimeTraits(): Promise<RuntimeTraits> {
    const { runtime, isRoot } = this.#parts;
    this.#traits ??= { ...(await runtime.capabilities()), name: runtime.name, isRoot };
    return this.#traits;
  }

  async #look(pod: PodObject, memory: PodMemory, now: Instant): Promise<readonly ContainerView[]> {
    const { runtime } = this.#parts;
    await this.#readMessages(pod, memory);
    const find = (id: string) => runtime.find(id);
    const facts = { runtimeName: runtime.name, find, messageOf: (id: string) => memory.messages.get(id) };
    const views = viewContainers(pod, facts, now);
    for (const { current, container, restart } of views) {
      if (current.kind === "ended" && current.ranFor >= calmAfter) memory.calmSince.set(container.name, restart + 1);
    }
    return views;
  }

  /** Reads the termination messages of executions that have ended since the last look. */
  async #readMessages(pod: PodObject, memory: PodMemory): Promise<void> {
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const stored = statuses.find(({ name }) => name === container.name)?.restartCount ?? 0;
      for (let restart = Math.max(0, stored - 1); ; restart++) {
        const status = this.#parts.runtime.find(taskId(pod.metadata.uid ?? "", container.name, restart));
        if (status !== undefined) await this.#readMessage(pod, container, restart, status, memory);
        else if (restart >= stored) break;
      }
    }
  }

  async #readMessage(
    pod: PodObject,
    { name, terminationMessagePolicy }: Container,
    restart: number,
    { id, state }: TaskStatus,
    memory: PodMemory,
  ): Promise<void> {
    if (state.phase !== "ended" || memory.messages.has(id)) return;
    const paths = podPaths(this.#parts.directory, pod);
    const message = await terminationMessage({
      outputPath: paths.output(name, restart),
      logPath: paths.log(name, restart),
      policy: terminationMessagePolicy,
      failed: state.outcome.kind !== "exited" || state.outcome.code !== 0,
    });
    memory.messages.set(id, message);
  }

  async #startAll(
    key: string,
    pod: Stored<PodObject>,
    start: readonly Execution[],
    blocked: Map<string, Waiting>,
    memory: PodMemory,
  ): Promise<void> {
    if (start.length === 0) return;
    const { workspace, waits } = this.#parts;
    const sources = await workspace.readSources(pod);
    const broken = memory.volumesMade ? undefined : await workspace.prepareVolumes(pod, sources);
    memory.volumesMade = broken === undefined;
    for (const execution of start) {
      const reason = broken ?? (await this.#startOne(pod, execution, sources));
      if (reason !== undefined) blocked.set(execution.view.container.name, reason);
    }
    if (blocked.size === 0) return waits.done(key);
    waits.wait(key, requestFor(pod), sourcesOf(pod.spec));
  }

  async #startOne(pod: Stored<PodObject>, execution: Execution, sources: Sources): Promise<Waiting | undefined> {
    const { workspace, runtime } = this.#parts;
    const traits = await this.#runtimeTraits();
    const task = await workspace.prepare(pod, execution, sources, traits.mounts.supported);
    if (!task.ok) return task.error;
    const isNew = runtime.find(task.value.id) === undefined;
    await runtime.start(task.value);
    if (isNew) this.#parts.notes.started(pod, execution.view.container, task.value, traits);
    return undefined;
  }

  async #stopAll(pod: Stored<PodObject>, plan: PodPlan, memory: PodMemory): Promise<void> {
    for (const { view, grace } of plan.stop) {
      if (view.current.kind !== "running") continue;
      const { taskId: id } = view.current;
      const until = this.#parts.clock.now() + grace;
      const asked = memory.stopUntil.get(id);
      // The time left shrinks by itself; only a shorter one is news.
      if (asked !== undefined && until >= asked - 100) continue;
      memory.stopUntil.set(id, until);
      if (asked === undefined) this.#parts.notes.stopping(pod, view.container.name);
      const { mounts } = await this.#runtimeTraits();
      await this.#parts.stopper.stop(pod, view, id, grace, mounts.supported);
    }
  }

  /** Writes the status, at once when it is decisive, else when it has been behind for a while. */
  async #report(
    pod: Stored<PodObject>,
    views: readonly ContainerView[],
    plan: PodPlan,
    memory: PodMemory,
  ): Promise<ReconcileResult | undefined> {
    const { runtime, node, client, clock } = this.#parts;
    const now = clock.now();
    const { acceptedAt } = memory;
    const status = podStatus({ pod, views, plan, runtimeName: runtime.name, address: node.address, acceptedAt, now });
    const isOver = status.phase === "Succeeded" || status.phase === "Failed";
    if (jsonEquals(status, pod.status)) {
      memory.behindSince = undefined;
    } else {
      memory.behindSince ??= now;
      const wait = memory.behindSince + coalesce - now;
      if (wait > 0 && !isDecisive(status)) return { requeueAfter: wait };
      const written = await patchStatus<PodObject>(client, Pod, pod, status);
      memory.behindSince = undefined;
      await this.#trim(written, views, memory);
      if (isOver) return this.#settle(written, memory);
    }
    return plan.wakeAt === undefined ? undefined : { requeueAfter: Math.max(1, plan.wakeAt - now) };
  }

  /** Executions before the last one are in nobody's status any more. */
  async #trim(pod: Stored<PodObject>, views: readonly ContainerView[], memory: PodMemory): Promise<void> {
    const old = views
      .filter(({ restart }) => restart >= 2)
      .map(({ container, restart }) => taskId(pod.metadata.uid, container.name, restart - 2))
      .filter((id) => this.#parts.runtime.find(id) !== undefined);
    if (old.length === 0) return;
    await this.#parts.runtime.remove(old);
    for (const id of old) memory.messages.delete(id);
  }

  async #settle(pod: Stored<PodObject>, memory: PodMemory): Promise<undefined> {
    if (!memory.settled) await this.#parts.cleaner.settle(pod);
    memory.settled = true;
    return this.#removeIfDeleted(pod);
  }

  /** A terminating pod whose containers have ended can go. */
  async #removeIfDeleted(pod: Stored<PodObject>): Promise<undefined> {
    const { deletionTimestamp, deletionGracePeriodSeconds, uid } = pod.metadata;
    if (deletionTimestamp === undefined || deletionGracePeriodSeconds === 0) return;
    try {
      await this.#parts.client.delete(refTo(Pod, pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (thrown) {
      // Somebody else was faster.
      if (!isNotFound(thrown) && !isConflict(thrown)) throw thrown;
    }
  }

  /** Pods of this name that are gone. */
  async #forgetOthers(key: string, present: string | undefined): Promise<void> {
    for (const [uid, { logs }] of this.#memories.others(key, present)) {
      await this.#parts.cleaner.forget(uid, logs);
      this.#memories.forget(key, uid);
      this.#parts.waits.done(key);
    }
  }
}

const refusalText = ({ refusals }: Support, runtime: string): string | undefined =>
  refusals.length === 0 ? undefined : `the ${runtime} runtime cannot do what the pod asks for: ${refusals.join("; ")}`;

const undecided = new Set(["ContainerCreating", "PodInitializing"]);

/** Worth a write of its own: an end, or a reason for waiting that people must see. */
const isDecisive = (status: PodStatus): boolean =>
  status.phase === "Succeeded" ||
  status.phase === "Failed" ||
  [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].some(
    ({ state }) => state.waiting !== undefined && !undecided.has(state.waiting.reason),
  );
