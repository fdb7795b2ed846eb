import type { Instant } from "#lib/base/index.ts";
import type { Lister } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { actionsFor, openActions, type RunAction } from "#kernel/dialect/index.ts";
import { restoredPhase } from "../status/integrity.ts";
import { Workflow } from "../kinds.ts";
import { finalizer } from "../messages.ts";
import { rerenderAsked } from "../status/rendering.ts";
import type { Settings } from "../settings.ts";
import { isTerminal } from "../state.ts";
import { type AnyWorkflow, stateOf } from "../stored.ts";
import { supervise } from "./supervise.ts";

interface QuietParts {
  readonly actions: Lister<RunAction>;
  readonly settings: Settings;
}

/** Whether a pass would only wait. An outdated version may answer wrongly; the newer one brings its own pass. */
export function isQuiet(workflow: Stored<AnyWorkflow>, { actions, settings }: QuietParts, now: Instant): boolean {
  const { metadata, status } = workflow;
  const state = stateOf(workflow);
  const { shape, phase } = state;
  if (shape === "C" || phase === "" || phase === "Preparing" || phase === "Post") return false;
  if (restoredPhase(state) !== undefined) return false;
  if (openActions(actionsFor(actions, Workflow, keyOf(metadata))).length > 0) return false;
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (supervise(state, { isDeleted }, now, settings) !== undefined) return false;
  if (isTerminal(phase)) return metadata.finalizers?.includes(finalizer) !== true;
  return rerenderAsked(workflow) === undefined && status?.["observedGeneration"] === metadata.generation;
}
