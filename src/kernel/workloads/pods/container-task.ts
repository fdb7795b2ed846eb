import { isAbsolute, join } from "node:path";
import { err, ok, type Result } from "#lib/base/index.ts";
import type { Task, TaskMount } from "#kernel/runtimes/index.ts";
import type { Container, PodObject, VolumeMount } from "../pod-types.ts";
import type { Sources } from "./config-sources.ts";
import { containerEnvironment } from "./environment.ts";
import { expandReferences } from "./expand.ts";
import type { Node } from "./pod-fields.ts";
import { type PodPaths, taskId } from "./pod-paths.ts";
import { isInPlace, userOf } from "./support.ts";
import { isInside } from "./volumes.ts";

/** Name of the variable that holds the path of the termination message. */
export const outputVariable = "SLIPWAY_OUTPUT";
export const defaultMessagePath = "/dev/termination-log";

export interface TaskInput {
  readonly pod: PodObject;
  readonly container: Container;
  readonly restart: number;
  readonly node: Node;
  readonly sources: Sources;
  readonly base: Readonly<Record<string, string>>;
  readonly paths: PodPaths;
  /** Where containers without a workingDir run. */
  readonly workingDirectory: string;
  readonly canMount: boolean;
}

/** The task that runs a container, or every reason why there is none. */
export function containerTask(input: TaskInput): Result<Task, readonly string[]> {
  const { pod, container, restart, paths } = input;
  const user = userOf(container, pod);
  const message = messageFile(input, user !== undefined);
  const env = environmentOf(input, message.variable);
  if (!env.ok) return env;
  const valueOf = (name: string) => env.value[name];
  const mounts = mountsOf(input, valueOf);
  if (!mounts.ok) return mounts;
  const [program, ...args] = [...(container.command ?? []), ...(container.args ?? [])].map((text) =>
    expandReferences(text, valueOf),
  );
  if (program === undefined) return err([`container ${container.name} has no command`]);
  const all = [...mounts.value, ...message.mounts];
  return ok({
    id: taskId(pod.metadata.uid ?? "", container.name, restart),
    command: [program, ...args],
    env: env.value,
    workingDirectory: workingDirectoryOf(input, valueOf),
    logPath: paths.log(container.name, restart),
    ...(all.length === 0 ? {} : { mounts: all }),
    ...(user === undefined ? {} : { user }),
  });
}

interface MessageFile {
  readonly variable: string;
  readonly mounts: readonly TaskMount[];
}

/**
 * Where the process writes its termination message: a file of its own, named by a variable. It is mounted at the path of the
 * document when the container speaks of that path, or runs as a user who cannot reach the file itself.
 */
function messageFile({ container, restart, paths, canMount }: TaskInput, hasUser: boolean): MessageFile {
  const target = container.terminationMessagePath ?? defaultMessagePath;
  const source = paths.output(container.name, restart);
  const isNamed = target !== defaultMessagePath || textsOf(container).some((text) => text.includes(target));
  if (!canMount || (!isNamed && !hasUser)) return { variable: source, mounts: [] };
  return { variable: target, mounts: [{ source, target, readOnly: false }] };
}

const textsOf = (container: Container): readonly string[] => [
  ...(container.command ?? []),
  ...(container.args ?? []),
  ...(container.env ?? []).filter(({ name }) => name !== outputVariable).map(({ value }) => value ?? ""),
];

function environmentOf(input: TaskInput, output: string) {
  const { container, pod } = input;
  const path = container.terminationMessagePath ?? defaultMessagePath;
  // Who sets the variable to the path of the document means the file that stands for it here.
  const own = (container.env ?? []).filter(({ name, value }) => name !== outputVariable || value !== path);
  const base = { ...input.base, HOSTNAME: pod.spec.hostname ?? pod.metadata.name ?? "", [outputVariable]: output };
  return containerEnvironment({ ...input, container: { ...container, env: own }, base });
}

function mountsOf(
  { pod, container, paths }: TaskInput,
  valueOf: (name: string) => string | undefined,
): Result<readonly TaskMount[], readonly string[]> {
  const mounts: TaskMount[] = [];
  const problems: string[] = [];
  for (const mount of container.volumeMounts ?? []) {
    const volume = (pod.spec.volumes ?? []).find(({ name }) => name === mount.name);
    if (volume === undefined) problems.push(`volume ${mount.name} does not exist`);
    if (volume === undefined || isInPlace(volume, mount.mountPath, mount.readOnly === true)) continue;
    const inner = innerPath(mount, valueOf);
    if (inner !== "" && !isInside(inner)) problems.push(`subPath ${inner} must be relative and stay inside the volume`);
    const source = volume.hostPath?.path ?? paths.volume(volume.name);
    // Files made from objects are the same for everybody who reads them.
    const isMade = volume.hostPath === undefined && volume.emptyDir === undefined && Object.keys(volume).length > 1;
    mounts.push({
      source: inner === "" ? source : join(source, inner),
      target: isAbsolute(mount.mountPath) ? mount.mountPath : `/${mount.mountPath}`,
      readOnly: mount.readOnly === true || isMade,
    });
  }
  return problems.length === 0 ? ok(mounts) : err(problems);
}

const innerPath = (mount: VolumeMount, valueOf: (name: string) => string | undefined): string =>
  mount.subPath ?? expandReferences(mount.subPathExpr ?? "", valueOf);

function workingDirectoryOf(
  { container, workingDirectory }: TaskInput,
  valueOf: (name: string) => string | undefined,
): string {
  const own = expandReferences(container.workingDir ?? "", valueOf);
  return isAbsolute(own) ? own : join(workingDirectory, own);
}
