import { messageOf, type Millis, retry } from "#lib/base/index.ts";
import { controllerFor, type Manager, requestChannel, requestFor } from "#kernel/kit/index.ts";
import type { ArtifactStore } from "#kernel/artifacts/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import type { Runtime, PodSessions } from "#kernel/runtimes/index.ts";
import { isFinished, type PodObject } from "../pod-types.ts";
import { AccountTokens, type IssueToken } from "./account-tokens.ts";
import { ProcessReach, reachInto } from "./container-reach.ts";
import { ContainerStopper } from "./container-stopper.ts";
import { PodArtifacts } from "./pod-artifacts.ts";
import { PodCleaner } from "./pod-cleaner.ts";
import type { Node } from "./pod-fields.ts";
import { HealthKeeper } from "./health-keeper.ts";
import { Hooks } from "./hooks.ts";
import { ImageKeeper } from "./image-keeper.ts";
import { countPods } from "./pod-metrics.ts";
import { PodNotes } from "./pod-notes.ts";
import { uidOfTask } from "./pod-paths.ts";
import { PodRunner } from "./pod-runner.ts";
import { createPodSessions } from "./pod-sessions.ts";
import { ServiceNames } from "./service-names.ts";
import { SourceWaits } from "./source-waits.ts";
import { VolumeFollower } from "./volume-follower.ts";
import { type ServerPlace, Workspace } from "./workspace.ts";

export interface PodRunnerOptions {
  /** Not closed by the pod runner: its tasks may outlive it. */
  readonly runtime: Runtime;
  /** Volumes and logs of pods. Kept between starts, and used by one process at a time. */
  readonly directory: string;
  readonly volumes: string;
  readonly node: Node;
  /** PATH, HOME, LANG and the like, never the server's whole environment. The pod's own variables win. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where containers without a workingDir run; default: a directory of the pod's own. */
  readonly workingDirectory?: string;
  readonly isRoot: boolean;
  /** Privileged containers are root on this machine; default: refused. */
  readonly allowPrivileged?: boolean;
  /** Without it, a pod that mounts an account token waits for ever. */
  readonly issueToken?: IssueToken;
  /** Where containers reach the API server. `via`: this machine's address for them, if not all. May reject. */
  readonly serverFor?: (via: string | undefined) => Promise<ServerPlace | undefined>;
  readonly artifacts: ArtifactStore;
  /** How long logs are kept after their pod is gone; default: 10 minutes. */
  readonly logRetention?: Millis;
}

const defaultLogRetention: Millis = 600_000;
const byUid = "uid";

/**
 * Adds a pod runner for one node. At the start, tasks of an earlier process are adopted or removed; at the stop,
 * containers keep running. At most 64 pods are reconciled at a time. Returns the sessions of its containers.
 */
export function addPodRunner(manager: Manager, options: PodRunnerOptions): PodSessions {
  const { client, clock, informers } = manager;
  const { runtime, directory, node } = options;
  const log = manager.log.with({ controller: "pod-runner" });
  const pods = manager.mirror<PodObject>(Pod);
  pods.addIndex(byUid, ({ metadata }) => [metadata.uid ?? ""]);
  const events = manager.recorder({ controller: "slipway.dev/pod-runner", instance: node.name });
  const logRetention = options.logRetention ?? defaultLogRetention;
  const cleaner = new PodCleaner({ runtime, directory, clock, log, logRetention });
  const channel = requestChannel();
  const waits = new SourceWaits(informers, (request) => channel.send(request));
  const workspace = new Workspace({ client, clock, ...options });
  const notes = new PodNotes(events);
  const wake = (pod: Stored<PodObject>) => channel.send(requestFor(pod));
  const { containers: host } = runtime;
  const reach =
    host === undefined
      ? new ProcessReach({ runtime, workspace, directory, nodeAddress: node.address, clock })
      : reachInto(host, node.address);
  const hooks = new Hooks({ reach, clock, notes });
  const images = host && new ImageKeeper({ host, client, notes, clock, wake });
  const health = new HealthKeeper({ reach, hooks, notes, clock, log, wake });
  const names = new ServiceNames(informers, pods, (uid, all) => {
    if (host === undefined) return;
    void host
      .rename(uid, all)
      .catch((thrown: unknown) => log.warn("names of a pod cannot be changed", { error: messageOf(thrown) }));
  });
  if (host !== undefined) manager.add({ name: "service-names", run: () => names.start() });
  const stopper = new ContainerStopper({ runtime, hooks, clock, log });
  const tokens = new AccountTokens({
    issue: options.issueToken ?? (() => Promise.reject(new Error("this server issues no tokens of accounts"))),
    clock,
    log,
    rewrite: (pod, tokenOf) => workspace.rewriteTokens(pod, tokenOf),
  });
  const volumes = new VolumeFollower({
    informers,
    pods,
    clock,
    log,
    refresh: (pod) => workspace.refreshVolumes(pod),
    tell: (pod, problems) => notes.notRefreshed(pod, problems),
  });
  const parts = {
    client,
    pods,
    runtime,
    notes,
    stopper,
    workspace,
    artifacts: new PodArtifacts(options.artifacts, client, directory),
    cleaner,
    waits,
    health,
    tokens,
    volumes,
    ...(options.serverFor === undefined ? {} : { serverFor: options.serverFor }),
    ...(host && images ? { containers: { host, images, namesOf: names.of } } : {}),
    node,
    directory,
    clock,
    log,
  };
  const runner = new PodRunner({
    ...parts,
    isRoot: options.isRoot,
    allowPrivileged: options.allowPrivileged === true,
  });
  const unsubscribe = runtime.subscribe(({ id }) => {
    for (const pod of pods.byIndex(byUid, uidOfTask(id))) channel.send(requestFor(pod));
  });
  controllerFor(manager, "pod-runner")
    .for<PodObject>(Pod, {
      predicates: [({ old, object }) => old === undefined || old === object || isNews(old, object)],
      isOwed: (pod) => !isFinished(pod),
    })
    .watchesChannel(channel)
    .with({ maxConcurrent: 64 })
    .complete(runner);
  // A runtime that does not answer must not end a server whose objects people may want to read or delete.
  const warn = (thrown: unknown): boolean => {
    log.warn("leftovers of earlier Pods cannot be looked for yet, trying again", { error: messageOf(thrown) });
    return true;
  };
  manager.add({
    name: "pod-orphans",
    run: (signals) =>
      retry({ clock, first: 5_000, factor: 1, signal: signals.stop, isRetryable: warn }, () =>
        cleaner.forgetStrangers((uid) => pods.byIndex(byUid, uid).length > 0),
      ).catch((thrown: unknown) => {
        if (!signals.stop.aborted) throw thrown;
      }),
  });
  const uncount = countPods(manager.metrics, pods, clock);
  manager.onStopped(() => {
    uncount();
    unsubscribe();
    cleaner.close();
    waits.close();
    names.close();
    images?.close();
    health.close();
    tokens.close();
    volumes.close();
  });
  return createPodSessions({ runtime, reach, directory });
}

/** Changes other than this runner's own writes of the status. */
const isNews = (old: PodObject, object: PodObject): boolean =>
  old.metadata.deletionTimestamp !== object.metadata.deletionTimestamp ||
  old.metadata.deletionGracePeriodSeconds !== object.metadata.deletionGracePeriodSeconds ||
  old.spec.activeDeadlineSeconds !== object.spec.activeDeadlineSeconds ||
  (old.spec.nodeName !== object.spec.nodeName && object.spec.nodeName === undefined) ||
  old.metadata.uid !== object.metadata.uid;
