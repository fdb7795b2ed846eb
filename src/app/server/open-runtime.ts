import type { Clock, Logger } from "#lib/base/index.ts";
import { openDockerRuntime, type Runtime } from "#kernel/runtimes/index.ts";

/** Where DOCKER_HOST and its companions are looked for. */
export interface DockerSurroundings {
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
}

interface RuntimeOptions {
  /** The control plane's identity. */
  readonly store: string;
  readonly isEphemeral: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Where steps run. Without a runtime the control plane makes its own of host processes. */
export interface ChosenRuntime {
  readonly runtime?: Runtime;
  /** What follows `steps run`: `as host processes`, `in containers of Docker Engine 20.10.24 at unix:///var/run/docker.sock`. */
  readonly title: string;
}

/** The runtime somebody has chosen, never another one in its place: an engine that does not answer is a failure. */
export async function openRuntime(
  docker: DockerSurroundings | undefined,
  options: RuntimeOptions,
): Promise<ChosenRuntime> {
  if (docker === undefined) return { title: "as host processes" };
  const { runtime, title } = await openDockerRuntime({ ...options, surroundings: docker });
  return { runtime, title: `in containers of ${title}` };
}
