// The original silently runs nothing if a stage is misspelled or hidden by its environment. Both are errors here.

import { nearest } from "#lib/text/index.ts";
import type { Definition, Stage } from "../definition/definition.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import { reportUndeclared } from "../definition/environments.ts";
import type { Outline } from "../definition/outline.ts";

export interface Selection {
  readonly environment?: string | undefined;
  /** Names or comma-separated names; `ALL` or none selects all. */
  readonly stages: readonly string[];
}

export function checkEnvironment({ environment }: Selection, outline: Outline, reporter: Reporter): void {
  if (environment === undefined || outline.environments.has(environment)) return;
  const at = outline.root.members.find(({ name }) => name === "environments")?.at;
  const spot = { scope: "environments", ...(at === undefined ? {} : { at }) };
  if (environment === "") reporter.error(spot, "env-name-empty", "the name of an environment must not be empty");
  else reportUndeclared(spot, environment, outline.environments.keys(), reporter);
}

export function selectStages(
  { stages }: Pick<Definition, "stages">,
  selection: Selection,
  reporter: Reporter,
): readonly Stage[] {
  const { environment } = selection;
  const visible = stages.filter(
    (stage) =>
      stage.environments.length === 0 || (environment !== undefined && stage.environments.includes(environment)),
  );
  const wanted = selection.stages
    .flatMap((word) => word.split(","))
    .map((word) => word.trim())
    .filter((word) => word !== "");
  if (wanted.length === 0 || wanted.includes("ALL")) return visible;
  for (const name of new Set(wanted)) {
    if (visible.some((stage) => stage.name === name)) continue;
    const hidden = stages.find((stage) => stage.name === name);
    if (hidden === undefined) reportUnknown(name, stages, reporter);
    else reportHidden(hidden, environment, reporter);
  }
  return visible.filter(({ name }) => wanted.includes(name));
}

function reportUnknown(name: string, stages: readonly Stage[], { error }: Reporter): void {
  const names = stages.map((stage) => stage.name);
  const meant = nearest(name, names);
  const hint = meant === undefined ? `stages are ${names.slice(0, 20).join(", ")}` : `did you mean "${meant}"?`;
  error({ scope: "" }, "stage-undefined", `there is no stage "${name}"`, { hint });
}

function reportHidden({ name, environments, at }: Stage, environment: string | undefined, { error }: Reporter): void {
  const chosen = environment === undefined ? "without an environment" : `with the environment "${environment}"`;
  const hint = `it runs with ${environments.slice(0, 20).join(", ")}`;
  error({ scope: name, at }, "stage-undefined", `the stage "${name}" does not run ${chosen}`, { hint });
}
