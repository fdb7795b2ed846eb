import type { Clock, Logger } from "#lib/base/index.ts";
import { openDockerRuntime, type Runtime } from "#kernel/runtimes/index.ts";

/** Where DOCKER_HOST and related variables are read. */
export interface DockerSurroundings {
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
}

interface RuntimeOptions {
  readonly store: string;
  readonly isEphemeral: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Without a runtime the control plane uses host processes. */
export interface ChosenRuntime {
  readonly runtime?: Runtime;
  /** Completes `steps run`: `as host processes`, `in containers of Docker Engine 20.10.24 at unix://…`. */
  readonly title: string;
}

/** The chosen runtime, never another one: an engine that does not answer is a failure. */
export async function openRuntime(
  docker: DockerSurroundings | undefined,
  options: RuntimeOptions,
): Promise<ChosenRuntime> {
  if (docker === undefined) return { title: "as host processes" };
  const { runtime, title } = await openDockerRuntime({ ...options, surroundings: docker });
  return { runtime, title: `in containers of ${title}` };
}
