import { exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";
import { buildsOf, ownRoot } from "../results/place.ts";
import { readResults } from "../results/read-results.ts";
import { pruneResults } from "../results/prune.ts";
import { serveResults } from "../worker-api/serve-results.ts";
import { servingAccess } from "./serving.ts";
import { consoleLog } from "./own-log.ts";
import { aborted, parseDuration } from "#lib/base/index.ts";

export interface ResultsOptions {
  readonly address?: string;
  readonly authTokenFile?: string;
  readonly anonymousAuth?: boolean;
  readonly keep?: number;
  readonly olderThan?: string;
  readonly resultsDir?: string;
}

type ResultsInvocation = Invocation<ResultsOptions>;

const usualAddress = "127.0.0.1:5010";

export async function serveBuildResults(invocation: ResultsInvocation, directory: string | undefined): Promise<number> {
  const { options, environment, clock, signal } = invocation;
  if (directory === undefined) throw new UsageError("serve: expected the directory of the results");
  const { address = usualAddress } = options;
  const access = await servingAccess(options, environment, (text) => environment.err.write(`slipway: ${text}\n`));
  const results = await readResults(resolved(invocation, directory), clock);
  const log = consoleLog("warn", (text) => environment.err.write(text));
  const door = await serveResults(results, { address, ...access, clock, log });
  const { buildId, status } = results.build;
  environment.err.write(`slipway: build ${buildId} (${status}) is served until this ends\n`);
  environment.out.write(`http://${door.address}\n`);
  await aborted(signal);
  await door.close();
  process.exitCode = exitCode.succeeded;
  return exitCode.succeeded;
}

/** Prints each removed directory. Without a bound it would remove everything, so one is required. */
export async function pruneBuilds(invocation: ResultsInvocation): Promise<number> {
  const { options, environment, clock } = invocation;
  const { keep, olderThan, resultsDir } = options;
  if (keep === undefined && olderThan === undefined)
    throw new UsageError("prune: expected --keep NUMBER, --older-than DURATION, or both");
  const age = olderThan === undefined ? undefined : parseDuration(olderThan);
  if (age !== undefined && !age.ok) throw new UsageError(`--older-than: ${age.error}`);
  if (age !== undefined && age.value < 0)
    throw new UsageError(`--older-than: expected a duration of 0 or more, found ${olderThan}`);
  const builds =
    resultsDir === undefined
      ? buildsOf(await ownRoot(environment.variable("TMPDIR") ?? "/tmp"))
      : resolved(invocation, resultsDir);
  const retention = { keep: keep ?? 0, ...(age === undefined ? {} : { olderThan: age.value }) };
  const log = consoleLog("warn", (text) => environment.err.write(text));
  const gone = await pruneResults(builds, retention, { now: clock.now(), log });
  for (const directory of gone) environment.out.write(`${directory}\n`);
  environment.err.write(`slipway: ${gone.length === 1 ? "1 build was" : `${gone.length} builds were`} removed\n`);
  return exitCode.succeeded;
}

const resolved = ({ environment }: ResultsInvocation, path: string): string =>
  path.startsWith("/") ? path : `${environment.directory}/${path}`;
