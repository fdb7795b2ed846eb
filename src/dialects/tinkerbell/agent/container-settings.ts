import type { JsonObject } from "#lib/base/index.ts";
import { withoutMasks } from "../logs/masking.ts";
import type { FailureFiles } from "./failure-files.ts";
import type { Execution } from "./work.ts";

export const labels = {
  workflow: "slipway.dev/workflow-id",
  action: "slipway.dev/action-id",
  agent: "slipway.dev/agent-id",
  attempt: "slipway.dev/attempt",
} as const;

/** A foreign container of the same name is left alone: the engine refuses a second one and the action fails. */
export const isOwnContainer = (found: Readonly<Record<string, string | undefined>>): boolean =>
  found[labels.agent] !== undefined;

/** As released agents name them; the same for every attempt. */
export const containerName = ({ action }: Execution): string =>
  `tinkerbell_${action.name}_${action.id}`.replaceAll(/[^A-Za-z0-9_.-]/g, "_");

/** The engine's copy of the output, from which the log is rebuilt after a crash; as large as the log. */
const logging: JsonObject = { Type: "json-file", Config: { "max-size": "5m", "max-file": "2" } };

export interface ContainerTraits {
  readonly agentId: string;
  readonly isPrivileged: boolean;
  /** Undefined if the engine is on another machine. */
  readonly files: FailureFiles | undefined;
}

/** Volumes are passed on unchecked; the engine reports errors. */
export function containerSettings({ action, workflow, attempt }: Execution, traits: ContainerTraits): JsonObject {
  const { agentId, isPrivileged, files } = traits;
  const { image, cmd, args, env, volumes, pid, network } = action;
  const own =
    files === undefined
      ? []
      : [`${files.reason}:/tinkerbell/failure-reason`, `${files.message}:/tinkerbell/failure-message`];
  return {
    Image: image,
    ...(cmd === undefined || cmd === "" ? {} : { Entrypoint: [cmd] }),
    ...(args.length === 0 ? {} : { Cmd: [...args] }),
    // Sorted, so that the same action gives the same container.
    Env: Object.entries(withoutMasks(env))
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
    // A terminal would merge the two streams.
    Tty: false,
    AttachStdout: true,
    AttachStderr: true,
    Labels: {
      [labels.workflow]: workflow,
      [labels.action]: action.id,
      [labels.agent]: agentId,
      [labels.attempt]: `${attempt}`,
    },
    HostConfig: {
      Binds: [...volumes, ...own],
      ...(pid === undefined || pid === "" ? {} : { PidMode: pid }),
      ...(network === undefined || network === "" ? {} : { NetworkMode: network }),
      Privileged: isPrivileged,
      LogConfig: logging,
      // The agent decides about restarts.
      RestartPolicy: { Name: "no" },
    },
  };
}

const dockerHub = "docker.io";

export function registryOf(image: string): string {
  const [first = "", ...rest] = image.split("/");
  // Docker's rule: otherwise the first part is a folder of Docker Hub.
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? first : dockerHub;
}
