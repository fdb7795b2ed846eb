import type { StepOfType } from "../definition/definition.ts";
import { fieldSpot, isForeign } from "../definition/step-rules.ts";
import { neededTexts, type PlanContext, variableText } from "./context.ts";
import { helmLogin, kubeconfig } from "./mounts.ts";
import type { PlannedParts } from "./plan-step.ts";
import type { Overlay } from "./step-plan.ts";

/** A word for the repository that charts once had in common. */
const stableRepository = "https://kubernetes-charts.storage.googleapis.com";

/** A chart installed, or upgraded. */
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

/** A comma begins the next value of `--set-string`, and a backslash makes it none. */
const escapeSet = (value: string): string => value.replaceAll(/[\\,]/g, (mark) => `\\${mark}`);

/** Files of the repository whose variables are substituted in the step's copy. */
export const substituted = (files: readonly string[]): readonly Overlay[] =>
  [...new Set(files)].filter((path) => !isForeign(path)).map((path) => ({ path, change: "substitute" }));

// For any POSIX shell, because not every image has bash. What was packed is pushed from a directory of its own: the repository may hold archives.
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

/** A chart of the repository packed and pushed. What the user gives reaches the script as variables, so that none of it is a command. */
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

/** Both types log in and find their repository alike. */
type HelmStep = StepOfType<"helm" | "helm-package">;

/** What is given, or else the group's part of the repository of charts. */
function chartRepository(given: string | undefined, step: HelmStep, field: string, context: PlanContext) {
  if (given !== undefined && given !== "") return given;
  return neededTexts(context, ["CHART_REPO", "REPO_GROUP"], step, field)?.join("/");
}

/** The Secret to log in with. Without a name, or with an empty one, helm runs without a login, as in the original. */
const loginSecret = (step: HelmStep, context: PlanContext): string =>
  step.values.secret ?? variableText(context, "HELM_REG_SECRET", fieldSpot(step, "secret")) ?? "";
