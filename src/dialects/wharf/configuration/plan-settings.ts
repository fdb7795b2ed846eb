// Plans know images as a whole; settings know names and tags, because most people change one of them.

import { defaultSettings, type PlanSettings } from "../plan/settings.ts";
import { type ArtifactLimits, defaultArtifactLimits } from "../results/store-artifact.ts";
import { defaultImages, type HelperImages } from "../worker/kubernetes/helper-images.ts";
import type { Configuration } from "./keys.ts";

/** What plans are made with. An instance that is named at the start wins over a configured one. */
export function planSettings(configuration: Configuration, instance?: string): PlanSettings {
  const of = (step: "docker" | "kubectl" | "helmPackage" | "nugetPackage", image: string): string =>
    withParts(image, configuration[`worker.steps.${step}.image`], configuration[`worker.steps.${step}.imageTag`]);
  return {
    instance: instance ?? configuration.instanceId ?? defaultSettings.instance,
    dockerImage: of("docker", defaultSettings.dockerImage),
    helmImage: configuration["worker.steps.helm.image"] ?? defaultSettings.helmImage,
    helmPackageImage: of("helmPackage", defaultSettings.helmPackageImage),
    kubectlImage: of("kubectl", defaultSettings.kubectlImage),
    nugetImage: of("nugetPackage", defaultSettings.nugetImage),
  };
}

/** What the Pods of steps have beside the images of steps. */
export function helperImages(configuration: Configuration): HelperImages {
  const of = (part: keyof HelperImages): string =>
    withParts(
      defaultImages[part],
      configuration[`worker.steps.${part}.image`],
      configuration[`worker.steps.${part}.imageTag`],
    );
  return { init: of("init"), artifacts: of("artifacts") };
}

/** What steps may leave. */
export function artifactLimits(configuration: Configuration): ArtifactLimits {
  const { maxFileBytes, maxFiles } = defaultArtifactLimits;
  return {
    maxFileBytes: configuration["worker.artifacts.maxFileBytes"] ?? maxFileBytes,
    maxFiles: configuration["worker.artifacts.maxFiles"] ?? maxFiles,
  };
}

/** An image with another name or another tag. A name that brings its own tag or digest keeps it, unless a tag is told, too. */
function withParts(usual: string, name: string | undefined, tag: string | undefined): string {
  // The port of a registry has a colon, too; a tag has no slash behind it.
  const [, usualName = "", usualTag = ""] = /^(.*):([^:/]*)$/.exec(usual) ?? [];
  if (tag !== undefined) return `${name ?? usualName}:${tag}`;
  if (name === undefined) return usual;
  return /:[^/]*$/.test(name) ? name : `${name}:${usualTag}`;
}
