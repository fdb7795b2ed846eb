import type { JsonObject } from "#lib/base/index.ts";
import { type BuildIdentity, stepLabels, stepNames } from "../step-labels.ts";
import type { StepJob } from "../step-runtime.ts";
import { keepLabel, ownerLabel } from "./owner-label.ts";

/** Where steps leave what is to be kept. */
export const artifactsDirectory = "/mnt/artifacts";

/** What one step may use; absent: as much as there is. */
export interface ContainerLimits {
  readonly memoryBytes?: number;
  /** Processors, also parts of them. */
  readonly cpus?: number;
}

export interface ContainerOptions {
  readonly build: BuildIdentity;
  readonly stageId: number | undefined;
  /** See `owner-label.ts`. */
  readonly owner: string;
  readonly limits: ContainerLimits;
  /** Left for people to look at, also by later workers. */
  readonly isKept: boolean;
  /** Directories of this machine, in the engine's words. */
  readonly mounts: readonly JsonObject[];
  /** The engine has a program that passes signals on and collects what has ended. */
  readonly hasInit: boolean;
}

/**
 * The engine's copy of the output: all of it, however much, in a form that can be read back; the engine's own settings may say otherwise. Bytes that
 * are no text are lost in this form; the other one, `local`, loses the ends of lines beyond 16 KiB.
 */
const outputKept = { Type: "json-file", Config: { "max-size": "1000g", "max-file": "1", compress: "false" } };

/**
 * The body of `POST /containers/create` for a step. Files, secrets among them, are not part of it: they are put into the container, so that neither
 * arguments nor labels have them, and the engine needs to see no file of this machine.
 */
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
      // A shell that is the first process does not hear of SIGTERM, and every cancel would take all of the grace.
      ...(hasInit ? { Init: true } : {}),
      LogConfig: outputKept,
      ...(mounts.length === 0 ? {} : { Mounts: [...mounts] }),
      ...(limits.memoryBytes === undefined ? {} : { Memory: limits.memoryBytes, MemorySwap: limits.memoryBytes }),
      ...(limits.cpus === undefined ? {} : { NanoCpus: Math.round(limits.cpus * 1e9) }),
    },
  };
}
