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

/** A definition, and everything that decides what it means. Nothing is read from the world here. */
export interface PrepareRequest {
  readonly bytes: Uint8Array;
  /** The name of the file in problems. */
  readonly file: string;
  /** Values of inputs, as texts. */
  readonly inputs?: ReadonlyMap<string, GivenInput>;
  /** Selects variables and stages; absent: no environment. */
  readonly environment?: string | undefined;
  /** Selects stages, as words of the command line; none: all. */
  readonly stages?: readonly string[];
  /** The variables `BUILD_REF` and `PROJECT_ID`, which a file or the environment may say otherwise. */
  readonly buildId?: number | undefined;
  readonly projectId?: number | undefined;
  /** Variables of the process, of files and of Git. */
  readonly surroundings?: readonly Variable[];
  /** Variables that nobody has are errors. */
  readonly isStrict?: boolean;
  readonly settings?: PlanSettings;
}

export interface Prepared {
  /** In the order of the file; with errors among them nothing may be run. */
  readonly diagnostics: readonly Diagnostic[];
  /** Everything below is absent when the text is no definition; with errors it is as far as it could be read. */
  readonly outline?: Outline;
  readonly definition?: Definition;
  readonly plan?: BuildPlan;
  /** Those that hold, secrets among them. */
  readonly variables: Variables;
  /** Also those that are overridden. */
  readonly listed: readonly ListedVariable[];
  /** Names that stand in stages and that nobody has set, with where they stand; they are left as they are written. */
  readonly unknown: UnknownVariables;
}

/** Places of the definition by name, in the order of the file. */
export type UnknownVariables = ReadonlyMap<string, readonly Spot[]>;

/** Reads, checks, substitutes and plans a definition; all problems at once. Pure. */
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
    const spots = unknown.get(name);
    if (spots === undefined) unknown.set(name, [spot]);
    else spots.push(spot);
  };
  const { isStrict = false } = request;
  const options = { substituter, reporter, isStrict, names: [...variables.keys()], onUnknown };
  const definition = readStages(outline, options);
  const plan = planBuild(definition, { environment, stages, substituter, settings }, reporter);
  const listed = listVariables(given);
  return { diagnostics: reporter.diagnostics(), outline, definition, plan, variables, listed, unknown };
}

/** Variables that nothing in the definition decides. */
const otherVariables = ({ buildId, projectId, surroundings = [] }: PrepareRequest): readonly Variable[] => [
  ...buildVariables({ buildId, projectId }),
  ...surroundings,
];

/** Variables that the definition declares: its inputs, and those of the selected environment. */
function ownVariables(outline: Outline, request: PrepareRequest, reporter: Reporter): readonly Variable[] {
  const { inputs = new Map<string, GivenInput>(), environment } = request;
  const selected = environment === undefined ? undefined : outline.environments.get(environment);
  return [
    ...inputVariables(outline.inputs, inputs, reporter),
    ...(selected === undefined ? [] : environmentVariables(selected)),
  ];
}

/** The stages, substituted and read, whether they are selected or not: what is wrong with them is wrong on every machine. */
function readStages(outline: Outline, options: Parameters<typeof substituteStage>[2]): Definition {
  const { inputs, environments } = outline;
  const declared = new Set(environments.keys());
  const { reporter } = options;
  const stages = substitutedStages(outline, options).flatMap((stage) => readStage(stage, declared, reporter) ?? []);
  return { inputs, environments, stages };
}

/** The stages with their variables, as nodes; their names stay as they are. */
export const substitutedStages = (
  { stages }: Outline,
  options: Parameters<typeof substituteStage>[2],
): readonly Member[] =>
  stages.map((stage) => ({ ...stage, value: substituteStage(stage.value, below("", stage.name), options) }));
