import { command, exitCode, type Invocation, UsageError } from "#kernel/command/index.ts";

interface ResultsOptions {
  readonly address?: string;
  readonly authTokenFile?: string;
  readonly anonymousAuth?: boolean;
  readonly keep?: number;
  readonly olderThan?: string;
  readonly resultsDir?: string;
}

type ResultsInvocation = Invocation<ResultsOptions>;

const verbs = ["serve", "prune"] as const;
const usualAddress = "127.0.0.1:5010";

export const wharfResultsCommand = command<ResultsOptions>({
  name: "wharf results",
  args: ["<action>", "[directory]"],
  summary: "Serve the results of a build (serve) or remove old results (prune)",
  group: "Documents",
  examples: [
    "slipway wharf results serve /tmp/iver-wharf/build/7 --address 127.0.0.1:0",
    "slipway wharf results prune --keep 10 --older-than 168h",
  ],
  options: [
    { flags: "--address <host:port>", summary: `serve: address to listen on (default: ${usualAddress})` },
    {
      flags: "--auth-token-file <file>",
      summary: "serve: bearer token that clients must present (default: a random one)",
    },
    { flags: "--anonymous-auth", summary: "serve: also serve clients without credentials" },
    { flags: "--keep <number>", summary: "prune: number of newest builds to keep", integer: true },
    { flags: "--older-than <duration>", summary: "prune: remove only builds that ended longer ago, such as 168h" },
    {
      flags: "--results-dir <directory>",
      summary: "prune: directory of results (default: those of this user's builds)",
    },
  ],
  completes: [verbs, "file"],
  async action(invocation) {
    const { actionWord } = await import("#kernel/command/index.ts");
    const [action = "", directory] = invocation.args;
    if (actionWord(verbs, action) === "serve") return await serve(invocation, directory);
    if (directory !== undefined) throw new UsageError(`prune: expected --results-dir ${directory}`);
    return await prune(invocation);
  },
});

/** Serves until the process is interrupted. Seals results whose worker has died. */
async function serve(invocation: ResultsInvocation, directory: string | undefined): Promise<number> {
  const { options, environment, clock, signal } = invocation;
  if (directory === undefined) throw new UsageError("serve: expected the directory of the results");
  const { loadResults } = await import("../dialect.ts");
  const { aborted } = await import("#lib/base/index.ts");
  const wharf = await loadResults();
  const { servingAccess } = await import("./serving.ts");
  const { consoleLog } = await import("./own-log.ts");
  const { address = usualAddress } = options;
  const access = await servingAccess(options, environment, (text) => environment.err.write(`slipway: ${text}\n`));
  const results = await wharf.readResults(resolved(invocation, directory), clock);
  const log = consoleLog("warn", (text) => environment.err.write(text));
  const door = await wharf.serveResults(results, { address, ...access, clock, log });
  const { buildId, status } = results.build;
  environment.err.write(`slipway: build ${buildId} (${status}) is served until this ends\n`);
  environment.out.write(`http://${door.address}\n`);
  await aborted(signal);
  await door.close();
  // Interruption is the normal end of this command.
  process.exitCode = exitCode.succeeded;
  return exitCode.succeeded;
}

/** Prints each removed directory. Without a bound it would remove everything, so one is required. */
async function prune(invocation: ResultsInvocation): Promise<number> {
  const { options, environment, clock } = invocation;
  const { keep, olderThan, resultsDir } = options;
  if (keep === undefined && olderThan === undefined)
    throw new UsageError("prune: expected --keep NUMBER, --older-than DURATION, or both");
  const { loadResults } = await import("../dialect.ts");
  const { parseDuration } = await import("#lib/base/index.ts");
  const age = olderThan === undefined ? undefined : parseDuration(olderThan);
  if (age !== undefined && !age.ok) throw new UsageError(`--older-than: ${age.error}`);
  if (age !== undefined && age.value < 0)
    throw new UsageError(`--older-than: expected a duration of 0 or more, found ${olderThan}`);
  const { buildsIn, pruneResults } = await loadResults();
  const builds =
    resultsDir === undefined
      ? await buildsIn(environment.variable("TMPDIR") ?? "/tmp")
      : resolved(invocation, resultsDir);
  const retention = { keep: keep ?? 0, ...(age === undefined ? {} : { olderThan: age.value }) };
  const { consoleLog } = await import("./own-log.ts");
  const log = consoleLog("warn", (text) => environment.err.write(text));
  const gone = await pruneResults(builds, retention, { now: clock.now(), log });
  for (const directory of gone) environment.out.write(`${directory}\n`);
  environment.err.write(`slipway: ${gone.length === 1 ? "1 build was" : `${gone.length} builds were`} removed\n`);
  return exitCode.succeeded;
}

const resolved = ({ environment }: ResultsInvocation, path: string): string =>
  path.startsWith("/") ? path : `${environment.directory}/${path}`;
