import { type Clock, type Instant, jsonEquals, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  type EventRecorder,
  type Informer,
  patchStatus,
  type ReconcileContext,
  type ReconcileRequest,
  type ReconcileResult,
  type Reconciler,
  refTo,
  regardingOf,
  requestFor,
  requestKey,
} from "#kernel/kit/index.ts";
import { isConflict, isNotFound, Pod, type Stored } from "#kernel/model/index.ts";
import { hasEnded, type Runtime, type Task, type TaskStatus } from "#kernel/runtimes/index.ts";
import { type Container, isFinished, type PodObject, type PodStatus } from "../pod-types.ts";
import { type Sources, sourcesOf } from "./config-sources.ts";
import { type ContainerView, viewContainers } from "./container-view.ts";
import { calmAfter, type Execution, planPod, type PodPlan, type Waiting } from "./plan-pod.ts";
import type { PodCleaner } from "./pod-cleaner.ts";
import type { Node } from "./pod-fields.ts";
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
  readonly events: EventRecorder;
  readonly workspace: Workspace;
  readonly cleaner: PodCleaner;
  readonly waits: SourceWaits;
  readonly node: Node;
  readonly directory: string;
  readonly isRoot: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is remembered of a pod while it runs. Everything can be found again after a restart. */
interface Memory {
  readonly acceptedAt: Instant;
  readonly logs: string;
  readonly messages: Map<string, string>;
  readonly calmSince: Map<string, number>;
  readonly stopUntil: Map<string, Instant>;
  readonly told: Set<string>;
  support: Support | undefined;
  volumesMade: boolean;
  /** Since when the stored status has been behind. */
  behindSince: Instant | undefined;
}

/** A status that is not yet decisive waits this long for a better one: a short pod costs one status write. */
const coalesce: Millis = 250;

/** What the host lacks may come without anybody telling. */
const hostRetry: Millis = 30_000;

/** Runs the pods of one node on a runtime, as a kubelet does: binds them, starts and restarts containers, reports. */
export class PodRunner implements Reconciler {
  readonly #parts: PodRunnerParts;
  readonly #memories = new Map<string, Map<string, Memory>>();
  #traits: RuntimeTraits | undefined;

  constructor(parts: PodRunnerParts) {
    this.#parts = parts;
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
    const memory = this.#memoryOf(key, pod, context.now);
    if (isFinished(pod)) {
      await this.#parts.cleaner.settle(pod);
      return this.#removeIfDeleted(pod);
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
    this.#tell(pod, "Warning", "FailedScheduling", "Schedule", message);
    const lastTransitionTime = new Date(now).toISOString().replace(/\.\d+/, "");
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime };
    await patchStatus(this.#parts.client, Pod, pod, { ...pod.status, conditions: [condition] });
  }

  async #sync(
    key: string,
    given: Stored<PodObject>,
    memory: Memory,
    { now, signal }: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const bound = this.#bind(given);
    const support = (memory.support ??= supportFor(given, await this.#runtimeTraits()));
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
    this.#tellFindings(pod, plan, support, memory);
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
    const { namespace = "", name } = pod.metadata;
    this.#tell(pod, "Normal", "Scheduled", "Bind", `assigned ${namespace}/${name} to ${node.name}`);
    return bound;
  }

  async #runtimeTraits(): Promise<RuntimeTraits> {
    const { runtime, isRoot } = this.#parts;
    this.#traits ??= { ...(await runtime.capabilities()), name: runtime.name, isRoot };
    return this.#traits;
  }

  async #look(pod: PodObject, memory: Memory, now: Instant): Promise<readonly ContainerView[]> {
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
  async #readMessages(pod: PodObject, memory: Memory): Promise<void> {
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
    memory: Memory,
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
    memory: Memory,
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
    const { mounts } = await this.#runtimeTraits();
    const task = await workspace.prepare(pod, execution, sources, mounts.supported);
    if (!task.ok) return task.error;
    const isNew = runtime.find(task.value.id) === undefined;
    await runtime.start(task.value);
    if (isNew) this.#tellStarted(pod, execution, task.value);
    return undefined;
  }

  async #stopAll(pod: Stored<PodObject>, plan: PodPlan, memory: Memory): Promise<void> {
    for (const { view, grace } of plan.stop) {
      if (view.current.kind !== "running") continue;
      const { taskId: id } = view.current;
      const until = this.#parts.clock.now() + grace;
      const asked = memory.stopUntil.get(id);
      // The time left shrinks by itself; only a shorter one is news.
      if (asked !== undefined && until >= asked - 100) continue;
      memory.stopUntil.set(id, until);
      if (asked === undefined)
        this.#tell(pod, "Normal", "Killing", "Kill", `stopping container ${view.container.name}`);
      await this.#stop(pod, view, id, grace);
    }
  }

  async #stop(pod: Stored<PodObject>, view: ContainerView, id: string, grace: Millis): Promise<void> {
    const { runtime, workspace } = this.#parts;
    const command = view.container.lifecycle?.preStop?.exec?.command;
    if (command === undefined || grace <= 0) return runtime.stop(id, grace);
    // A name no container can have gives the hook files of its own.
    const container = { ...view.container, name: `${view.container.name}.prestop`, command, args: [] };
    const sources = await workspace.readSources(pod);
    const { mounts } = await this.#runtimeTraits();
    const hook = await workspace.prepare(
      pod,
      { view: { ...view, container }, restart: view.restart },
      sources,
      mounts.supported,
    );
    if (!hook.ok) return runtime.stop(id, grace);
    this.#detach(this.#runHook(hook.value, id, grace));
  }

  /** Runs the hook within the grace, then gives the container what is left of it, at least two seconds. */
  async #runHook(hook: Task, id: string, grace: Millis): Promise<void> {
    const { runtime, clock } = this.#parts;
    const begun = clock.now();
    const over = new Promise<void>((resolve) => {
      const cancelTimer = clock.after(grace, resolve);
      const cancel = runtime.subscribe((status) => {
        if (status.id !== hook.id || !hasEnded(status)) return;
        cancel();
        cancelTimer();
        resolve();
      });
    });
    const started = await runtime.start(hook);
    if (!hasEnded(started)) await over;
    await runtime.stop(hook.id, 0);
    await runtime.stop(id, Math.max(2_000, grace - (clock.now() - begun)));
  }

  /** Writes the status, at once when it is decisive, else when it has been behind for a while. */
  async #report(
    pod: Stored<PodObject>,
    views: readonly ContainerView[],
    plan: PodPlan,
    memory: Memory,
  ): Promise<ReconcileResult | undefined> {
    const { runtime, node, client, clock, cleaner } = this.#parts;
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
      await this.#trim(written, views);
      if (isOver) {
        await cleaner.settle(written);
        return this.#removeIfDeleted(written);
      }
    }
    return plan.wakeAt === undefined ? undefined : { requeueAfter: Math.max(1, plan.wakeAt - now) };
  }

  /** Executions before the last one are in nobody's status any more. */
  async #trim(pod: Stored<PodObject>, views: readonly ContainerView[]): Promise<void> {
    const old = views.flatMap(({ container, restart }) =>
      restart < 2 ? [] : [taskId(pod.metadata.uid, container.name, restart - 2)],
    );
    if (old.some((id) => this.#parts.runtime.find(id) !== undefined)) await this.#parts.runtime.remove(old);
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

  #memoryOf(key: string, pod: Stored<PodObject>, now: Instant): Memory {
    const { uid } = pod.metadata;
    const byUid = this.#memories.get(key) ?? new Map<string, Memory>();
    this.#memories.set(key, byUid);
    const memory: Memory = byUid.get(uid) ?? {
      acceptedAt: now,
      logs: podPaths(this.#parts.directory, pod).logs,
      messages: new Map(),
      calmSince: new Map(),
      stopUntil: new Map(),
      told: new Set(),
      support: undefined,
      volumesMade: false,
      behindSince: undefined,
    };
    byUid.set(uid, memory);
    return memory;
  }

  /** Pods of this name that are gone. */
  async #forgetOthers(key: string, present: string | undefined): Promise<void> {
    const byUid = this.#memories.get(key);
    if (byUid === undefined) return;
    for (const [uid, memory] of byUid) {
      if (uid === present) continue;
      await this.#parts.cleaner.forget(uid, memory.logs);
      byUid.delete(uid);
    }
    if (byUid.size === 0) {
      this.#memories.delete(key);
      this.#parts.waits.done(key);
    }
  }

  #tellStarted(pod: Stored<PodObject>, { view }: Execution, task: Task): void {
    const { name, image } = view.container;
    const { runtime } = this.#parts;
    const aside = this.#traits?.images === false ? `; image ${image ?? "(none)"} is not used` : "";
    this.#tell(pod, "Normal", "Created", "Create", `created container ${name} on the ${runtime.name} runtime${aside}`);
    this.#tell(pod, "Normal", "Started", "Start", `started container ${name}: ${task.command[0]}`);
  }

  /** Each finding is told once per pod. */
  #tellFindings(pod: Stored<PodObject>, plan: PodPlan, support: Support, memory: Memory): void {
    const once = (reason: string, action: string, note: string) => {
      if (memory.told.has(note)) return;
      memory.told.add(note);
      this.#tell(pod, "Warning", reason, action, note);
    };
    const name = this.#parts.runtime.name;
    if (support.warnings.length > 0) {
      once("NotSupported", "Start", `the ${name} runtime does not apply: ${support.warnings.join(", ")}`);
    }
    if (plan.reason !== undefined) once(plan.reason, "Start", plan.message ?? plan.reason);
    for (const [container, waiting] of plan.waiting) {
      if (waiting.reason === "ContainerCreating" || waiting.reason === "PodInitializing") continue;
      const reason = waiting.reason === "CrashLoopBackOff" ? "BackOff" : "Failed";
      once(reason, "Start", waiting.message ?? `container ${container}: ${waiting.reason}`);
    }
  }

  #tell(pod: Stored<PodObject>, type: "Normal" | "Warning", reason: string, action: string, note: string): void {
    this.#parts.events.record({ regarding: regardingOf(pod), type, reason, action, note });
  }

  #detach(work: Promise<void>): void {
    void work.catch((failure: unknown) => this.#parts.log.warn("a preStop hook failed", { error: messageOf(failure) }));
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
