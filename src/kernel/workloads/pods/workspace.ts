import { chmod, chown, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, codeOf, err, messageOf, ok, type Result, keyedSerializer } from "#lib/base/index.ts";
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
  readonly client: ApiClient;
  readonly directory: string;
  readonly volumes: string;
  readonly node: Node;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string>>;
  /** Where containers without a workingDir run; default: a directory of the pod's own. */
  readonly workingDirectory?: string;
}

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

export interface Surroundings {
  readonly image?: ImageFacts;
  readonly address?: string;
  readonly server?: ServerPlace;
  /** The execution whose parts of volumes a command beside it sees. */
  readonly beside?: string;
}

export const diskFull = "DiskFull";

/**
 * Turns a container into a task whose files are in place, or returns why that cannot be done now:
 * CreateContainerConfigError for a wrong document or a missing source, CreateContainerError for the machine, or
 * DiskFull.
 */
export class Workspace {
  readonly #options: WorkspaceOptions;
  /** Tokens and sources change at the same time, and both are files of one volume. */
  readonly #inTurn = keyedSerializer<string | undefined>();

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

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

  /** The pod is bound, so that from now on its claims cannot be removed. */
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

  /** Makes the pod's volumes; returns all problems at once. */
  async prepareVolumes(
    pod: PodObject,
    sources: Sources,
    tokenOf: TokenOf,
    address?: string,
  ): Promise<Waiting | undefined> {
    return this.#inTurn(pod.metadata.uid, () => this.#makeVolumes(pod, sources, tokenOf, address));
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

  async rewriteTokens(pod: Stored<PodObject>, tokenOf: TokenOf): Promise<void> {
    const problems = await this.#inTurn(pod.metadata.uid, () => this.#rewrite(pod, showsTokens, async () => tokenOf));
    if (problems.length > 0) throw new Error(problems.join("; "));
  }

  /** Rewrites changed files and tokens. Returns problems of the sources. Throws if the API or the machine fails. */
  async refreshVolumes(pod: Stored<PodObject>): Promise<readonly string[]> {
    return this.#inTurn(pod.metadata.uid, () =>
      this.#rewrite(pod, isFollowed, (volume) => this.#presentTokens(pod, volume)),
    );
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

  /** The task for one execution of a container, whose volumes must exist. */
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
      // The user may have no rights to our directory.
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
      return ok(await this.#inTurn(pod.metadata.uid, () => prepareTask(task.value, output)));
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

/** Where clients in a cluster look for the API server. A process only gets them with a token. */
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

/** The group of the pod's files, if this process may set it. */
function groupOf({ spec }: PodObject): number | undefined {
  const group = spec.securityContext?.["fsGroup"];
  return typeof group === "number" && process.getuid?.() === 0 ? group : undefined;
}

async function giveToGroup(directory: string, group: number): Promise<void> {
  await chown(directory, 0, group);
  await chmod(directory, 0o2777);
}

/** An exhausted quota counts as a full disk. */
const hostReason = (thrown: unknown): string =>
  codeOf(thrown) === "ENOSPC" || codeOf(thrown) === "EDQUOT" ? diskFull : "CreateContainerError";
