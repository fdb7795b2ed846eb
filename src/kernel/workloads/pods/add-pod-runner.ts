import type { Millis } from "#lib/base/index.ts";
import { controllerFor, eventRecorder, type Manager, requestChannel, requestFor } from "#kernel/kit/index.ts";
import { Pod } from "#kernel/model/index.ts";
import type { Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { ContainerStopper } from "./container-stopper.ts";
import { PodCleaner } from "./pod-cleaner.ts";
import type { Node } from "./pod-fields.ts";
import { PodNotes } from "./pod-notes.ts";
import { uidOfTask } from "./pod-paths.ts";
import { PodRunner } from "./pod-runner.ts";
import { SourceWaits } from "./source-waits.ts";
import { Workspace } from "./workspace.ts";

export interface PodRunnerOptions {
  readonly runtime: Runtime;
  /** Where pods have their volumes and logs. */
  readonly directory: string;
  readonly node: Node;
  /** PATH, HOME, LANG and the like for every process, before the pod's own variables. Never the server's whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where containers without a workingDir run; a directory of the pod's own when absent. */
  readonly workingDirectory?: string;
  /** True when processes run as root unless told otherwise. */
  readonly isRoot: boolean;
  /** How long logs stay after their pod is gone; 10 minutes unless told. */
  readonly logRetention?: Millis;
}

const defaultLogRetention: Millis = 600_000;
const byUid = "uid";

/** Gives the manager a pod runner for one node. What an earlier process left is adopted or removed when the manager starts. */
export function addPodRunner(manager: Manager, options: PodRunnerOptions): void {
  const { client, clock, informers } = manager;
  const { runtime, directory, node } = options;
  const log = manager.log.with({ controller: "pod-runner" });
  const share = informers.acquire<PodObject>(Pod);
  share.informer.addIndex(byUid, ({ metadata }) => [metadata.uid ?? ""]);
  const events = eventRecorder({
    client,
    clock,
    log,
    controller: "slipway.dev/pod-runner",
    instance: node.name,
    schedule: manager.schedule,
  });
  const logRetention = options.logRetention ?? defaultLogRetention;
  const cleaner = new PodCleaner({ runtime, directory, clock, log, logRetention });
  const channel = requestChannel();
  const waits = new SourceWaits(informers, (request) => channel.send(request));
  const workspace = new Workspace({ client, ...options });
  const stopper = new ContainerStopper({ runtime, workspace, clock, log });
  const notes = new PodNotes(events);
  const parts = {
    client,
    pods: share.informer,
    runtime,
    notes,
    stopper,
    workspace,
    cleaner,
    waits,
    node,
    directory,
    clock,
  };
  const runner = new PodRunner({ ...parts, isRoot: options.isRoot });
  const unsubscribe = runtime.subscribe(({ id }) => {
    for (const pod of share.informer.byIndex(byUid, uidOfTask(id))) channel.send(requestFor(pod));
  });
  controllerFor(manager, "pod-runner")
    .for<PodObject>(Pod, {
      predicates: [({ old, object }) => old === undefined || old === object || isNews(old, object)],
    })
    .watchesChannel(channel)
    .with({ maxConcurrent: 64 })
    .complete(runner);
  manager.add({
    name: "pod-orphans",
    run: () => cleaner.forgetStrangers((uid) => share.informer.byIndex(byUid, uid).length > 0),
  });
  manager.onStopped(() => {
    unsubscribe();
    cleaner.close();
    waits.close();
    share.release();
    // What was recorded is written, or dropped with a note in the log; nobody need wait for it.
    void events.close();
  });
}

/** Changes that this runner did not make itself by writing a status. */
const isNews = (old: PodObject, object: PodObject): boolean =>
  old.metadata.deletionTimestamp !== object.metadata.deletionTimestamp ||
  old.metadata.deletionGracePeriodSeconds !== object.metadata.deletionGracePeriodSeconds ||
  old.spec.activeDeadlineSeconds !== object.spec.activeDeadlineSeconds ||
  (old.spec.nodeName !== object.spec.nodeName && object.spec.nodeName === undefined) ||
  old.metadata.uid !== object.metadata.uid;
