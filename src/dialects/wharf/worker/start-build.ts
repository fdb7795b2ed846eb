import { createHash } from "node:crypto";
import { withoutValues } from "#kernel/streams/index.ts";
import type { BuildPlan } from "../plan/step-plan.ts";
import {
  type BuildEnd,
  createResults,
  type NewBuild,
  type ResultsOptions,
  type ResultsStore,
} from "../results/results-store.ts";
import { secretTexts } from "../variables/secret-texts.ts";
import type { ReadDefinition } from "../world/read-definition.ts";
import { join } from "node:path";
import { type Clock, deferred, err, hasErrors, type Millis, ok, type Result } from "#lib/base/index.ts";
import { type ConsoleOutput, showBuild } from "../console/console.ts";
import type { Look } from "../console/look.ts";
import type { Diagnostic } from "../definition/diagnostics.ts";
import { askNames, type ListOptions } from "../repository/list-names.ts";
import { openRepository } from "../repository/repository.ts";
import type { RepositoryWarning } from "../repository/entry.ts";
import { buildsOf, ownRoot } from "../results/place.ts";
import { workDirectory } from "../results/results.ts";
import type { ArtifactLimits } from "../results/store-artifact.ts";
import type { ValuePlace } from "../secrets/find-values.ts";
import { createSubstituter } from "../variables/substitute.ts";
import type { HttpDoor } from "../http/index.ts";
import type { ServeResultsOptions } from "../worker-api/serve-results.ts";
import { clearDeadBuilds, noteBuild } from "./live-builds.ts";
import { cancelledEnd, runBuild } from "./run-build.ts";
import { materialOf } from "./step-material.ts";
import type { StepRuntime } from "./step-runtime.ts";

interface BuildOptions {
  readonly definition: ReadDefinition;
  readonly runtime: StepRuntime;
  readonly places: readonly ValuePlace[];
  readonly buildId: number;
  readonly projectId: number;
  readonly instance: string;
  readonly resultsDirectory?: string | undefined;
  readonly temporary: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly withIgnored: boolean;
  readonly withoutGit: boolean;
  readonly maxParallel?: number | undefined;
  readonly timeoutMs?: Millis | undefined;
  readonly graceMs: Millis;
  readonly alwaysOnCancel: boolean;
  readonly isKept: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly serve?: Pick<ServeResultsOptions, "address" | "token" | "allowsAnonymous" | "cancel" | "log"> | undefined;
  readonly limits?: ArtifactLimits | undefined;
  readonly maxLineBytes?: number | undefined;
  readonly look: Look;
  readonly output: ConsoleOutput;
  readonly onWarning: (message: string) => void;
}

interface StartedBuild {
  readonly results: ResultsStore;
  /** Resolves when the results are frozen. Rejects for internal faults. */
  readonly ended: Promise<BuildEnd>;
  readonly shown: Promise<boolean>;
  readonly door: HttpDoor | undefined;
}

/** Checks the steps and starts a build, after cleaning up what killed workers left. Rejects if results cannot be
 * created or the project cannot be read. */
export async function startBuild(options: BuildOptions): Promise<Result<StartedBuild, readonly Diagnostic[]>> {
  const { definition, runtime, clock, signal, temporary } = options;
  const plan = definition.prepared.plan ?? { stages: [] };
  const objections = await runtime.check(
    plan.stages.flatMap(({ steps }) => steps),
    signal,
  );
  // Messages contain image names, which may contain secrets.
  const secrets = secretTexts(definition.prepared.variables);
  const shownObjections = objections.map((each) => ({ ...each, message: withoutValues(each.message, secrets) }));
  if (hasErrors(objections)) return err(shownObjections);
  for (const { message } of shownObjections) options.onWarning(message);
  // Stages that run after a cancel need the project.
  const untilCancel = options.alwaysOnCancel ? new AbortController().signal : signal;
  const { projectDirectory: directory } = definition.file;
  const asked = options.withIgnored
    ? undefined
    : askNames({ directory, environment: options.variables, signal: untilCancel });
  asked?.catch(() => undefined); // Who opens the repository hears of it.
  const root = await ownRoot(temporary);
  await clearDeadBuilds(root, clock.now(), options.onWarning);
  const wanted = options.resultsDirectory ?? join(buildsOf(root), `${options.buildId}`);
  // Listens first: an address in use must not be found out after the build.
  const served = deferred<ResultsStore>();
  const door = options.serve && (await openDoor(served.promise, options.serve, clock));
  const address = door === undefined ? {} : { address: door.address };
  const results = await createResults(
    wanted,
    { ...newBuild(plan, definition, { ...options, runtime: runtime.name }), ...address },
    storeOptions(options),
  ).catch(async (thrown: unknown) => {
    await door?.close();
    throw thrown;
  });
  served.resolve(results);
  const forget = await noteBuild(root, results.directory).catch(async (thrown: unknown) => {
    // Without a note nobody would clean up; the results are frozen so that readers see the end.
    await results.freeze();
    await door?.close();
    throw thrown;
  });
  const carried = async (): Promise<BuildEnd> => {
    try {
      return await carryOut(plan, results, { ...options, asked, untilCancel });
    } finally {
      await forget();
    }
  };
  const shown = showBuild(results, options.look, options.output, clock);
  return ok({ results, shown, door, ended: carried() });
}

async function openDoor(
  results: Promise<ResultsStore>,
  serve: NonNullable<BuildOptions["serve"]>,
  clock: Clock,
): Promise<HttpDoor> {
  const { serveResults } = await import("../worker-api/serve-results.ts");
  return await serveResults(results, { ...serve, clock });
}

const storeOptions = ({ clock, limits, maxLineBytes, isKept, onWarning }: BuildOptions): ResultsOptions => ({
  clock,
  keepsWork: isKept,
  onLoss: ({ message }) => onWarning(message),
  onLeftover: onWarning,
  ...(limits === undefined ? {} : { limits }),
  ...(maxLineBytes === undefined ? {} : { maxLineBytes }),
});

async function carryOut(
  plan: BuildPlan,
  results: ResultsStore,
  options: BuildOptions & Pick<ListOptions, "asked"> & { readonly untilCancel: AbortSignal },
): Promise<BuildEnd> {
  const { definition, runtime, places, clock, signal, asked, untilCancel } = options;
  const { projectDirectory } = definition.file;
  const { variables } = definition.prepared;
  try {
    const repository = await openRepository({
      directory: projectDirectory,
      work: workDirectory(results.directory),
      environment: options.variables,
      withIgnored: options.withIgnored,
      withoutGit: options.withoutGit,
      excluded: [results.directory],
      asked,
      isForOne: plan.stages.flatMap(({ steps }) => steps).length === 1,
      signal: untilCancel,
      onWarning: ({ message }: RepositoryWarning) => options.onWarning(message),
    }).catch((thrown: unknown) => {
      if (untilCancel.aborted) return undefined;
      throw thrown;
    });
    if (repository === undefined) return await results.finish(cancelledEnd);
    const substituter = createSubstituter(variables);
    return await runBuild({
      plan,
      results,
      runtime,
      repository,
      clock,
      signal,
      materialOf: (step) => materialOf(step, { projectDirectory, substituter, places, runtime }),
      masked: secretTexts(variables),
      graceMs: options.graceMs,
      isKept: options.isKept,
      maxParallel: options.maxParallel,
      timeoutMs: options.timeoutMs,
      alwaysOnCancel: options.alwaysOnCancel,
    });
  } finally {
    await runtime.close();
    // Also if the project cannot be read: readers must see the end.
    await results.freeze();
  }
}

/** Names and images may contain secrets, which are masked because results are shown to others. */
export function newBuild(
  plan: BuildPlan,
  {
    file,
    prepared,
  }: {
    readonly file: Pick<ReadDefinition["file"], "bytes">;
    readonly prepared: Pick<ReadDefinition["prepared"], "variables">;
  },
  { buildId, projectId, instance, runtime }: Pick<NewBuild, "buildId" | "projectId" | "instance" | "runtime">,
): NewBuild {
  const secrets = secretTexts(prepared.variables);
  const shown = (text: string): string => withoutValues(text, secrets);
  return {
    buildId,
    projectId,
    instance,
    runtime,
    definitionSha256: createHash("sha256").update(file.bytes).digest("hex"),
    stages: plan.stages.map(({ stageId, name, runsIf }) => ({ stageId, name: shown(name), runsIf })),
    steps: plan.stages.flatMap(({ stageId, steps }) =>
      steps.map(({ stepId, step, type, image }) => ({ stepId, stageId, name: shown(step), type, image: shown(image) })),
    ),
  };
}
