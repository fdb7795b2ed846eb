import { type Clock, err, ok, type Result, SlipwayError } from "#lib/base/index.ts";
import type { Configuration } from "../configuration/keys.ts";
import { helperImages } from "../configuration/plan-settings.ts";
import { createHostRuntime } from "./host/host-runtime.ts";
import type { ClusterChoice } from "./kubernetes/open-kubernetes.ts";
import type { BuildIdentity } from "./step-labels.ts";
import type { RuntimeName, StepRuntime } from "./step-runtime.ts";

export interface RuntimeChoice {
  readonly name?: RuntimeName | undefined;
  readonly configuration: Configuration;
  readonly build: BuildIdentity;
  readonly pull?: "always" | "missing" | "never" | undefined;
  readonly cluster?: ClusterChoice | undefined;
  readonly isKept: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly onWarning?: ((message: string) => void) | undefined;
}

export interface NoRuntime {
  readonly message: string;
  readonly hint: string;
}

/** The host is never the default: it runs whatever the repository contains as this user. */
export async function chooseRuntime(choice: RuntimeChoice): Promise<Result<StepRuntime, NoRuntime>> {
  const { configuration, clock, variables } = choice;
  const name = choice.name ?? configuration["worker.runtime"];
  if (name === "host")
    return ok(createHostRuntime({ clock, variables, clusters: configuration["worker.host.clusters"] ?? new Map() }));
  if (name === "kubernetes") return await inPods(choice);
  const { openDocker } = await import("./docker/open-docker.ts");
  const { build, pull, isKept, signal } = choice;
  const [builder, repo] = [configuration["worker.docker.builder"], configuration["worker.docker.repo"]];
  const memoryBytes = configuration["worker.docker.memoryBytes"];
  const milliCpus = configuration["worker.docker.milliCpus"];
  const opened = await openDocker({
    build,
    clock,
    variables,
    pull,
    keepsFailed: isKept,
    isGuess: name !== "docker",
    signal,
    onWarning: choice.onWarning,
    ...(builder === undefined ? {} : { builder }),
    ...(repo === undefined ? {} : { repo }),
    limits: {
      ...(memoryBytes === undefined ? {} : { memoryBytes }),
      ...(milliCpus === undefined ? {} : { cpus: milliCpus / 1000 }),
    },
  });
  if (opened.ok) return opened;
  const { message } = opened.error;
  const own = opened.error instanceof SlipwayError ? opened.error.hint : undefined;
  // Without --runtime, other runtimes are suggested.
  if (name === "docker") return err({ message, hint: own ?? hint });
  return err({ message: `no container engine was found to run the steps in: ${message}`, hint });
}

async function inPods(choice: RuntimeChoice): Promise<Result<StepRuntime, NoRuntime>> {
  const { configuration, build, clock, pull, isKept, variables, cluster = {}, onWarning } = choice;
  const { openKubernetes } = await import("./kubernetes/open-kubernetes.ts");
  const opened = await openKubernetes({
    choice: {
      ...cluster,
      context: cluster.context ?? configuration["k8s.context"],
      namespace: cluster.namespace ?? configuration["k8s.namespace"],
    },
    build,
    clock,
    images: helperImages(configuration),
    pull,
    alwaysArtifacts: configuration["worker.artifacts"] === "always",
    compress: configuration["worker.k8s.compress"],
    keepsFailed: isKept,
    onWarning,
    variables,
  });
  if (!opened.ok) {
    const own = opened.error instanceof SlipwayError ? opened.error.hint : undefined;
    return err({ message: `no cluster can be used to run the steps in: ${opened.error.message}`, hint: own ?? hint });
  }
  const { runtime, warning } = opened.value;
  if (warning !== undefined) onWarning?.(warning);
  return ok(runtime);
}

const hint = [
  "choose where steps run:",
  "  --runtime docker      in containers; start Docker, or set DOCKER_HOST",
  "  --runtime kubernetes  in Pods of the cluster of your kubeconfig, or of --k8s-kubeconfig",
  "  --runtime host        on this machine, as you and unconfined; images are not used",
].join("\n");
