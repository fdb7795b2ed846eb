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

/** Callers ask by kind; a server has stored what they bring, or the reader of documents has checked it. */
const typed = (object: KubeObject): Build => object as unknown as Build;

/**
 * Builds of repositories: a Build carries out the definition of a Project, on a worker that an engine has started. `slipway run` and `slipway wharf`
 * run definitions without any of it, and share what definitions mean.
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
    // The server that stores them has them open, and tells how they are read.
    logs: { parameter: "step" },
  },
  described: [],
  addControllers: async (manager, parts) =>
    (await import("./add-controllers.ts")).addControllers(manager, parts as ControllerParts<WharfOptions>),
};

/** What `slipway wharf` does. Loaded when it is asked for. */
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

/** What parts of the hosted system read of a command line. */
export async function loadWharfServices() {
  const { parseShard } = await import("./aggregator/shard.ts");
  return { parseShard };
}

/** What people have set for all parts. Loaded when one of them starts. */
export async function loadSettings() {
  const [found, diagnostics] = await Promise.all([
    import("./configuration/find-configuration.ts"),
    import("./definition/diagnostics.ts"),
  ]);
  return { findConfiguration: found.findConfiguration, formatDiagnostic: diagnostics.formatDiagnostic };
}

/** What a build would do. Loaded when that is asked for. */
export const loadDryRun = () => import("./dry-run.ts");

/** What is known of builds that have ended. Loaded when one is noted or taken up. */
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

/** Pods that were kept of steps. Loaded when somebody wants to look into one. */
export async function loadKeptPods() {
  const [kept, open] = await Promise.all([
    import("./worker/kubernetes/kept-pod.ts"),
    import("./worker/kubernetes/open-kubernetes.ts"),
  ]);
  return { findKeptPod: kept.findKeptPod, shellBeside: kept.shellBeside, openCluster: open.openCluster };
}

/** What carries out builds. Loaded when one is to run. */
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

/** What is done with results of builds that have ended. Loaded when it is asked for. */
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

/** What the program of a worker is made of, beside the worker. Loaded when there is one to be started. */
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

/** What asks a provisioner. Loaded when one is asked. */
export async function loadProvisionerClient() {
  const { ProvisionerClient } = await import("./provisioner/provisioner-client.ts");
  return { ProvisionerClient };
}
