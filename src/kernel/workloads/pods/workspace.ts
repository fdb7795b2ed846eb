import { chmod, chown } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { ConfigMap, PersistentVolumeClaim, Secret, type Stored } from "#kernel/model/index.ts";
import type { ImageFacts, Task } from "#kernel/runtimes/index.ts";
import { claimDirectory, claimNames, type ClaimObject, claimProblem } from "../claims/claim.ts";
import type { Container, PodObject } from "../pod-types.ts";
import { type TokenOf, tokenSources } from "./account-tokens.ts";
import { contentsOf, sourceKey, type Sources, sourcesOf } from "./config-sources.ts";
import { containerTask } from "./container-task.ts";
import { materializeVolume, prepareTask } from "./materialize.ts";
import type { Waiting } from "./plan-pod.ts";
import type { Node } from "./pod-fields.ts";
import { podPaths } from "./pod-paths.ts";
import { userOf } from "./support.ts";
import { volumeContent, type VolumeInput } from "./volumes.ts";

export interface WorkspaceOptions {
  /** Reads ConfigMaps and Secrets. */
  readonly client: ApiClient;
  /** Pods and their logs are kept under it. */
  readonly directory: string;
  /** Where claims have their directories. */
  readonly volumes: string;
  readonly node: Node;
  /** What every process gets, before the pod's own variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where containers without a workingDir run; a directory of the pod's own when absent. */
  readonly workingDirectory?: string;
}

/** An address and port at which a container reaches the API server. */
export interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

/** What was made for a container before its task. */
export interface Surroundings {
  readonly image?: ImageFacts;
  /** The pod's own. */
  readonly address?: string;
  readonly server?: ServerPlace;
}

/** The word of a `Waiting` for a machine that has no room left: the pod is to be failed. */
export const diskFull = "DiskFull";

/**
 * Turns a container that is to run into a task whose files are in place, or says why that cannot be done now:
 *
 * - CreateContainerConfigError: the document is wrong, or a ConfigMap or Secret is missing, which is watched for;
 * - CreateContainerError: the machine lacks something, which nobody tells of when it comes;
 * - DiskFull.
 */
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

  /** Claims are asked for anew: since the pod was bound to this machine nobody can have begun to remove what is there now. */
  async #readClaims({ metadata: { namespace = "" }, spec }: PodObject): Promise<VolumeInput["claim"]> {
    const { client, volumes } = this.#options;
    const found = new Map<string, Result<string, string>>();
    for (const name of claimNames(spec)) {
      const claim = await getOrUndefined<ClaimObject>(client, { type: PersistentVolumeClaim, namespace, name });
      const problem = claimProblem(name, claim);
      found.set(name, problem === undefined ? ok(claimDirectory(volumes, namespace, name)) : err(problem));
    }
    return (name) => found.get(name) ?? err(`persistentvolumeclaim "${name}" not found`);
  }

  /**
   * Makes what all containers of a pod share: its volumes. Tells everything that stands against it at once. `address` is the pod's
   * own, if it has one.
   */
  async prepareVolumes(
    pod: PodObject,
    sources: Sources,
    tokenOf: TokenOf,
    address?: string,
  ): Promise<Waiting | undefined> {
    const input = { pod, node: this.#nodeFor(address), sources, claim: await this.#readClaims(pod), tokenOf };
    const paths = podPaths(this.#options.directory, pod);
    const problems: string[] = [];
    let reason = "CreateContainerConfigError";
    for (const volume of pod.spec.volumes ?? []) {
      const content = volumeContent(volume, input);
      if (!content.ok) {
        problems.push(...content.error);
        continue;
      }
      try {
        const group = groupOf(pod);
        await materializeVolume(content.value, paths.volume(volume.name), group);
        if (group !== undefined && (content.value.kind === "empty" || content.value.kind === "claim"))
          await giveToGroup(paths.volume(volume.name), group);
      } catch (thrown) {
        problems.push(`volume ${volume.name}: ${messageOf(thrown)}`);
        reason = hostReason(thrown);
      }
    }
    return problems.length === 0 ? undefined : { reason, message: problems.join("; ") };
  }

  /** Writes the files of volumes that show tokens again, with these tokens. Throws when something of them cannot be had. */
  async rewriteTokens(pod: Stored<PodObject>, tokenOf: TokenOf): Promise<void> {
    const sources = await this.readSources(pod);
    const claim = () => err("claims are not made again");
    for (const volume of (pod.spec.volumes ?? []).filter((one) => tokenSources([one]).length > 0)) {
      const address = pod.status?.podIP;
      const content = volumeContent(volume, { pod, node: this.#nodeFor(address), sources, claim, tokenOf });
      if (!content.ok) throw new Error(content.error.join("; "));
      await materializeVolume(content.value, podPaths(this.#options.directory, pod).volume(volume.name), groupOf(pod));
    }
  }

  /** The task for one execution of a container. Its volumes must have been made; `made` where tasks are containers. */
  async prepare(
    pod: PodObject,
    container: Container,
    restart: number,
    sources: Sources,
    canMount: boolean,
    made: Surroundings = {},
  ): Promise<Result<Task, Waiting>> {
    const { directory, environment } = this.#options;
    const paths = podPaths(directory, pod);
    const task = containerTask({
      pod,
      container,
      restart,
      node: this.#nodeFor(made.address),
      sources,
      base: { ...(made.image === undefined ? environment : {}), ...serverVariables(pod, container, made) },
      paths,
      // A user without rights to our directory needs another place to stand.
      workingDirectory: this.#options.workingDirectory ?? (userOf(container, pod) === undefined ? paths.work : "/"),
      canMount,
      ...(made.image === undefined ? {} : { image: made.image }),
    });
    if (!task.ok) return err({ reason: "CreateContainerConfigError", message: task.error.join("; ") });
    try {
      if (task.value.workingDirectory.startsWith(paths.work)) await makeDirectories(paths.work);
      await makeDirectories(dirname(task.value.logPath), 0o750);
      return ok(await prepareTask(task.value, paths.output(container.name, restart)));
    } catch (thrown) {
      return err({ reason: hostReason(thrown), message: messageOf(thrown) });
    }
  }

  #nodeFor(address: string | undefined): Node {
    const { node } = this.#options;
    return address === undefined ? node : { ...node, podAddress: address };
  }
}

/** Where clients in a cluster look for the API server. A process finds it where it has a token for it: others have their own ways. */
function serverVariables(
  { spec }: PodObject,
  { volumeMounts }: Container,
  { image, server }: Surroundings,
): Readonly<Record<string, string>> {
  const shown = (spec.volumes ?? []).filter(({ name }) => volumeMounts?.some((mount) => mount.name === name));
  if (server === undefined || (image === undefined && tokenSources(shown).length === 0)) return {};
  const port = `${server.port}`;
  return {
    KUBERNETES_SERVICE_HOST: server.host,
    KUBERNETES_SERVICE_PORT: port,
    KUBERNETES_SERVICE_PORT_HTTPS: port,
  };
}

/** The group of the pod's files, where we may give them to it. */
function groupOf({ spec }: PodObject): number | undefined {
  const group = spec.securityContext?.["fsGroup"];
  return typeof group === "number" && process.getuid?.() === 0 ? group : undefined;
}

/** As Kubernetes: what is made in the volume belongs to the group, too. */
async function giveToGroup(directory: string, group: number): Promise<void> {
  await chown(directory, 0, group);
  await chmod(directory, 0o2777);
}

/** What the machine's refusal means for the pod. A quota that is used up is a full disk to who has to live with it. */
const hostReason = (thrown: unknown): string =>
  codeOf(thrown) === "ENOSPC" || codeOf(thrown) === "EDQUOT" ? diskFull : "CreateContainerError";
