import type { StepOfType } from "../definition/definition.ts";
import { fieldSpot, isForeign } from "../definition/step-rules.ts";
import { neededTexts, type PlanContext, variableText } from "./context.ts";
import { helmLogin, kubeconfig } from "./mounts.ts";
import type { Overlay, PlannedParts } from "./step-plan.ts";

/** A legacy repository. */
const stableRepository = "https://kubernetes-charts.storage.googleapis.com";

export function planHelm(step: StepOfType<"helm">, context: PlanContext): PlannedParts | undefined {
  const { chart, name, namespace, set, files = [], chartVersion, helmVersion, cluster } = step.values;
  const repo = chartRepository(step.values.repo, step, "repo", context);
  if (repo === undefined) return undefined;
  const login = helmLogin(loginSecret(step, context));
  return {
    image: `${context.settings.helmImage}:${helmVersion}`,
    entry: ["helm"],
    args: [
      "upgrade",
      "--install",
      name,
      chart,
      "--repo",
      repo === "stage" ? stableRepository : repo,
      "--namespace",
      namespace,
      ...(chartVersion === undefined || chartVersion === "" ? [] : ["--version", chartVersion]),
      ...files.flatMap((file) => ["--values", file]),
      ...[...(set ?? [])].flatMap(([key, value]) => ["--set-string", `${key}=${escapeSet(value)}`]),
    ],
    env: login.env,
    mounts: [...kubeconfig(cluster), ...login.mounts],
    overlay: substituted(files),
  };
}

/** Escapes commas, which separate values of `--set-string`. */
const escapeSet = (value: string): string => value.replaceAll(/[\\,]/g, (mark) => `\\${mark}`);

export const substituted = (files: readonly string[]): readonly Overlay[] =>
  [...new Set(files)].filter((path) => !isForeign(path)).map((path) => ({ path, change: "substitute" }));

// Any POSIX shell: not every image has bash. Packages go to a directory of their own, because the repository may
// contain archives.
const packageScript = [
  "set -e",
  'mkdir -p "$WHARF_PACKAGES"',
  'if [ -n "$CHART_VERSION" ]; then',
  '  helm package "$CHART_PATH" --version "$CHART_VERSION" --destination "$WHARF_PACKAGES"',
  "else",
  '  helm package "$CHART_PATH" --destination "$WHARF_PACKAGES"',
  "fi",
  'for chart in "$WHARF_PACKAGES"/*.tgz; do',
  '  helm push "$chart" "$CHART_REPO" --insecure',
  "done",
].join("\n");

/** User input reaches the script as variables, never as commands. */
export function planHelmPackage(step: StepOfType<"helm-package">, context: PlanContext): PlannedParts | undefined {
  const repo = chartRepository(step.values.destination, step, "destination", context);
  if (repo === undefined) return undefined;
  const login = helmLogin(loginSecret(step, context));
  return {
    image: context.settings.helmPackageImage,
    entry: ["/bin/sh", "-c"],
    args: [packageScript],
    env: [
      { name: "CHART_PATH", value: step.values["chart-path"] },
      { name: "CHART_VERSION", value: step.values.version ?? "" },
      { name: "CHART_REPO", value: repo },
      { name: "WHARF_PACKAGES", value: "/tmp/wharf-packages" },
      ...login.env,
    ],
    mounts: login.mounts,
  };
}

type HelmStep = StepOfType<"helm" | "helm-package">;

function chartRepository(given: string | undefined, step: HelmStep, field: string, context: PlanContext) {
  if (given !== undefined && given !== "") return given;
  return neededTexts(context, ["CHART_REPO", "REPO_GROUP"], step, field)?.join("/");
}

/** Without a name helm runs without a login, as in the original. */
const loginSecret = (step: HelmStep, context: PlanContext): string =>
  step.values.secret ?? variableText(context, "HELM_REG_SECRET", fieldSpot(step, "secret")) ?? "";
