import { type Environment, exitCode, type Invocation, type Output, UsageError } from "#kernel/command/index.ts";
import type { WharfRunOptions } from "./run-options.ts";
import { hasErrors, parseDuration, SlipwayError } from "#lib/base/index.ts";
import { clusterOf } from "./step-cluster.ts";
import { printPlan, tryOut } from "./dry-run.ts";
import { tell, worldOf } from "./reading.ts";
import { consoleLog } from "./own-log.ts";
import { readWanted, selectionOf, type Wanted } from "./rerun.ts";
import { serveOf, servingAccess } from "./serving.ts";
import { isTold, readWharfSettings, settingsCode } from "./settings.ts";
import { type BuildOver, type BuildSignals, watchSignals } from "./signals.ts";
import { type ReadDefinition, readDefinition } from "../world/read-definition.ts";
import { type FormerBuild, noteSelection, withoutDone } from "../worker/former-build.ts";
import { chooseRuntime } from "../worker/choose-runtime.ts";
import { startBuild } from "../worker/start-build.ts";
import { artifactLimits, planSettings } from "../configuration/plan-settings.ts";
import { counterPath, peekBuildId, takeBuildId } from "../configuration/build-counter.ts";
import { directoryPlace } from "../secrets/directory-place.ts";
import { serverPlace } from "../secrets/server-place.ts";

type RunInvocation = Invocation<WharfRunOptions>;

/** Runs a build with this process as its worker. Exit codes are those of the original's worker: 1 failed, nothing to
 * run or wrong arguments, 2 forced, 3 not ended within the grace period, 4 wrong settings, 128 plus the number of the
 * signal that canceled it. */
export async function runWharfBuild(invocation: RunInvocation, path: string | undefined): Promise<number> {
  try {
    return await runToEnd(invocation, path);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    // The usual code for wrong arguments means a forced end here.
    const { message, hint } = thrown;
    throw new SlipwayError("wharf-arguments", message, hint === undefined ? {} : { hint });
  }
}

async function runToEnd(invocation: RunInvocation, path: string | undefined): Promise<number> {
  const { options, environment, clock } = invocation;
  const [limits, look, serve] = [await readLimits(options), await lookOf(options, environment.out), serveOf(options)];
  const configuration = await readWharfSettings(environment, options.loglevel);
  if (configuration === undefined) return settingsCode;
  const settings = planSettings(configuration, options.instance);
  const log = consoleLog(options.loglevel ?? "info", (text) => environment.err.write(text));
  const ready = await readBuild(invocation, path, settings);
  if (ready === undefined) return exitCode.failed;
  const { definition, buildId, wanted } = ready;
  const { instance } = settings;
  const { projectId, dryRun = "none" } = options;
  if (dryRun === "client") return await printPlan(definition, invocation);
  // The engine is checked before anything is created.
  const runtime = await chooseRuntime({
    name: options.runtime,
    configuration,
    build: { instance, buildId, projectId },
    pull: options.pull,
    cluster: clusterOf(options),
    isKept: options.keep === true,
    clock,
    signal: invocation.signal,
    variables: environment.all,
    onWarning: (text) => log.warn(text),
  });
  if (!runtime.ok) {
    invocation.signal.throwIfAborted();
    environment.err.write(`slipway: ${runtime.error.message}\n${runtime.error.hint}\n`);
    return exitCode.failed;
  }
  if (dryRun === "server") return await tryOut(definition, runtime.value, invocation);
  invocation.signal.throwIfAborted();
  const begun: { results?: BegunResults } = {};
  const signals: BuildSignals = watchSignals(invocation.process, {
    clock,
    graceMs: options.alwaysOnCancel === true ? undefined : limits.graceMs,
    kill: () => void runtime.value.close(),
    tell: (text) => environment.err.write(text),
    ended: () => overOf(begun.results, signals),
  });
  const started = await startBuild({
    definition,
    runtime: runtime.value,
    places: namesSecrets(definition) ? await secretPlaces(invocation) : [],
    buildId,
    projectId: projectId ?? 0,
    instance,
    resultsDirectory: options.resultsDir && resolved(options.resultsDir, environment.directory),
    temporary: environment.variable("TMPDIR") ?? "/tmp",
    variables: environment.all,
    withIgnored: !options.gitignore,
    withoutGit: !options.gitDir,
    ...limits,
    alwaysOnCancel: options.alwaysOnCancel === true,
    isKept: options.keep === true,
    clock,
    signal: signals.cancelled,
    serve:
      serve === undefined
        ? undefined
        : {
            address: serve,
            ...(await servingAccess(options, environment, (text) => log.info(text))),
            cancel: (reason) => signals.cancel(reason ?? "cancelled over the network"),
            log,
          },
    limits: artifactLimits(configuration),
    maxLineBytes: configuration["logs.maxLineBytes"],
    look,
    output: environment.out,
    onWarning: (text) => log.warn(text),
  }).catch((thrown: unknown) => {
    if (signals.cancelled.aborted) return undefined;
    throw thrown;
  });
  // Canceled before there were results.
  if (started === undefined) return signals.code() ?? exitCode.failed;
  if (!started.ok) {
    tell(started.error, definition, environment.err);
    return exitCode.failed;
  }
  const { ended, shown, door, results } = started.value;
  begun.results = results;
  log.debug("the build has started", { build: buildId, instance, results: results.directory });
  if (door !== undefined) log.info(`results are served at http://${door.address}`);
  // Without the note this build cannot be rerun; a full disk shows in the results.
  await noteSelection(results.directory, selectionOf(definition, wanted)).catch(() => undefined);
  // The display may lag behind, but the results are complete.
  const code = codeOf((await ended).status, signals);
  if (door !== undefined) await signals.next();
  await door?.close();
  // A reader that has stopped reading is not waited for.
  if (!(await shown)) invocation.process.exit(code);
  return code;
}

interface BegunResults {
  readonly frozen: boolean;
  readonly build: { readonly status: string; readonly frozen: boolean };
}

/** A build counts as ended once its document is frozen. */
const overOf = (results: BegunResults | undefined, signals: BuildSignals): BuildOver | undefined =>
  results?.build.frozen === true ? { code: codeOf(results.build.status, signals), isWhole: results.frozen } : undefined;

function codeOf(status: string, signals: BuildSignals): number {
  if (status === "Success") return exitCode.succeeded;
  return status === "Cancelled" ? (signals.code() ?? exitCode.failed) : exitCode.failed;
}

/** The definition and the number of the build; undefined after printing what is wrong. A number is taken only if there
 * is something to run. */
async function readBuild(
  invocation: RunInvocation,
  path: string | undefined,
  settings: ReturnType<typeof planSettings>,
): Promise<ReadyBuild | undefined> {
  const { options, environment, clock } = invocation;
  const world = { ...worldOf(environment, invocation.signal), sparesGit: true };
  const wanted = await readWanted(invocation, path);
  if (wanted === undefined) return undefined;
  const { former, ...chosen } = wanted;
  const place = { directory: environment.directory, path, file: options.file };
  const counter = counterPath(world);
  // The number is a variable of the definition, so it is needed before the definition can be read.
  let number = options.buildId ?? (await peekBuildId(counter));
  let isOwn = options.buildId !== undefined || isDry(options);
  for (;;) {
    const { projectId, strictVars: isStrict = false } = options;
    const choice = { ...chosen, buildId: number, projectId, isStrict, settings };
    const found = await readDefinition(place, choice, world);
    if (!found.ok) {
      const { message, hint } = found.error;
      environment.err.write(`slipway: ${message}\n${hint === undefined ? "" : `${hint}\n`}`);
      return undefined;
    }
    const definition = former === undefined ? found.value : await goingOn(found.value, former);
    const taken = isOwn || !canRun(definition) ? number : await takeBuildId(counter, clock);
    if (taken !== number) {
      [number, isOwn] = [taken, true];
      continue;
    }
    const told = definition.diagnostics.filter(isTold(options.loglevel ?? "info"));
    if (tell(told, definition, environment.err)) return undefined;
    return canRun(definition) ? { definition, buildId: number, wanted } : nothingToRun(wanted, environment);
  }
}

const isDry = ({ dryRun = "none" }: WharfRunOptions): boolean => dryRun !== "none";

interface ReadyBuild {
  readonly definition: ReadDefinition;
  readonly buildId: number;
  readonly wanted: Wanted;
}

async function goingOn(definition: ReadDefinition, { done }: FormerBuild): Promise<ReadDefinition> {
  const { prepared } = definition;
  if (prepared.plan === undefined) return definition;
  return { ...definition, prepared: { ...prepared, plan: withoutDone(prepared.plan, done) } };
}

const canRun = ({ prepared, diagnostics }: ReadDefinition): boolean =>
  !hasErrors(diagnostics) && prepared.plan?.stages.some(({ steps }) => steps.length > 0) === true;

/** A build without stages fails: the user expected something to run. */
function nothingToRun({ environment, stages, former }: Wanted, { err }: Environment): undefined {
  const filters = [
    environment === undefined ? "without --environment" : `with --environment ${environment}`,
    ...(stages.length === 0 ? [] : [`--stage ${stages.join(",")}`]),
  ];
  const why =
    former === undefined
      ? `no stage is selected ${filters.join(" and ")}`
      : `every step of build ${former.buildId} succeeded`;
  err.write(`slipway: nothing to run: ${why}\n`);
}

const namesSecrets = ({ prepared }: ReadDefinition): boolean =>
  prepared.plan?.stages.some(({ steps }) =>
    steps.some(
      ({ env, envFrom, mounts }) => envFrom.length + mounts.length > 0 || env.some((each) => "secretRef" in each),
    ),
  ) === true;

async function secretPlaces({ options, environment, signal, connect, host }: RunInvocation) {
  const running = await host.findRunning(options, environment);
  const own = directoryPlace(worldOf(environment, signal));
  return running === undefined ? [own] : [serverPlace(`the server of ${running}`, connect, signal), own];
}

const resolved = (path: string, directory: string): string => (path.startsWith("/") ? path : `${directory}/${path}`);

async function readLimits({ timeout, grace = "10s", maxParallel }: WharfRunOptions) {
  const read = (flag: string, text: string): number => {
    const duration = parseDuration(text);
    if (!duration.ok) throw new UsageError(`${flag}: ${duration.error}`);
    if (duration.value < 0) throw new UsageError(`${flag}: expected a duration of 0 or more, found ${text}`);
    return duration.value;
  };
  const timeoutMs = timeout === undefined ? undefined : read("--timeout", timeout);
  if (timeoutMs === 0) throw new UsageError("--timeout: expected a duration above 0");
  if (maxParallel !== undefined && maxParallel < 1) throw new UsageError("--max-parallel: expected 1 or more");
  return { timeoutMs, graceMs: read("--grace", grace), maxParallel };
}

const labelColors = ["cyan", "magenta", "blue", "yellow"] as const;

async function lookOf({ output = "auto", quiet, timestamps }: WharfRunOptions, out: Output) {
  const { colorsFor } = await import("#kernel/command/index.node.ts");
  const form = output === "auto" ? (out.isTerminal ? "pretty" : "plain") : output;
  const colors = colorsFor(form === "pretty" && out.color);
  const paint = {
    good: colors.green,
    bad: colors.red,
    waiting: colors.yellow,
    dim: colors.dim,
    bold: colors.bold,
    label: (index: number, text: string) => colors[labelColors[index % labelColors.length] ?? "cyan"](text),
  };
  return { form, paint, unicode: out.unicode, hasTimestamps: timestamps === true, isQuiet: quiet === true } as const;
}
