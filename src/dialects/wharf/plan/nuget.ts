import type { StepOfType } from "../definition/definition.ts";
import type { PlanContext } from "./context.ts";
import { certificates } from "./mounts.ts";
import type { PlannedParts } from "./step-plan.ts";

// Exit codes are the original's: 1 not packed, 2 the version exists, 3 not pushed.
const script = [
  'dotnet pack "$NUGET_PROJECT_PATH" --output nugets/ -p:Version="$NUGET_VERSION" || exit 1',
  "for package in nugets/*.nupkg; do",
  '  output=$(dotnet nuget push "$package" --source "$NUGET_REPO" --api-key "$NUGET_TOKEN" 2>&1)',
  "  code=$?",
  "  printf '%s\\n' \"$output\"",
  '  [ "$code" -eq 0 ] && continue',
  '  case "$output" in',
  '    *"not allow overwriting packages that already exist"*|*409*)',
  '      [ "$NUGET_SKIP_DUP" = true ] || exit 2 ;;',
  "    *) exit 3 ;;",
  "  esac",
  "done",
].join("\n");

export function planNuget(step: StepOfType<"nuget-package">, { settings }: PlanContext): PlannedParts {
  const { version, repo, certificatesMountPath } = step.values;
  return {
    image: settings.nugetImage,
    entry: ["/bin/sh", "-c"],
    args: [script],
    env: [
      { name: "NUGET_REPO", value: repo },
      { name: "NUGET_PROJECT_PATH", value: step.values["project-path"] },
      { name: "NUGET_VERSION", value: version },
      { name: "NUGET_SKIP_DUP", value: String(step.values["skip-duplicate"]) },
      { name: "NUGET_TOKEN", secretRef: { name: "wharf-nuget-api-token", key: "token" } },
    ],
    mounts: certificates(certificatesMountPath),
  };
}
