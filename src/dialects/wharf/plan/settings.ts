export interface PlanSettings {
  readonly instance: string;
  readonly dockerImage: string;
  readonly helmImage: string;
  readonly helmPackageImage: string;
  readonly kubectlImage: string;
  readonly nugetImage: string;
}

/** The original's images. */
export const defaultSettings: PlanSettings = {
  instance: "local",
  dockerImage: "gcr.io/kaniko-project/executor:v1.7.0",
  helmImage: "docker.io/wharfse/helm",
  helmPackageImage: "wharfse/helm:v3.8.1",
  kubectlImage: "docker.io/wharfse/kubectl:v1.23.5",
  nugetImage: "mcr.microsoft.com/dotnet/sdk:3.1-alpine",
};
