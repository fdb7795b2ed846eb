import { err, type FieldPath, isJsonObject, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { StepState } from "#engine/index.ts";
import { type ArtifactWish, isInnerPath } from "#kernel/artifacts/index.ts";
import type { InputArtifact, OutputArtifact, WorkflowStep } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { isStepKey } from "./shape.ts";
import type { StepSource } from "./step-source.ts";

// `from` is `<step>/<artifact>` and no expression, because files are part of the graph.

export interface CompiledInput {
  readonly name: string;
  readonly step: string;
  /** Its name there; `name/index` for one item. */
  readonly artifact: string;
  /** Of every item that left one. */
  readonly ofItems?: true;
  /** Below `$SLIPWAY_ARTIFACTS`. */
  readonly path: string;
  readonly optional: boolean;
}

/** Per step and direction. Each costs about 150 bytes of status. */
const mostArtifacts = 32;

/** Of all steps and items, so that the status fits the store. */
export const mostInWorkflow = 1_000;

export function checkArtifactCount(sources: readonly StepSource[], report: Report): void {
  const count = sources.reduce((sum, { step }) => sum + (step.outputArtifacts?.length ?? 0), 0);
  if (count <= mostInWorkflow) return;
  report(
    ["spec", "steps"],
    "too-many-artifacts",
    `expected at most ${mostInWorkflow} artifacts in all, found ${count}`,
  );
}

const pathOf = ({ name, path = name }: InputArtifact | OutputArtifact): string => path;

interface Producers {
  readonly steps: ReadonlyMap<string, StepSource>;
  readonly isVisible: (key: string) => boolean;
}

/** The inputs of a step. Invalid ones are reported and left out. */
export function compileInputs(
  { key, step, path }: StepSource,
  { steps, isVisible }: Producers,
  report: Report,
): readonly CompiledInput[] {
  const list = step.inputs?.artifacts ?? [];
  const at = [...path, "inputs", "artifacts"];
  checkList(step, list, at, report);
  checkOverlaps(list, at, report);
  return list.flatMap((input, index) => {
    const found = producerOf(input.from, key, steps, isVisible);
    if (!found.ok) report([...at, index, "from"], "unknown-artifact", found.error);
    if (!found.ok) return [];
    return [{ name: input.name, ...found.value, path: pathOf(input), optional: input.optional === true }];
  });
}

export function compileLeaves({ step, path }: StepSource, report: Report): readonly ArtifactWish[] {
  const list = step.outputArtifacts ?? [];
  const at = [...path, "outputArtifacts"];
  checkList(step, list, at, report);
  return list.map(({ name, optional, archive, path: given = name }) => ({
    name,
    path: given,
    ...(optional === undefined ? {} : { optional }),
    ...(archive === undefined ? {} : { archive }),
  }));
}

function checkList(
  step: WorkflowStep,
  list: readonly (InputArtifact | OutputArtifact)[],
  at: FieldPath,
  report: Report,
): void {
  if (list.length === 0) return;
  if (step.jobTemplate === undefined && step.container === undefined)
    report(at, "forbidden", "only jobTemplate and container steps take and leave artifacts: they run Pods");
  if (list.length > mostArtifacts)
    report(at, "too-many-artifacts", `expected at most ${mostArtifacts} artifacts, found ${list.length}`);
  for (const [index, one] of list.entries()) {
    if (!isStepKey(one.name))
      report([...at, index, "name"], "invalid-value", `expected letters, digits, "-" and "_", found "${one.name}"`);
    else if (!isInnerPath(pathOf(one))) {
      const message = `expected a relative path below $SLIPWAY_ARTIFACTS without "." and "..", found "${pathOf(one)}"`;
      report([...at, index, "path"], "invalid-value", message);
    }
  }
}

/** Two inputs would overwrite each other. */
function checkOverlaps(list: readonly InputArtifact[], at: FieldPath, report: Report): void {
  for (const [index, one] of list.entries()) {
    const other = list
      .slice(0, index)
      .find((before) => isWithin(pathOf(one), pathOf(before)) || isWithin(pathOf(before), pathOf(one)));
    if (other !== undefined)
      report([...at, index], "overlapping-paths", `is put at "${pathOf(one)}", where "${other.name}" is put, too`);
  }
}

const isWithin = (path: string, other: string): boolean => path === other || path.startsWith(`${other}/`);

function producerOf(
  from: string,
  user: string,
  steps: ReadonlyMap<string, StepSource>,
  isVisible: Producers["isVisible"],
): Result<Pick<CompiledInput, "step" | "artifact" | "ofItems">, string> {
  const [key = "", artifact = "", index, ...more] = from.split("/");
  if (artifact === "" || more.length > 0 || !/^\d*$/.test(index ?? "")) {
    const [, step, name] = /^(?:\$\{\{ *)?steps\.([\w-]+)\.(?:outputs\.)?artifacts\.([\w-]+)/.exec(from) ?? [];
    const meant = step === undefined ? "" : `, did you mean "${step}/${name}"`;
    return err(`expected STEP/ARTIFACT, found "${from}"${meant}`);
  }
  const producer = steps.get(key);
  if (producer?.key !== key)
    return err(`no step "${key}"${suggestion(key, [...new Set([...steps.values()].map((source) => source.key))])}`);
  if (!isVisible(key)) return err(`step "${user}" does not depend on "${key}", so its artifacts are not there yet`);
  const names = (producer.step.outputArtifacts ?? []).map(({ name }) => name);
  const isFan = producer.step.forEach !== undefined;
  if (index !== undefined && !isFan) return err(`step "${key}" has no items, expected "${key}/${artifact}"`);
  if (names.includes(artifact) && index !== undefined)
    return ok({ step: key, artifact: `${artifact}/${Number(index)}` });
  if (names.includes(artifact)) return ok({ step: key, artifact, ...(isFan ? { ofItems: true } : {}) });
  const told = names.length === 0 ? `: it leaves none` : suggestion(artifact, names);
  return err(`no artifact "${artifact}" of "${key}"${told}`);
}

function suggestion(name: string, known: readonly string[]): string {
  const close = nearest(name, known);
  return close === undefined ? "" : `, did you mean "${close}"`;
}

/** The first missing input that is required; undefined if all are there. */
export const missingInput = (
  inputs: readonly CompiledInput[],
  state: (key: string) => StepState,
): CompiledInput | undefined =>
  inputs.find((input) => !input.optional && !input.ofItems && leftFor(input, state).length === 0);

/** Stored artifacts of an input, by path. Those of items go below the path, by index. */
export function leftFor(
  { step, artifact, path, ofItems }: CompiledInput,
  state: (key: string) => StepState,
): readonly { readonly path: string; readonly stored: JsonObject }[] {
  const { artifacts = {} } = state(step);
  const names = ofItems ? Object.keys(artifacts).filter((name) => name.startsWith(`${artifact}/`)) : [artifact];
  return names.flatMap((name) => {
    const stored = artifacts[name];
    const at = ofItems ? `${path}${name.slice(artifact.length)}` : path;
    return isJsonObject(stored) ? [{ path: at, stored }] : [];
  });
}
