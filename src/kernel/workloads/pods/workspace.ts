import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { ConfigMap, Secret, type Stored } from "#kernel/model/index.ts";
import type { Task } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { contentsOf, sourceKey, type Sources, sourcesOf } from "./config-sources.ts";
import { containerTask } from "./container-task.ts";
import { materializeVolume, prepareTask } from "./materialize.ts";
import type { Execution, Waiting } from "./plan-pod.ts";
import type { Node } from "./pod-fields.ts";
import { podPaths } from "./pod-paths.ts";
import { userOf } from "./support.ts";
import { volumeContent } from "./volumes.ts";

export interface WorkspaceOptions {
  readonly client: ApiClient;
  /** Pods and their logs are kept under it. */
  readonly directory: string;
  readonly node: Node;
  /** What every process gets, before the pod's own variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where containers without a workingDir run; a directory of the pod's own when absent. */
  readonly workingDirectory?: string;
}

/** Turns a container that is to run into a task whose files are in place, or says why that cannot be done now. */
export class Workspace {
  readonly #options: WorkspaceOptions;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

  /** Contents of all ConfigMaps and Secrets a pod reads, as they are now; those that do not exist are absent. */
  async readSources(pod: Stored<PodObject>): Promise<Sources> {
    const { namespace = "" } = pod.metadata;
    const found = new Map<string, ReadonlyMap<string, Buffer>>();
    await Promise.all(
      sourcesOf(pod.spec).map(async (source) => {
        const type = source.kind === "Secret" ? Secret : ConfigMap;
        const object = await getOrUndefined(this.#options.client, { type, namespace, name: source.name });
        if (object !== undefined) found.set(sourceKey(source), contentsOf(object));
      }),
    );
    return found;
  }

  /** Makes what all containers of a pod share: its volumes. */
  async prepareVolumes(pod: PodObject, sources: Sources): Promise<Waiting | undefined> {
    const paths = podPaths(this.#options.directory, pod);
    const problems: string[] = [];
    for (const volume of pod.spec.volumes ?? []) {
      const content = volumeContent(volume, { pod, node: this.#options.node, sources });
      if (!content.ok) {
        problems.push(...content.error);
        continue;
      }
      try {
        await materializeVolume(content.value, paths.volume(volume.name));
      } catch (thrown) {
        problems.push(`volume ${volume.name}: ${messageOf(thrown)}`);
      }
    }
    return problems.length === 0 ? undefined : { reason: "CreateContainerConfigError", message: problems.join("; ") };
  }

  /** The task for one execution of a container. Its volumes must have been made. */
  async prepare(
    pod: PodObject,
    { view, restart }: Execution,
    sources: Sources,
    canMount: boolean,
  ): Promise<Result<Task, Waiting>> {
    const { directory, node, environment } = this.#options;
    const { container } = view;
    const paths = podPaths(directory, pod);
    const task = containerTask({
      pod,
      container,
      restart,
      node,
      sources,
      base: environment,
      paths,
      // A user without rights to our directory needs another place to stand.
      workingDirectory: this.#options.workingDirectory ?? (userOf(container, pod) === undefined ? paths.work : "/"),
      canMount,
    });
    if (!task.ok) return err({ reason: "CreateContainerConfigError", message: task.error.join("; ") });
    try {
      if (task.value.workingDirectory.startsWith(paths.work)) await mkdir(paths.work, { recursive: true });
      await mkdir(dirname(task.value.logPath), { recursive: true, mode: 0o750 });
      await prepareTask(task.value, paths.output(container.name, restart));
      return ok(task.value);
    } catch (thrown) {
      return err({ reason: "CreateContainerError", message: messageOf(thrown) });
    }
  }
}
