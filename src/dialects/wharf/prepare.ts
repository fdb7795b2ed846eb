import { getOrAdd } from "#lib/base/index.ts";
import type { Definition } from "./definition/definition.ts";
import { below, createReporter, type Diagnostic, type Reporter, type Spot } from "./definition/diagnostics.ts";
import { type Outline, readOutline } from "./definition/outline.ts";
import { readStage } from "./definition/stages.ts";
import { textOf } from "./definition/text.ts";
import type { Member } from "./definition/node.ts";
import { planBuild } from "./plan/plan-build.ts";
import { checkEnvironment } from "./plan/select.ts";
import { defaultSettings, type PlanSettings } from "./plan/settings.ts";
import type { BuildPlan } from "./plan/step-plan.ts";
import { type GivenInput, inputVariables } from "./variables/input-variables.ts";
import { buildVariables, environmentVariables } from "./variables/sources.ts";
import { createSubstituter } from "./variables/substitute.ts";
import { substituteStage } from "./variables/substitute-node.ts";
import {
  type ListedVariable,
  listVariables,
  resolveVariables,
  type Variable,
  type Variables,
} from "./variables/variable.ts";

/** A definition and everything that decides what it means. Nothing is read from disk. */
export interface PrepareRequest {
  readonly bytes: Uint8Array;
  readonly file: string;
  readonly inputs?: ReadonlyMap<string, GivenInput>;
  readonly environment?: string | undefined;
  readonly stages?: readonly string[];
  /** Values of BUILD_REF and PROJECT_ID, which files and the environment may override. */
  readonly buildId?: number | undefined;
  readonly projectId?: number | undefined;
  readonly surroundings?: readonly Variable[];
  /** Undefined variables are errors. */
  readonly isStrict?: boolean;
  readonly settings?: PlanSettings;
}

export interface Prepared {
  readonly diagnostics: readonly Diagnostic[];
  /** Absent if the text is no definition; with errors it is as complete as could be read. */
  readonly outline?: Outline;
  readonly definition?: Definition;
  readonly plan?: BuildPlan;
  readonly variables: Variables;
  readonly listed: readonly ListedVariable[];
  /** Variables used in stages that are not set, with their places. */
  readonly unknown: UnknownVariables;
}

export type UnknownVariables = ReadonlyMap<string, readonly Spot[]>;

export function prepare(request: PrepareRequest): Prepared {
  const reporter = createReporter(request.file);
  const text = textOf(request.bytes, reporter);
  const outline = text === undefined ? undefined : readOutline(text, reporter);
  if (outline === undefined) {
    const given = otherVariables(request);
    const variables = resolveVariables(given);
    return { diagnostics: reporter.diagnostics(), variables, listed: listVariables(given), unknown: new Map() };
  }
  const { environment, stages = [], settings = defaultSettings } = request;
  const given = [...ownVariables(outline, request, reporter), ...otherVariables(request)];
  const variables = resolveVariables(given);
  const substituter = createSubstituter(variables);
  checkEnvironment({ environment, stages }, outline, reporter);
  const unknown = new Map<string, Spot[]>();
  const onUnknown = (name: string, spot: Spot): void => {
    getOrAdd(unknown, name, () => []).push(spot);
  };
  const { isStrict = false } = request;
  const options = { substituter, reporter, isStrict, names: [...variables.keys()], onUnknown };
  const definition = readStages(outline, options);
  const plan = planBuild(definition, { environment, stages, substituter, settings }, reporter);
  const listed = listVariables(given);
  return { diagnostics: reporter.diagnostics(), outline, definition, plan, variables, listed, unknown };
}

const otherVariables = ({ buildId, projectId, surroundings = [] }: PrepareRequest): readonly Variable[] => [
  ...buildVariables({ buildId, projectId }),
  ...surroundings,
];

function ownVariables(outline: Outline, request: PrepareRequest, reporter: Reporter): readonly Variable[] {
  const { inputs = new Map<string, GivenInput>(), environment } = request;
  const selected = environment === undefined ? undefined : outline.environments.get(environment);
  return [
    ...inputVariables(outline.inputs, inputs, reporter),
    ...(selected === undefined ? [] : environmentVariables(selected)),
  ];
}

function readStages(outline: Outline, options: Parameters<typeof substituteStage>[2]): Definition {
  const { inputs, environments } = outline;
  const declared = new Set(environments.keys());
  const { reporter } = options;
  const stages = substitutedStages(outline, options).flatMap((stage) => readStage(stage, declared, reporter) ?? []);
  return { inputs, environments, stages };
}

export const substitutedStages = (
  { stages }: Outline,
  options: Parameters<typeof substituteStage>[2],
): readonly Member[] =>
  stages.map((stage) => ({ ...stage, value: substituteStage(stage.value, below("", stage.name), options) }));
