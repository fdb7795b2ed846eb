/** Images that steps run in; all of them can be configured. */
export interface PlanSettings {
  /** Worker's instance: part of the names of secrets. */
  readonly instance: string;
  readonly dockerImage: string;
  /** Its tag is the step's `helmVersion`. */
  readonly helmImage: string;
  readonly helmPackageImage: string;
  readonly kubectlImage: string;
  readonly nugetImage: string;
}

/** The images of the original, at the versions that it was shipped with. */
export const defaultSettings: PlanSettings = {
  instance: "local",
  dockerImage: "gcr.io/kaniko-project/executor:v1.7.0",
  helmImage: "docker.io/wharfse/helm",
  helmPackageImage: "wharfse/helm:v3.8.1",
  kubectlImage: "docker.io/wharfse/kubectl:v1.23.5",
  nugetImage: "mcr.microsoft.com/dotnet/sdk:3.1-alpine",
};
