import { rm } from "node:fs/promises";
import {
  type Clock,
  codeOf,
  err,
  type Instant,
  jsonEquals,
  type Logger,
  messageOf,
  type Millis,
  ok,
  type Result,
} from "#lib/base/index.ts";
import {
  type ApiClient,
  ensureDeleted,
  getOrUndefined,
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
import { keyOf, PersistentVolumeClaim, Pod, type Stored } from "#kernel/model/index.ts";
import { removeLog } from "#kernel/streams/index.ts";
import {
  type ContainerHost,
  type Runtime,
  type Task,
  type TaskStatus,
  unmaskedWord,
  withoutMasked,
} from "#kernel/runtimes/index.ts";
import { claimNames, type ClaimObject, claimProblem } from "../claims/claim.ts";
import {
  type Container,
  isFinished,
  type PodObject,
  type PodStatus,
  allContainers,
  allStatuses,
} from "../pod-types.ts";
import type { AccountTokens } from "./account-tokens.ts";
import { claimsOf, type Sources, sourcesOf } from "./config-sources.ts";
import { rootRefusal, sandboxOf } from "./container-setup.ts";
import type { ContainerStopper } from "./container-stopper.ts";
import { type ContainerView, isSidecar, viewContainers } from "./container-view.ts";
import type { HealthKeeper } from "./health-keeper.ts";
import type { ImageKeeper } from "./image-keeper.ts";
import { calmAfter, type Execution, type Obstacles, planPod, type PodPlan, type Waiting } from "./plan-pod.ts";
import type { PodArtifacts } from "./pod-artifacts.ts";
import type { PodCleaner } from "./pod-cleaner.ts";
import { fitsNode } from "./node-fit.ts";
import type { Node } from "./pod-fields.ts";
import { PodMemories, type PodMemory } from "./pod-memory.ts";
import type { PodNotes } from "./pod-notes.ts";
import { podPaths, taskId } from "./pod-paths.ts";
import { processAddress } from "./process-address.ts";
import { type ContainerFacts, podStatus } from "./pod-status.ts";
import type { SourceWaits } from "./source-waits.ts";
import { type RuntimeTraits, type Support, supportFor } from "./support.ts";
import { longestOutputs, terminationMessage } from "./termination-message.ts";
import type { VolumeFollower } from "./volume-follower.ts";
import { diskFull, type ServerPlace, type Surroundings, type Workspace } from "./workspace.ts";

// A pass over a pod: forget others of its name, bind, look, plan, start (then look and plan again), record events,
// stop, write the status. It may be interrupted anywhere: task ids contain the pod's uid, so that the next pass finds
// what was done.

export interface PodRunnerParts {
  readonly client: ApiClient;
  readonly pods: Informer<PodObject>;
  readonly runtime: Runtime;
  readonly notes: PodNotes;
  readonly stopper: ContainerStopper;
  readonly workspace: Workspace;
  readonly artifacts: PodArtifacts;
  readonly cleaner: PodCleaner;
  readonly waits: SourceWaits;
  readonly health: HealthKeeper;
  readonly tokens: AccountTokens;
  readonly volumes: VolumeFollower;
  readonly serverFor?: (via: string | undefined) => Promise<ServerPlace | undefined>;
  /** Present if tasks are containers. */
  readonly containers?: ContainerParts;
  readonly node: Node;
  readonly directory: string;
  readonly isRoot: boolean;
  readonly allowPrivileged: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ContainerParts {
  readonly host: ContainerHost;
  readonly images: ImageKeeper;
  /** Names of a pod besides its own. */
  readonly namesOf: (pod: PodObject) => readonly string[];
}

/** How long an unimportant status change waits for others: a short pod costs one status write. */
const coalesce: Millis = 250;

/** Nothing reports when the host becomes able. */
const untold = new Set(["CreateContainerError", "ErrImageNeverPull"]);
const hostRetry: Millis = 30_000;

/** Runs the pods of one node on a runtime, as a kubelet does. Passes of different pods run side by side. */
export class PodRunner implements Reconciler {
  readonly #parts: PodRunnerParts;
  readonly #memories: PodMemories;
  #traits: RuntimeTraits | undefined;

  constructor(parts: PodRunnerParts) {
    this.#parts = parts;
    this.#memories = new PodMemories(parts.directory);
  }

  /** Rejects if the API or the runtime fails, and is then repeated with backoff; what was done stays done. */
  async reconcile(request: ReconcileRequest, context: ReconcileContext): Promise<ReconcileResult | undefined> {
    const key = requestKey(request);
    // Before the runtime is attached its tasks are unknown, and nothing may be started.
    await this.#attached(key, context.now);
    const pod = this.#parts.pods.get(key);
    await this.#forgetOthers(key, pod?.metadata.uid);
    if (pod === undefined) return undefined;
    if (!this.#isOurs(pod)) return undefined;
    const memory = this.#memories.of(key, pod, context.now);
    if (isFinished(pod)) {
      return this.#settle(pod, memory);
    }
    const misfit = await this.#misfit(pod);
    if (misfit !== undefined) return this.#leaveUnscheduled(pod, misfit, context.now);
    return this.#sync(key, pod, memory, context);
  }

  /** A pod that waits for an unavailable runtime says so in an event. */
  async #attached(key: string, now: Instant): Promise<void> {
    try {
      await this.#parts.runtime.list(this.#parts.pods.get(key)?.metadata.uid ?? "");
    } catch (thrown) {
      const pod = this.#parts.pods.get(key);
      if (pod !== undefined && this.#isOurs(pod) && !isFinished(pod)) {
        const { told } = this.#memories.of(key, pod, now);
        this.#parts.notes.runtimeFailed(pod, messageOf(thrown), told);
      }
      throw thrown;
    }
  }

  #isOurs({ spec: { nodeName } }: PodObject): boolean {
    return nodeName === undefined || nodeName === this.#parts.node.name;
  }

  /** Why the pod cannot be bound to this node, in the scheduler's words; pods that are bound fit. */
  async #misfit(pod: Stored<PodObject>): Promise<string | undefined> {
    const { node, client, waits } = this.#parts;
    if (pod.spec.nodeName !== undefined) return undefined;
    if (!fitsNode(pod.spec, node)) return "1 node(s) didn't match Pod's node affinity/selector";
    const { namespace = "" } = pod.metadata;
    for (const name of claimNames(pod.spec)) {
      const claim = await getOrUndefined<ClaimObject>(client, { type: PersistentVolumeClaim, namespace, name });
      const problem = claimProblem(name, claim);
      if (problem === undefined) continue;
      waits.wait(keyOf(pod.metadata), requestFor(pod), claimsOf(pod.spec));
      return problem;
    }
    return undefined;
  }

  /** Once for each reason. */
  async #leaveUnscheduled(pod: Stored<PodObject>, misfit: string, now: Instant): Promise<undefined> {
    const message = `0/1 nodes are available: ${misfit}`;
    const present = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (present?.message === message) return;
    this.#parts.notes.unschedulable(pod, message);
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message } as const;
    const conditions = withCondition(pod.status?.conditions ?? [], condition, now);
    await patchStatus(this.#parts.client, Pod, pod, { ...pod.status, conditions });
  }

  /** The status is written even if a container could not be started. */
  async #sync(
    key: string,
    given: Stored<PodObject>,
    memory: PodMemory,
    { now, signal }: ReconcileContext,
  ): Promise<ReconcileResult | undefined> {
    const bound = this.#bind(given);
    // Awaited below.
    bound.catch(() => undefined);
    // Only a bound pod protects its claims from removal.
    if (claimNames(given.spec).length > 0) await bound;
    const traits = await this.#runtimeTraits();
    const support = (memory.support ??= supportFor(given, traits));
    const refusal = refusalText(support, this.#parts.runtime.name);
    const { acceptedAt, calmSince } = memory;
    const facts = { acceptedAt, calmSince, blocked: new Map<string, Waiting>() };
    let views = await this.#look(given, memory, now);
    const obstacles = () => ({
      ...facts,
      ...(refusal === undefined ? {} : { refused: refusal }),
      ...(memory.evicted === undefined ? {} : { evicted: memory.evicted }),
      ...(memory.lacking === undefined ? {} : { lacking: memory.lacking }),
      ...this.#healthOf(views),
    });
    let plan = planPod(given, views, obstacles(), now);
    const failure = await this.#startAll(key, given, plan.start, facts.blocked, memory, signal).catch(
      (thrown: unknown) => thrown,
    );
    const pod = await bound;
    signal.throwIfAborted();
    if (plan.start.length > 0) {
      views = await this.#look(pod, memory, this.#parts.clock.now());
      this.#heedHost(pod, facts.blocked, memory);
      plan = planPod(pod, views, obstacles(), this.#parts.clock.now());
    }
    this.#parts.notes.findings(pod, plan, support, traits, memory.told);
    await this.#stopAll(pod, plan, memory);
    const settled = plan.phase === "Succeeded" ? await this.#leaveArtifacts(key, pod, signal) : pod;
    const result = await this.#report(settled, views, plan, memory);
    if (failure !== undefined) {
      this.#parts.notes.runtimeFailed(pod, messageOf(failure), memory.told);
      throw failure;
    }
    const isHostBlocked = [...facts.blocked.values()].some(({ reason }) => untold.has(reason));
    return isHostBlocked ? { requeueAfter: Math.min(hostRetry, result?.requeueAfter ?? hostRetry) } : result;
  }

  /** Logs what the machine lacks, and evicts a pod for which the disk is full. */
  #heedHost({ metadata }: Stored<PodObject>, blocked: ReadonlyMap<string, Waiting>, memory: PodMemory): void {
    for (const [container, { reason, message = "" }] of blocked) {
      if (reason !== diskFull && reason !== "CreateContainerError") continue;
      if (reason === diskFull) memory.evicted ??= `the disk is full: ${message}`;
      const told = `${container}: ${message}`;
      if (memory.told.has(told)) continue;
      memory.told.add(told);
      const { namespace, name } = metadata;
      this.#parts.log.error("a container cannot be created", {
        pod: `${namespace}/${name}`,
        container,
        error: message,
      });
    }
  }

  /** Runs while the first container starts: only the runtime's journal must not be lost. */
  async #bind(pod: Stored<PodObject>): Promise<Stored<PodObject>> {
    if (pod.spec.nodeName !== undefined || pod.metadata.deletionTimestamp !== undefined) return pod;
    const { client, node } = this.#parts;
    const body = { metadata: { uid: pod.metadata.uid }, spec: { nodeName: node.name } };
    const bound = await client.patch<PodObject>(refTo(Pod, pod), { type: "merge", body });
    this.#parts.notes.scheduled(pod, node.name);
    return bound;
  }

  /** Looking for mount tools takes time that an idle server need not spend. */
  async #runtimeTraits(): Promise<RuntimeTraits> {
    const { runtime, isRoot, allowPrivileged } = this.#parts;
    this.#traits ??= { ...(await runtime.capabilities()), name: runtime.name, isRoot, allowPrivileged };
    return this.#traits;
  }

  async #look(pod: Stored<PodObject>, memory: PodMemory, now: Instant): Promise<readonly ContainerView[]> {
    const { runtime } = this.#parts;
    await this.#readMessages(pod, memory);
    const find = (id: string) => runtime.find(id);
    const facts = { runtimeName: runtime.name, find, messageOf: (id: string) => memory.messages.get(id) };
    const views = viewContainers(pod, facts, now);
    for (const { current, container, restart } of views) {
      if (current.kind === "ended" && current.ranFor >= calmAfter) memory.calmSince.set(container.name, restart + 1);
    }
    this.#watchHealth(pod, views);
    return views;
  }

  #watchHealth(pod: Stored<PodObject>, views: readonly ContainerView[]): void {
    const { health, tokens, volumes } = this.#parts;
    if (views.some(({ current }) => current.kind === "running")) {
      tokens.adopt(pod);
      volumes.follow(pod);
    }
    for (const view of views) {
      if (view.current.kind !== "running" || !isWatched(view)) continue;
      health.watch(pod, view.container, view.current.taskId, view.current.startedAt, false);
    }
    health.keep(pod.metadata.uid, views);
  }

  #healthOf(views: readonly ContainerView[]): Required<Pick<Obstacles, "starting" | "unhealthy">> {
    const known = views.flatMap(({ current, container: { name } }) =>
      current.kind === "running" ? [{ name, ...this.#parts.health.healthOf(current.taskId) }] : [],
    );
    return {
      starting: new Set(known.flatMap(({ name, started }) => (started ? [] : [name]))),
      unhealthy: new Map(known.flatMap(({ name, verdict }) => (verdict === undefined ? [] : [[name, verdict]]))),
    };
  }

  async #readMessages(pod: Stored<PodObject>, memory: PodMemory): Promise<void> {
    const statuses = allStatuses(pod.status);
    for (const container of allContainers(pod.spec)) {
      const stored = statuses.find(({ name }) => name === container.name)?.restartCount ?? 0;
      for (let restart = Math.max(0, stored - 1); ; restart++) {
        const status = this.#parts.runtime.find(taskId(pod.metadata.uid ?? "", container.name, restart));
        if (status !== undefined) await this.#readMessage(pod, container, restart, status, memory);
        else if (restart >= stored) break;
      }
    }
  }

  /** Once per execution and process, so that lost output is reported here. */
  async #readMessage(
    pod: Stored<PodObject>,
    container: Container,
    restart: number,
    { id, state }: TaskStatus,
    memory: PodMemory,
  ): Promise<void> {
    if (state.phase !== "ended" || memory.messages.has(id)) return;
    const { name, terminationMessagePolicy } = container;
    const paths = podPaths(this.#parts.directory, pod);
    const message = await terminationMessage({
      outputPath: paths.output(name, restart),
      logPath: paths.log(name, restart),
      policy: terminationMessagePolicy,
      maxBytes: longestOutputs(pod, container),
      failed: state.outcome.kind !== "exited" || state.outcome.code !== 0,
    });
    memory.messages.set(id, message);
    if (state.outcome.kind !== "exited" || state.outcome.note === undefined) return;
    this.#parts.notes.incomplete(pod, name, state.outcome.note);
    const { namespace, name: podName } = pod.metadata;
    const fields = { pod: `${namespace}/${podName}`, container: name, error: state.outcome.note };
    this.#parts.log.error("output of a container was lost", fields);
  }

  /** Starts containers in order, after making volumes; reads sources each time. `blocked`: those that cannot start. */
  async #startAll(
    key: string,
    pod: Stored<PodObject>,
    start: readonly Execution[],
    blocked: Map<string, Waiting>,
    memory: PodMemory,
    signal: AbortSignal,
  ): Promise<void> {
    if (start.length === 0) return;
    const { workspace, waits } = this.#parts;
    const sources = await workspace.readSources(pod);
    for (const execution of start) {
      const reason = await this.#startOne(pod, execution, sources, memory, signal);
      if (reason !== undefined) blocked.set(execution.view.container.name, reason);
    }
    if (blocked.size === 0) return waits.done(key);
    waits.wait(key, requestFor(pod), [...sourcesOf(pod.spec), ...claimsOf(pod.spec)]);
  }

  /** Resolves with the reason if this container cannot be started; rejects if the runtime fails. */
  async #startOne(
    pod: Stored<PodObject>,
    execution: Execution,
    sources: Sources,
    memory: PodMemory,
    signal: AbortSignal,
  ): Promise<Waiting | undefined> {
    const { workspace, runtime, tokens } = this.#parts;
    const traits = await this.#runtimeTraits();
    const made = await this.#makeContainerReady(pod, execution);
    if (!made.ok) return made.error;
    const broken = memory.volumesMade
      ? undefined
      : await workspace.prepareVolumes(pod, sources, await tokens.issueFor(pod), made.value.address);
    memory.volumesMade = broken === undefined;
    if (broken !== undefined) return broken;
    const lacking = memory.artifactsMade ? undefined : await this.#takeArtifacts(pod, memory, signal);
    if (lacking !== undefined) return lacking;
    const canMount = traits.mounts.supported;
    const { container } = execution.view;
    const task = await workspace.prepare(pod, container, execution.restart, sources, canMount, made.value);
    if (!task.ok) return task.error;
    const isNew = runtime.find(task.value.id) === undefined;
    try {
      const { state } = await runtime.start(task.value);
      if (state.phase === "running" && isWatched(execution.view)) {
        this.#parts.health.watch(pod, container, task.value.id, state.startedAt, isNew);
      }
    } catch (thrown) {
      const refusal = containerRefusal(thrown, task.value);
      if (refusal !== undefined) return refusal;
      throw thrown;
    }
    if (isNew) this.#parts.notes.started(pod, container, traits);
    return undefined;
  }

  /** May take long, and a deletion must not wait for it. */
  #leaveArtifacts(key: string, pod: Stored<PodObject>, signal: AbortSignal): Promise<Stored<PodObject>> {
    const { artifacts, pods } = this.#parts;
    const isWanted = (): boolean => {
      const now = pods.get(key);
      return now?.metadata.uid === pod.metadata.uid && now.metadata.deletionTimestamp === undefined;
    };
    return artifacts.collect(pod, signal, isWanted);
  }

  /** Missing artifacts fail the pod. */
  async #takeArtifacts(pod: Stored<PodObject>, memory: PodMemory, signal: AbortSignal): Promise<Waiting | undefined> {
    const taken = await this.#parts.artifacts.prepare(pod, signal);
    memory.artifactsMade = taken.ok;
    if (taken.ok) return undefined;
    if (taken.error.reason === diskFull) return taken.error;
    memory.lacking = taken.error;
    return { reason: "CreateContainerError", message: taken.error.message };
  }

  /** The image, then the pod's sandbox. Nothing is needed if tasks are processes. */
  async #makeContainerReady(
    pod: Stored<PodObject>,
    { view: { container }, restart }: Execution,
  ): Promise<Result<Surroundings, Waiting>> {
    const { containers } = this.#parts;
    if (containers === undefined)
      return ok({ address: processAddress(pod, this.#parts.node.address), ...(await this.#serverFor(pod, undefined)) });
    const image = await containers.images.find(pod, container, taskId(pod.metadata.uid, container.name, restart));
    if (!image.ok) return image;
    const isRoot = rootRefusal(pod, container, image.value);
    if (isRoot !== undefined) return err({ reason: "CreateContainerConfigError", message: isRoot });
    try {
      const address = await containers.host.openSandbox(sandboxOf(pod, containers.namesOf(pod)));
      const server = await this.#serverFor(pod, address === undefined ? undefined : containers.host.hostAddress);
      return ok({ image: image.value, ...(address === undefined ? {} : { address }), ...server });
    } catch (thrown) {
      const refusal = containerRefusal(thrown);
      if (refusal !== undefined) return err(refusal);
      throw thrown;
    }
  }

  async #serverFor(pod: Stored<PodObject>, via: string | undefined): Promise<Pick<Surroundings, "server">> {
    try {
      const server = await this.#parts.serverFor?.(via);
      return server === undefined ? {} : { server };
    } catch (thrown) {
      const { told } = this.#memories.of(keyOf(pod.metadata), pod, this.#parts.clock.now());
      this.#parts.notes.serverOutOfReach(pod, messageOf(thrown), told);
      return {};
    }
  }

  async #stopAll(pod: Stored<PodObject>, plan: PodPlan, memory: PodMemory): Promise<void> {
    for (const { view, grace, why } of plan.stop) {
      if (view.current.kind !== "running") continue;
      const { taskId: id } = view.current;
      const until = this.#parts.clock.now() + grace;
      const asked = memory.stopUntil.get(id);
      // The time left shrinks by itself; only a shorter grace is news.
      if (asked !== undefined && until >= asked - 100) continue;
      await this.#parts.stopper.stop(pod, view, id, grace);
      // Only after success, so that the next pass tries again otherwise.
      memory.stopUntil.set(id, until);
      if (asked === undefined) this.#parts.notes.stopping(pod, view.container.name, why);
    }
  }

  async #report(
    pod: Stored<PodObject>,
    views: readonly ContainerView[],
    plan: PodPlan,
    memory: PodMemory,
  ): Promise<ReconcileResult | undefined> {
    const { runtime, node, client, clock } = this.#parts;
    const now = clock.now();
    const { acceptedAt } = memory;
    const status = podStatus({
      pod,
      views,
      plan,
      runtimeName: runtime.name,
      address: node.address,
      acceptedAt,
      now,
      healthOf: (task) => this.#parts.health.healthOf(task),
      ...this.#containerFacts(pod),
    });
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

  #containerFacts(pod: Stored<PodObject>): { readonly containers?: ContainerFacts } {
    const { containers, node } = this.#parts;
    if (containers === undefined) return {};
    const { uid } = pod.metadata;
    const own = pod.spec.hostNetwork === true ? node.address : containers.host.addressOf(uid);
    return {
      containers: {
        podAddress: own ?? pod.status?.podIP,
        imageIdOf: (container) => containers.images.digestOf(uid, container),
      },
    };
  }

  /** Executions before the previous one are removed: a container that crashes for weeks must not fill the disk. */
  async #trim(pod: Stored<PodObject>, views: readonly ContainerView[], memory: PodMemory): Promise<void> {
    const paths = podPaths(this.#parts.directory, pod);
    const old = new Map<string, { readonly log: string; readonly output: string }>();
    for (const { container, restart } of views) {
      const id = taskId(pod.metadata.uid, container.name, restart - 2);
      if (restart < 2 || this.#parts.runtime.find(id) === undefined) continue;
      old.set(id, { log: paths.log(container.name, restart - 2), output: paths.output(container.name, restart - 2) });
    }
    if (old.size === 0) return;
    // Files first: a task that is still known is trimmed again by the next pass.
    for (const { log, output } of old.values()) {
      const files = [output, unmaskedWord(output)].map((file) => rm(file, { force: true }));
      await Promise.all([removeLog(log), ...files]);
    }
    await this.#parts.runtime.remove([...old.keys()]);
    for (const id of old.keys()) memory.messages.delete(id);
  }

  async #settle(pod: Stored<PodObject>, memory: PodMemory): Promise<undefined> {
    this.#parts.tokens.forget(pod.metadata.uid);
    this.#parts.volumes.forget(pod.metadata.uid);
    if (!memory.settled) await this.#parts.cleaner.settle(pod);
    memory.settled = true;
    return this.#removeIfDeleted(pod);
  }

  async #removeIfDeleted(pod: Stored<PodObject>): Promise<undefined> {
    const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
    if (deletionTimestamp === undefined || deletionGracePeriodSeconds === 0) return;
    await ensureDeleted(this.#parts.client, Pod, pod, { gracePeriodSeconds: 0 });
  }

  async #forgetOthers(key: string, present: string | undefined): Promise<void> {
    for (const [uid, { logs }] of this.#memories.others(key, present)) {
      this.#parts.tokens.forget(uid);
      this.#parts.volumes.forget(uid);
      await this.#parts.cleaner.forget(uid, logs);
      this.#parts.health.keep(uid, []);
      this.#parts.containers?.images.forget(uid);
      this.#memories.forget(key, uid);
      this.#parts.waits.done(key);
    }
  }
}

const isWatched = (view: ContainerView): boolean => !view.isInit || isSidecar(view);

const refusalText = ({ refusals }: Support, runtime: string): string | undefined =>
  refusals.length === 0 ? undefined : `the ${runtime} runtime cannot do what the pod asks for: ${refusals.join("; ")}`;

/** The engine refused this container; it may accept it later. */
const containerRefusal = (thrown: unknown, task?: Task): Waiting | undefined =>
  codeOf(thrown) === "engine-refusal"
    ? { reason: "CreateContainerError", message: withoutMasked(task ?? { env: {} }, messageOf(thrown)) }
    : undefined;

const undecided = new Set(["ContainerCreating", "PodInitializing"]);

/** An end, or a reason for waiting that people must see. */
const isDecisive = (status: PodStatus): boolean =>
  status.phase === "Succeeded" ||
  status.phase === "Failed" ||
  allStatuses(status).some(({ state }) => state.waiting !== undefined && !undecided.has(state.waiting.reason));
