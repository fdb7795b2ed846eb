import type { KubeObject } from "#kernel/model/index.ts";
import { type ControllerParts, type Dialect, graphOfView } from "#kernel/dialect/index.ts";
import { admission } from "./admission.ts";
import { resubmission, runCommands } from "./run-commands.ts";
import { describeBuild } from "./describe.ts";
import { documents } from "./document.ts";
import { Build, kinds } from "./kinds.ts";
import type { WharfOptions } from "./given-options.ts";
import { viewBuild } from "./view.ts";

export type { Configuration as WharfSettings } from "./configuration/keys.ts";
export type { WharfOptions } from "./given-options.ts";
export type { HostedBuild } from "./provisioner/host/launch.ts";
export type { ToldWorker } from "./provisioner/provisioner-client.ts";
export type { Diagnostic } from "./definition/diagnostics.ts";
export type { FormerBuild } from "./worker/former-build.ts";
export type { StepRuntime } from "./worker/step-runtime.ts";
export type { ReadDefinition } from "./world/read-definition.ts";

const typed = (object: KubeObject): Build => object as unknown as Build;

/**
 * A Build runs the definition of a Project on a worker. `slipway run` and `slipway wharf` run definitions without these
 * resources.
 */
export const dialect: Dialect = {
  name: "wharf",
  kinds,
  documents,
  admission,
  runs: {
    kinds: [{ group: Build.group, kind: Build.kind }],
    view: (object) => viewBuild(typed(object)),
    describe: (object, options) => describeBuild(typed(object), options),
    accepts: runCommands,
    resubmission: (object) => resubmission(typed(object)),
    graph: (object) => graphOfView(viewBuild(typed(object))),
    logs: { parameter: "step" },
  },
  described: [],
  addControllers: async (manager, parts) =>
    (await import("./controller.ts")).addControllers(manager, parts as ControllerParts<WharfOptions>),
};

export async function loadWharf() {
  const [reading, file, text, inputs, vars, diagnostics] = await Promise.all([
    import("./world/read-definition.ts"),
    import("./world/definition-file.ts"),
    import("./definition/text.ts"),
    import("./world/given-inputs.ts"),
    import("./vars.ts"),
    import("./definition/diagnostics.ts"),
  ]);
  return {
    readDefinition: reading.readDefinition,
    nearestDefinition: file.nearestDefinition,
    readStart: file.readStart,
    maxBytes: text.maxBytes,
    givenInputs: inputs.givenInputs,
    listText: vars.listText,
    listData: vars.listData,
    substituteText: vars.substituteText,
    substitutedDefinition: vars.substitutedDefinition,
    formatDiagnostic: diagnostics.formatDiagnostic,
    excerptOf: diagnostics.excerptOf,
  };
}

export async function loadWharfServices() {
  const { parseShard } = await import("./aggregator/shard.ts");
  return { parseShard };
}

export async function loadSettings() {
  const [found, diagnostics] = await Promise.all([
    import("./configuration/find-configuration.ts"),
    import("./definition/diagnostics.ts"),
  ]);
  return { findConfiguration: found.findConfiguration, formatDiagnostic: diagnostics.formatDiagnostic };
}

export const loadDryRun = () => import("./dry-run.ts");

export async function loadFormerBuilds() {
  const [former, place, reading, files] = await Promise.all([
    import("./worker/former-build.ts"),
    import("./results/place.ts"),
    import("./results/read-build.ts"),
    import("./worker/step-workspace.ts"),
  ]);
  const { buildsOf, ownRoot } = place;
  return { ...former, buildsOf, ownRoot, readBuild: reading.readBuild, stepWorkspace: files.stepWorkspace };
}

export async function loadKeptPods() {
  const [kept, open] = await Promise.all([
    import("./worker/kubernetes/kept-pod.ts"),
    import("./worker/kubernetes/open-kubernetes.ts"),
  ]);
  return { findKeptPod: kept.findKeptPod, shellBeside: kept.shellBeside, openCluster: open.openCluster };
}

export async function loadWorker() {
  const [choose, start, settings, counter, directory, server] = await Promise.all([
    import("./worker/choose-runtime.ts"),
    import("./worker/start-build.ts"),
    import("./configuration/plan-settings.ts"),
    import("./configuration/build-counter.ts"),
    import("./secrets/directory-place.ts"),
    import("./secrets/server-place.ts"),
  ]);
  return {
    chooseRuntime: choose.chooseRuntime,
    startBuild: start.startBuild,
    planSettings: settings.planSettings,
    artifactLimits: settings.artifactLimits,
    counterPath: counter.counterPath,
    peekBuildId: counter.peekBuildId,
    takeBuildId: counter.takeBuildId,
    directoryPlace: directory.directoryPlace,
    serverPlace: server.serverPlace,
  };
}

export async function loadResults() {
  const [read, place, prune, serve] = await Promise.all([
    import("./results/read-results.ts"),
    import("./results/place.ts"),
    import("./results/prune.ts"),
    import("./worker-api/serve-results.ts"),
  ]);
  return {
    readResults: read.readResults,
    buildsIn: async (temporary: string) => place.buildsOf(await place.ownRoot(temporary)),
    pruneResults: prune.pruneResults,
    serveResults: serve.serveResults,
  };
}

export async function loadLauncher() {
  const [launch, inPod, clone, url] = await Promise.all([
    import("./provisioner/host/launch.ts"),
    import("./provisioner/kubernetes/launch-clone.ts"),
    import("./clone/clone.ts"),
    import("./clone/source-url.ts"),
  ]);
  const [{ launchWorker }, { launchClone }] = [launch, inPod];
  return { launchWorker, launchClone, clone: clone.clone, readSourceUrl: url.readSourceUrl };
}

export async function loadProvisionerClient() {
  const { ProvisionerClient } = await import("./provisioner/provisioner-client.ts");
  return { ProvisionerClient };
}
