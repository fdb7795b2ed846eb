import { chmod, chown, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, codeOf, err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { ConfigMap, PersistentVolumeClaim, Secret, type Stored } from "#kernel/model/index.ts";
import { type ImageFacts, type Task, withoutMasked } from "#kernel/runtimes/index.ts";
import { claimDirectory, claimNames, type ClaimObject, claimProblem } from "../claims/claim.ts";
import type { AccountTokenSource, Container, PodObject, Volume } from "../pod-types.ts";
import { type TokenOf, tokenSources } from "./account-tokens.ts";
import { contentsOf, sourceKey, type SourceName, type Sources, sourcesOf, volumeSourcesOf } from "./config-sources.ts";
import { containerTask } from "./container-task.ts";
import { materializeVolume, prepareTask } from "./materialize.ts";
import type { Waiting } from "./plan-pod.ts";
import type { Node } from "./pod-fields.ts";
import { podPaths, taskId } from "./pod-paths.ts";
import { userOf } from "./support.ts";
import { showFiles } from "./volume-files.ts";
import { isFollowed, volumeContent, type VolumeInput } from "./volumes.ts";

export interface WorkspaceOptions {
  /** Reads ConfigMaps and Secrets. */
  readonly client: ApiClient;
  /** Pods and their logs are kept under it. */
  readonly directory: string;
  /** Where claims have their directories. */
  readonly volumes: string;
  readonly node: Node;
  readonly clock: Clock;
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
  /** For a command beside an execution, whose id it is: it sees the same parts of volumes. */
  readonly beside?: string;
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
  /** By pod, while its volumes are being written: the last turn that somebody waits for. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

  /** Contents of all ConfigMaps and Secrets a pod reads, as they are now; those that do not exist are absent. */
  async readSources(pod: Stored<PodObject>): Promise<Sources> {
    return this.#read(pod, sourcesOf(pod.spec));
  }

  async #read({ metadata: { namespace = "" } }: Stored<PodObject>, sources: readonly SourceName[]): Promise<Sources> {
    const found = new Map<string, ReadonlyMap<string, Buffer>>();
    await Promise.all(
      sources.map(async (source) => {
        const type = source.kind === "Secret" ? Secret : ConfigMap;
        const object = await getOrUndefined(this.#options.client, { type, namespace, name: source.name });
        if (object !== undefined) found.set(sourceKey(source), contentsOf(object));
      }),
    );
    return found;
  }

  /** One after the other for each pod: tokens and sources change at the same time, and both are files of one volume. */
  async #inTurn<T>({ metadata: { uid = "" } }: PodObject, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(uid) ?? Promise.resolve()).then(work, work);
    this.#turns.set(uid, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(uid) === turn) this.#turns.delete(uid);
    }
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
    return this.#inTurn(pod, () => this.#makeVolumes(pod, sources, tokenOf, address));
  }

  async #makeVolumes(
    pod: PodObject,
    sources: Sources,
    tokenOf: TokenOf,
    address: string | undefined,
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
        await materializeVolume(content.value, paths.volume(volume.name), this.#options.clock.now(), group);
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
    const problems = await this.#inTurn(pod, () => this.#rewrite(pod, showsTokens, async () => tokenOf));
    if (problems.length > 0) throw new Error(problems.join("; "));
  }

  /**
   * Writes the files of volumes anew that are made of objects and have changed, with the tokens they have. Answers what keeps a
   * volume as it is: its sources. Throws when the API or the machine fails, also when the volumes are gone.
   */
  async refreshVolumes(pod: Stored<PodObject>): Promise<readonly string[]> {
    return this.#inTurn(pod, () => this.#rewrite(pod, isFollowed, (volume) => this.#presentTokens(pod, volume)));
  }

  async #rewrite(
    pod: Stored<PodObject>,
    isMeant: (volume: Volume) => boolean,
    tokensOf: (volume: Volume) => Promise<TokenOf>,
  ): Promise<readonly string[]> {
    const volumes = (pod.spec.volumes ?? []).filter(isMeant);
    const sources = await this.#read(pod, volumeSourcesOf(volumes));
    const claim = () => err("claims are not made again");
    const { directory, clock } = this.#options;
    const problems: string[] = [];
    for (const volume of volumes) {
      const tokenOf = await tokensOf(volume);
      const content = volumeContent(volume, { pod, node: this.#nodeFor(pod.status?.podIP), sources, claim, tokenOf });
      if (!content.ok) problems.push(...content.error);
      else if (content.value.kind === "files")
        await showFiles(content.value.files, podPaths(directory, pod).volume(volume.name), clock.now(), groupOf(pod));
    }
    return problems;
  }

  /** Tokens as they are in the files of a volume: who else knows them is replacing them. */
  async #presentTokens(pod: PodObject, volume: Volume): Promise<TokenOf> {
    const directory = podPaths(this.#options.directory, pod).volume(volume.name);
    const found = new Map<AccountTokenSource, string>();
    for (const source of tokenSources([volume])) {
      const text = await readFile(join(directory, source.path), "utf8").catch(() => undefined);
      if (text !== undefined) found.set(source, text);
    }
    return (source) => {
      const text = found.get(source);
      return text === undefined ? err(`there is no token at ${source.path}`) : ok(text);
    };
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
    const { uid = "" } = pod.metadata;
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
      ...(made.beside === undefined ? {} : { parts: paths.parts(made.beside) }),
      ...(made.image === undefined ? {} : { image: made.image }),
    });
    if (!task.ok) return err({ reason: "CreateContainerConfigError", message: task.error.join("; ") });
    try {
      if (task.value.workingDirectory.startsWith(paths.work)) await makeDirectories(paths.work);
      await makeDirectories(dirname(task.value.logPath), 0o750);
      const output = paths.output(container.name, restart);
      if (restart > 0 && made.beside === undefined)
        await rm(paths.parts(taskId(uid, container.name, restart - 1)), { recursive: true, force: true });
      return ok(await this.#inTurn(pod, () => prepareTask(task.value, output)));
    } catch (thrown) {
      return err({ reason: hostReason(thrown), message: withoutMasked(task.value, messageOf(thrown)) });
    }
  }

  #nodeFor(address: string | undefined): Node {
    const { node } = this.#options;
    return address === undefined ? node : { ...node, podAddress: address };
  }
}

const showsTokens = (volume: Volume): boolean => tokenSources([volume]).length > 0;

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
