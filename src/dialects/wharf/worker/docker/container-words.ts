import type { JsonObject } from "#lib/base/index.ts";
import { type BuildIdentity, stepLabels, stepNames } from "../step-labels.ts";
import type { StepJob } from "../step-runtime.ts";
import { keepLabel, ownerLabel } from "./owner-label.ts";

export const artifactsDirectory = "/mnt/artifacts";

export interface ContainerLimits {
  readonly memoryBytes?: number;
  readonly cpus?: number;
}

export interface ContainerOptions {
  readonly build: BuildIdentity;
  readonly stageId: number | undefined;
  readonly owner: string;
  readonly limits: ContainerLimits;
  readonly isKept: boolean;
  readonly mounts: readonly JsonObject[];
  readonly hasInit: boolean;
}

/** Keeps all output readable; `json-file` loses bytes that are no text, but `local` loses line ends beyond 16 KiB. */
const outputKept = { Type: "json-file", Config: { "max-size": "1000g", "max-file": "1", compress: "false" } };

/** The body of `POST /containers/create`. Files and secrets are copied in later, so that labels and arguments do not
 * contain them. */
export function containerSettings({ step, env }: Pick<StepJob, "step" | "env">, options: ContainerOptions): JsonObject {
  const { build, stageId, owner, limits, isKept, mounts, hasInit } = options;
  const variables = { ...env, WHARF_ARTIFACTS_DIR: artifactsDirectory };
  return {
    Image: step.image,
    ...(step.entry === undefined ? {} : { Entrypoint: [...step.entry] }),
    Cmd: [...step.args],
    Env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    WorkingDir: step.workdir,
    Labels: {
      ...stepLabels(step, stageId, build),
      ...stepNames(step),
      [ownerLabel]: owner,
      ...(isKept ? { [keepLabel]: "true" } : {}),
    },
    HostConfig: {
      // A shell as process 1 ignores SIGTERM, so every cancel would take the whole grace period.
      ...(hasInit ? { Init: true } : {}),
      LogConfig: outputKept,
      ...(mounts.length === 0 ? {} : { Mounts: [...mounts] }),
      ...(limits.memoryBytes === undefined ? {} : { Memory: limits.memoryBytes, MemorySwap: limits.memoryBytes }),
      ...(limits.cpus === undefined ? {} : { NanoCpus: Math.round(limits.cpus * 1e9) }),
    },
  };
}
