import { dirname, isAbsolute, join } from "node:path";
import { err, ok, type Result } from "#lib/base/index.ts";
import { directoryVariable } from "#kernel/artifacts/index.ts";
import { outputVariable } from "#kernel/model/index.ts";
import {
  type ContainerSetup,
  type ImageFacts,
  type Task,
  type TaskMount,
  unmaskedWord,
  withoutMasked,
} from "#kernel/runtimes/index.ts";
import { expandVariables } from "#lib/text/index.ts";
import type { Container, PodObject, Volume, VolumeMount } from "../pod-types.ts";
import type { Sources } from "./config-sources.ts";
import { containerSetup, isInMemory } from "./container-setup.ts";
import { containerEnvironment } from "./environment.ts";
import { isMasked, maskedVariables } from "./masked-variables.ts";
import type { Node } from "./pod-fields.ts";
import { type PodPaths, taskId } from "./pod-paths.ts";
import { hasArtifacts } from "./pod-artifacts.ts";
import { isInPlace, userOf } from "./support.ts";
import { isInside } from "./volumes.ts";

export const defaultMessagePath = "/dev/termination-log";

export interface TaskInput {
  readonly pod: PodObject;
  readonly container: Container;
  readonly restart: number;
  readonly node: Node;
  readonly sources: Sources;
  readonly base: Readonly<Record<string, string>>;
  readonly paths: PodPaths;
  /** Where containers without a workingDir run; relative ones start from it. */
  readonly workingDirectory: string;
  /** Where partial mounts have their content; default: a directory of the execution. */
  readonly parts?: string;
  /** Whether the runtime can mount. Pods that need mounts were refused otherwise. */
  readonly canMount: boolean;
  /** Present if tasks are containers. */
  readonly image?: ImageFacts;
}

/** A mount whose source a container may have put there. */
interface PlannedMount extends TaskMount {
  /** The directory that the resolved source must not leave. */
  readonly within: string;
  /** Where to keep the source as it is now, because the volume will change. */
  readonly part?: string;
}

/** A task whose mounts have not been checked on disk. */
export interface PlannedTask extends Task {
  readonly mounts?: readonly PlannedMount[];
}

/** The task that runs a container, or every reason why there is none. Pure. */
export function containerTask(input: TaskInput): Result<PlannedTask, readonly string[]> {
  const { pod, container, restart, paths } = input;
  const user = userOf(container, pod);
  const message = messageFile(input, user !== undefined);
  const artifacts = artifactsPlace(input, user !== undefined);
  const env = environmentOf(input, { [outputVariable]: message.variable, ...artifacts.variables });
  if (!env.ok) return env;
  const valueOf = (name: string) => env.value[name];
  const masked = maskedVariables(pod, container, input.sources);
  const mounts = mountsOf(input, valueOf);
  if (!mounts.ok)
    return err(mounts.error.map((text) => withoutMasked({ maskedVariables: masked, env: env.value }, text)));
  const command = (container.command ?? []).map((text) => expandVariables(text, valueOf));
  const args = (container.args ?? []).map((text) => expandVariables(text, valueOf));
  const [program = input.image && (container.image ?? ""), ...rest] = [...command, ...args];
  if (program === undefined) return err([`container ${container.name} has no command`]);
  const setup = input.image && setupOf(input, input.image, command, args, valueOf);
  const all = [...mounts.value, ...message.mounts, ...artifacts.mounts];
  return ok({
    id: taskId(pod.metadata.uid ?? "", container.name, restart),
    command: [program, ...rest],
    env: env.value,
    ...(masked.length === 0 ? {} : { maskedVariables: masked }),
    ...(isMasked(pod) ? { message: paths.output(container.name, restart) } : {}),
    workingDirectory: workingDirectoryOf(input, valueOf),
    logPath: paths.log(container.name, restart),
    ...(all.length === 0 ? {} : { mounts: all }),
    ...(user === undefined || setup !== undefined ? {} : { user }),
    ...(setup === undefined ? {} : { container: setup }),
  });
}

function setupOf(
  { pod, container }: TaskInput,
  image: ImageFacts,
  command: readonly string[],
  args: readonly string[],
  valueOf: (name: string) => string | undefined,
): ContainerSetup {
  const directory = expandVariables(container.workingDir ?? "", valueOf);
  const inMemory = new Set((pod.spec.volumes ?? []).filter(isInMemory).map(({ name }) => name));
  return {
    ...containerSetup(pod, container, image),
    ...(command.length === 0 ? {} : { command }),
    ...(args.length === 0 ? {} : { args }),
    ...(directory === "" ? {} : { workingDirectory: directory }),
    memoryMounts: (container.volumeMounts ?? [])
      .filter(({ name }) => inMemory.has(name))
      .map(({ name, mountPath, readOnly }) => ({
        volume: name,
        target: targetOf(mountPath),
        readOnly: readOnly === true,
      })),
  };
}

const targetOf = (mountPath: string): string => (isAbsolute(mountPath) ? mountPath : `/${mountPath}`);

interface MessageFile {
  readonly variable: string;
  readonly mounts: readonly PlannedMount[];
}

/** The termination message's file, named by a variable and, if mentioned or out of reach, mounted at its path. */
function messageFile({ pod, container, restart, paths, canMount, image }: TaskInput, hasUser: boolean): MessageFile {
  const target = container.terminationMessagePath ?? defaultMessagePath;
  const read = paths.output(container.name, restart);
  const source = isMasked(pod) ? unmaskedWord(read) : read;
  const isNamed = target !== defaultMessagePath || textsOf(container).some((text) => text.includes(target));
  // A container only sees mounts; on a remote engine it has no file at all.
  if (image !== undefined && !canMount) return { variable: target, mounts: [] };
  if (!canMount || (!isNamed && !hasUser && image === undefined)) return { variable: source, mounts: [] };
  return { variable: target, mounts: [{ source, within: dirname(source), target, readOnly: false }] };
}

const artifactsTarget = "/slipway/artifacts";

/** No mount is made if the process can reach the directory itself. */
function artifactsPlace({ pod, paths, canMount, image }: TaskInput, hasUser: boolean) {
  if (!hasArtifacts(pod)) return { variables: {}, mounts: [] };
  const source = paths.artifacts;
  if (!canMount || (image === undefined && !hasUser)) return { variables: { [directoryVariable]: source }, mounts: [] };
  const mount = { source, within: source, target: artifactsTarget, readOnly: false };
  return { variables: { [directoryVariable]: artifactsTarget }, mounts: [mount] };
}

const textsOf = (container: Container): readonly string[] => [
  ...(container.command ?? []),
  ...(container.args ?? []),
  ...(container.env ?? []).filter(({ name }) => name !== outputVariable).map(({ value }) => value ?? ""),
];

function environmentOf(input: TaskInput, given: Readonly<Record<string, string>>) {
  const { container, pod } = input;
  const path = container.terminationMessagePath ?? defaultMessagePath;
  // A variable set to the document's path means the file that stands in for it.
  const own = (container.env ?? []).filter(({ name, value }) => name !== outputVariable || value !== path);
  const hostname = input.image === undefined ? { HOSTNAME: pod.spec.hostname ?? pod.metadata.name ?? "" } : {};
  const base = { ...input.base, ...hostname, ...given };
  return containerEnvironment({ ...input, container: { ...container, env: own }, base });
}

function mountsOf(
  { pod, container, restart, paths, image, parts }: TaskInput,
  valueOf: (name: string) => string | undefined,
): Result<readonly PlannedMount[], readonly string[]> {
  const mounts: PlannedMount[] = [];
  const problems: string[] = [];
  const held = parts ?? paths.parts(taskId(pod.metadata.uid ?? "", container.name, restart));
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = (pod.spec.volumes ?? []).find(({ name }) => name === mount.name);
    if (volume === undefined) problems.push(`volume ${mount.name} does not exist`);
    if (volume === undefined) continue;
    const isThere =
      image === undefined ? isInPlace(volume, mount.mountPath, mount.readOnly === true) : isInMemory(volume);
    if (isThere) continue;
    const inner = innerPath(mount, valueOf);
    if (inner !== "" && !isInside(inner)) problems.push(`subPath ${inner} must be relative and stay inside the volume`);
    const within = volume.hostPath?.path ?? paths.volume(volume.name);
    mounts.push({
      source: inner === "" ? within : join(within, inner),
      within,
      ...(inner !== "" && isMadeOfObjects(volume) ? { part: join(held, `${index}`) } : {}),
      target: targetOf(mount.mountPath),
      readOnly: mount.readOnly === true || isReadOnly(volume),
    });
  }
  return problems.length === 0 ? ok(mounts) : err(problems);
}

const isReadOnly = (volume: Volume): boolean =>
  volume.persistentVolumeClaim?.readOnly === true || isMadeOfObjects(volume);

const isMadeOfObjects = ({ hostPath, emptyDir, persistentVolumeClaim, name: _name, ...made }: Volume): boolean =>
  hostPath === undefined &&
  emptyDir === undefined &&
  persistentVolumeClaim === undefined &&
  Object.keys(made).length > 0;

/** Only `subPathExpr` is expanded. */
const innerPath = (mount: VolumeMount, valueOf: (name: string) => string | undefined): string =>
  mount.subPath ?? expandVariables(mount.subPathExpr ?? "", valueOf);

function workingDirectoryOf(
  { container, workingDirectory }: TaskInput,
  valueOf: (name: string) => string | undefined,
): string {
  const own = expandVariables(container.workingDir ?? "", valueOf);
  return isAbsolute(own) ? own : join(workingDirectory, own);
}
