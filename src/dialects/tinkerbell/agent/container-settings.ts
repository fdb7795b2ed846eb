import type { JsonObject } from "#lib/base/index.ts";
import { withoutMasks } from "../masking.ts";
import type { FailureFiles } from "./failure-files.ts";
import type { Execution } from "./work.ts";

// What the engine is asked to create for an action: pure functions from the action's words to those of `POST /containers/create`.

/** What everything of ours in an engine bears. */
export const labels = {
  workflow: "slipway.dev/workflow-id",
  action: "slipway.dev/action-id",
  agent: "slipway.dev/agent-id",
  attempt: "slipway.dev/attempt",
} as const;

/** Somebody else's container of the same name is not touched: the engine refuses a second one, and the action fails with its words. */
export const isOwnContainer = (found: Readonly<Record<string, string | undefined>>): boolean =>
  found[labels.agent] !== undefined;

/** As released agents name them; the same for every attempt. */
export const containerName = ({ action }: Execution): string =>
  `tinkerbell_${action.name}_${action.id}`.replaceAll(/[^A-Za-z0-9_.-]/g, "_");

/** The engine's own copy of what is printed, from which the log is written anew after a crash: as much as the log keeps. */
const logging: JsonObject = { Type: "json-file", Config: { "max-size": "5m", "max-file": "2" } };

/** What is said of a container by the agent and not by the action. */
export interface ContainerTraits {
  readonly agentId: string;
  readonly isPrivileged: boolean;
  /** Undefined where the engine has no files of this machine. */
  readonly files: FailureFiles | undefined;
}

/** Volumes are passed on as they are: what is wrong with one is said by the engine. */
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
    // In order, so that the same action is the same container to who compares them.
    Env: Object.entries(withoutMasks(env))
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
    // A terminal would make one stream of the two.
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
      // Whether it runs again is not the engine's to decide.
      RestartPolicy: { Name: "no" },
    },
  };
}

const dockerHub = "docker.io";

/** The host that an image is fetched from, with its port, as its name says. */
export function registryOf(image: string): string {
  const [first = "", ...rest] = image.split("/");
  // Docker's own rule: without one of these the first part is a folder of the hub.
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? first : dockerHub;
}
