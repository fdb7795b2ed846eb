import { pushObjects } from "../gitops/push.ts";
import { distribute } from "../placement/distribute.ts";
import { writeBackProvider } from "../prerender/provider.ts";
import { applyRollout } from "../rollout/apply.ts";
import { promote } from "../rollout/promote.ts";
import { shiftTraffic } from "../rollout/shift.ts";
import { renderHelm } from "../sources/helm.ts";
import { renderKustomize } from "../sources/kustomize.ts";
import type { UseCaseParts } from "../sources/parts.ts";
import { runProgram } from "./exec.ts";
import type { Providers } from "./provider.ts";
import { rollback } from "./rollback.ts";

/** The actions of the use cases, by `provider/do`. */
export const useCaseProviders = (parts: UseCaseParts): Providers => ({
  "placement/distribute": distribute,
  "rollout/apply": applyRollout,
  "rollout/shift": shiftTraffic,
  "rollout/promote": promote,
  "git/push": pushObjects(parts),
  "render/helm": renderHelm(parts),
  "helm/render": renderHelm(parts),
  "render/kustomize": renderKustomize(parts),
  "app/write-back": writeBackProvider,
  "app/rollback": rollback,
  "exec/run": runProgram(parts),
});
