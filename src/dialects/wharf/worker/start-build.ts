// Where everything about a build comes together: its definition, the machine, the results, the console. Nothing of it is decided here.

import { join } from "node:path";
import { withoutValues } from "#kernel/logs/index.ts";
import { type Clock, deferred, err, hasErrors, type Millis, ok, type Result } from "#lib/base/index.ts";
import { type ConsoleOutput, showBuild } from "../console/console.ts";
import type { Look } from "../console/look.ts";
import type { Diagnostic } from "../definition/diagnostics.ts";
import type { BuildPlan } from "../plan/step-plan.ts";
import { askNames, type ListOptions } from "../repository/list-names.ts";
import { openRepository, type RepositoryWarning } from "../repository/repository.ts";
import { buildsOf, ownRoot } from "../results/place.ts";
import { workDirectory } from "../results/results.ts";
import { type BuildEnd, createResults, type ResultsOptions, type ResultsStore } from "../results/results-store.ts";
import type { ArtifactLimits } from "../results/store-artifact.ts";
import type { ValuePlace } from "../secrets/find-values.ts";
import { secretTexts } from "../variables/secret-texts.ts";
import { createSubstituter } from "../variables/substitute.ts";
import type { HttpDoor } from "../http/index.ts";
import type { ServeResultsOptions } from "../worker-api/serve-results.ts";
import type { ReadDefinition } from "../world/read-definition.ts";
import { clearDeadBuilds, noteBuild } from "./live-builds.ts";
import { newBuild } from "./new-build.ts";
import { cancelledEnd, runBuild } from "./run-build.ts";
import { materialOf } from "./step-material.ts";
import type { StepRuntime } from "./step-runtime.ts";

/** Everything about a build that is not in its definition. */
export interface BuildOptions {
  /** Without errors. */
  readonly definition: ReadDefinition;
  readonly runtime: StepRuntime;
  /** Where secrets and config maps are looked for, in this order. */
  readonly places: readonly ValuePlace[];
  readonly buildId: number;
  readonly projectId: number;
  readonly instance: string;
  /** Absent: below the directory for temporary files, by the number of the build. */
  readonly resultsDirectory?: string | undefined;
  /** The directory for temporary files. */
  readonly temporary: string;
  /** All variables of the process, for Git. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** What of the project is copied. */
  readonly withIgnored: boolean;
  readonly withoutGit: boolean;
  readonly maxParallel?: number | undefined;
  readonly timeoutMs?: Millis | undefined;
  /** What a step that is cancelled has to end politely. */
  readonly graceMs: Millis;
  /** Stages that run always do so after a cancel as well. */
  readonly alwaysOnCancel: boolean;
  /** What failed steps have worked in stays. */
  readonly isKept: boolean;
  readonly clock: Clock;
  /** Aborted: the build is cancelled. */
  readonly signal: AbortSignal;
  /** Serves the results while and after the build. Absent: nobody but this process reads them. */
  readonly serve?: Pick<ServeResultsOptions, "address" | "token" | "allowsAnonymous" | "cancel" | "log"> | undefined;
  readonly limits?: ArtifactLimits | undefined;
  readonly maxLineBytes?: number | undefined;
  readonly look: Look;
  readonly output: ConsoleOutput;
  /** What is worth knowing and fails nothing. */
  readonly onWarning: (message: string) => void;
}

/** A build that is under way. */
export interface StartedBuild {
  readonly results: ResultsStore;
  /** How it ended, once its results are frozen. Rejects for faults of ours. */
  readonly ended: Promise<BuildEnd>;
  /** After the end: whether all that was to be shown has been taken by its reader. */
  readonly shown: Promise<boolean>;
  /** Where the results are served; the caller closes it. */
  readonly door: HttpDoor | undefined;
}

/**
 * Begins a build, unless something stands against its steps here. Before that it ends what workers of this user that were killed have left. Rejects when there is no
 * place for results, or the project cannot be read.
 */
export async function startBuild(options: BuildOptions): Promise<Result<StartedBuild, readonly Diagnostic[]>> {
  const { definition, runtime, clock, signal, temporary } = options;
  const plan = definition.prepared.plan ?? { stages: [] };
  const objections = await runtime.check(
    plan.stages.flatMap(({ steps }) => steps),
    signal,
  );
  // They name images, of which a password may be a part.
  const secrets = secretTexts(definition.prepared.variables);
  const shownObjections = objections.map((each) => ({ ...each, message: withoutValues(each.message, secrets) }));
  if (hasErrors(objections)) return err(shownObjections);
  for (const { message } of shownObjections) options.onWarning(message);
  // Stages that run also after a cancel need the project then, too.
  const untilCancel = options.alwaysOnCancel ? new AbortController().signal : signal;
  // Git answers while a place is made for the build.
  const { projectDirectory: directory } = definition.file;
  const asked = options.withIgnored
    ? undefined
    : askNames({ directory, environment: options.variables, signal: untilCancel });
  asked?.catch(() => undefined); // Who opens the repository hears of it.
  const root = await ownRoot(temporary);
  await clearDeadBuilds(root, clock.now(), options.onWarning);
  const wanted = options.resultsDirectory ?? join(buildsOf(root), `${options.buildId}`);
  // The address is had first: a port that is taken must not be found out after the build.
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
    // A build that nobody could clear away is not begun; whoever reads its results already sees their end.
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

/** Loaded only where somebody is to be served. */
async function openDoor(
  results: Promise<ResultsStore>,
  serve: NonNullable<BuildOptions["serve"]>,
  clock: Clock,
): Promise<HttpDoor> {
  const { serveResults } = await import("../worker-api/serve-results.ts");
  return await serveResults(results, { ...serve, clock });
}

/** What the disk does not take is told once, and what is too much is refused. */
const storeOptions = ({ clock, limits, maxLineBytes, isKept, onWarning }: BuildOptions): ResultsOptions => ({
  clock,
  keepsWork: isKept,
  onLoss: ({ message }) => onWarning(message),
  onLeftover: onWarning,
  ...(limits === undefined ? {} : { limits }),
  ...(maxLineBytes === undefined ? {} : { maxLineBytes }),
});

/** The build itself, from the copy of the project on. However it ends, its results are frozen. */
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
    // Before any step: nothing has failed.
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
    // Also when the project could not be read: who follows the results sees their end.
    await results.freeze();
  }
}
