import { defaultSettings, type PlanSettings } from "../plan/settings.ts";
import { type ArtifactLimits, defaultArtifactLimits } from "../results/store-artifact.ts";
import { defaultImages, type HelperImages } from "../worker/kubernetes/helper-images.ts";
import type { Configuration } from "./keys.ts";

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

export function helperImages(configuration: Configuration): HelperImages {
  const of = (part: keyof HelperImages): string =>
    withParts(
      defaultImages[part],
      configuration[`worker.steps.${part}.image`],
      configuration[`worker.steps.${part}.imageTag`],
    );
  return { init: of("init"), artifacts: of("artifacts") };
}

export function artifactLimits(configuration: Configuration): ArtifactLimits {
  const { maxFileBytes, maxFiles } = defaultArtifactLimits;
  return {
    maxFileBytes: configuration["worker.artifacts.maxFileBytes"] ?? maxFileBytes,
    maxFiles: configuration["worker.artifacts.maxFiles"] ?? maxFiles,
  };
}

/** Replaces name or tag of an image. A name with its own tag or digest keeps it unless a tag is given. */
function withParts(usual: string, name: string | undefined, tag: string | undefined): string {
  // A registry's port also has a colon, but a slash follows it.
  const [, usualName = "", usualTag = ""] = /^(.*):([^:/]*)$/.exec(usual) ?? [];
  if (tag !== undefined) return `${name ?? usualName}:${tag}`;
  if (name === undefined) return usual;
  return /:[^/]*$/.test(name) ? name : `${name}:${usualTag}`;
}
