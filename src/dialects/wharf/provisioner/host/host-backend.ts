import { type FSWatcher, watch } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, hasCode, type Logger, messageOf, parseInstant, recover } from "#lib/base/index.ts";
import { isDead, type Owner, signalGroup } from "#lib/base/index.node.ts";
import { isFinal } from "../../results/build-document.ts";
import { readBuild } from "../../results/read-build.ts";
import { buildFile, workDirectory } from "../../results/results.ts";
import { readDocument } from "../../results/stored-documents.ts";
import { tcpConnect } from "../../worker-api/tcp-connect.ts";
import { killLeftovers } from "../../worker/host/leftovers.ts";
import type { Ending, Observed, WorkerBackend, WorkerIdentity } from "../backend.ts";
import { EndedResults, type ServedResults } from "../ended-results.ts";
import { provisionerError } from "../errors.ts";
import { writeFailedResults } from "../failed-results.ts";
import type { WorkerRequest } from "../parameters.ts";
import { answersPing, type AskedWorker, askToCancel } from "../worker-client.ts";
import { type LauncherProgram, spawnLauncher } from "./spawn-launcher.ts";
import {
  claimWorker,
  directoryName,
  dropRequests,
  lastOutput,
  type LaunchRequest,
  noOwner,
  ownerOf,
  readAccessToken,
  readFacts,
  resultsDirectory,
  writeRequest,
} from "./worker-directory.ts";

export interface HostOptions {
  readonly directory: string;
  readonly program: LauncherProgram;
  readonly runtime: LaunchRequest["runtime"];
  readonly serve: (directory: string, token: string) => Promise<ServedResults>;
  readonly tokenOf: (uid: string) => string;
  readonly changed: (worker: WorkerIdentity) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const mostLaunches = 3;
const mostLines = 200;

/** Workers as detached processes, identified by their directories. */
export class HostBackend implements WorkerBackend {
  readonly name = "host";
  readonly #options: HostOptions;
  readonly #news = new DirectoryNews();
  readonly #launches = new Map<string, { running: boolean; count: number }>();
  readonly #ended: EndedResults;
  readonly #known = new Set<string>();
  readonly #tidied = new Set<string>();

  constructor(options: HostOptions) {
    this.#options = options;
    this.#ended = new EndedResults(options.serve, options.clock);
  }

  async start(worker: WorkerIdentity, request: WorkerRequest): Promise<void> {
    const directory = this.#directory(worker);
    const launch = this.#launches.get(directory) ?? { running: false, count: 0 };
    if (launch.running || (await ownerOf(directory)) !== undefined) return;
    const id = await writeRequest(directory, {
      ...request,
      runtime: this.#options.runtime,
      accessToken: this.#options.tokenOf(worker.uid),
    });
    this.#news.follow(directory, () => this.#options.changed(worker));
    if (launch.count === mostLaunches) return await this.#giveUp(directory, request);
    this.#launches.set(directory, { running: true, count: launch.count + 1 });
    const ended = (failure?: Error): void => {
      if (failure !== undefined)
        this.#options.log.error("a worker cannot be started", { worker: worker.name, error: failure.message });
      this.#launches.set(directory, { running: false, count: launch.count + 1 });
      this.#options.changed(worker);
    };
    try {
      spawnLauncher([directory, id], this.#options.program, ended);
    } catch (thrown) {
      ended();
      throw provisionerError("worker-launch", `the worker ${worker.name} cannot be started: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    }
  }

  async observe(worker: WorkerIdentity): Promise<Observed> {
    const directory = this.#directory(worker);
    const owner = await ownerOf(directory);
    if (owner === undefined) {
      const isStarting = this.#launches.get(directory)?.running === true;
      return { phase: isStarting ? "starting" : "absent", isAlive: false, status: "Scheduling" };
    }
    this.#launches.delete(directory);
    const process = { process: owner };
    const results = resultsDirectory(directory);
    if (isGone(owner)) return { ...(await this.#observeEnded(directory, worker)), ...process };
    this.#news.follow(directory, () => this.#options.changed(worker));
    if ((await readDocument(buildFile(results))) === undefined)
      return { phase: "starting", isAlive: true, status: "Initializing", ...process };
    this.#news.follow(results, () => this.#options.changed(worker));
    await this.#tidy(directory);
    const build = await readBuild(results);
    // A program that could not begin serves nothing; its results are served after it has exited.
    const isOver = build.frozen && isFinal(build.status) && build.address !== undefined;
    const finishedAt = build.finishedAt === null ? undefined : parseInstant(build.finishedAt);
    return {
      phase: isOver ? "finished" : "running",
      isAlive: true,
      status: isOver ? build.status : "Running",
      address: build.address,
      finishedAt: isOver ? finishedAt : undefined,
      message: (await this.#whyDeaf(directory, build.address)) ?? build.message,
      ...process,
    };
  }

  async end(worker: WorkerIdentity, how: Ending): Promise<void> {
    const directory = this.#directory(worker);
    const owner = await ownerOf(directory);
    if (owner === undefined || isGone(owner)) return;
    if (how === "kill") {
      signalGroup(owner.pid, "SIGKILL");
      await killLeftovers(workDirectory(resultsDirectory(directory)));
      return;
    }
    const { address } = await readBuild(resultsDirectory(directory)).catch(() => ({ address: undefined }));
    if (how === "cancel" && address !== undefined && (await askToCancel(await asked(directory, address)))) return;
    // Signals are recorded, because a second one would force the end.
    if (await isFirst(join(directory, `${how}.sent`))) signalProcess(owner.pid);
  }

  async remove(worker: WorkerIdentity): Promise<void> {
    const directory = this.#directory(worker);
    await this.#ended.drop(resultsDirectory(directory));
    this.#launches.delete(directory);
    this.#known.delete(directory);
    this.#tidied.delete(directory);
    this.#news.forget(directory);
    this.#news.forget(resultsDirectory(directory));
    if (await hasBecomeWorker(directory)) await killLeftovers(workDirectory(resultsDirectory(directory)));
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }

  async sweep(kept: () => readonly WorkerIdentity[]): Promise<void> {
    const { directory: root, log } = this.#options;
    const found = await readdir(root).catch(recover(hasCode("ENOENT"), []));
    const names = new Set(kept().map(directoryName));
    for (const name of found) {
      if (names.has(name)) continue;
      const directory = join(root, name);
      const owner = await ownerOf(directory).catch((thrown: unknown) => messageOf(thrown));
      if (typeof owner === "string") {
        // The worker may be alive.
        log.warn("leftover of a worker cannot be removed", { directory: name, error: owner });
        continue;
      }
      log.info("removing a leftover worker", { directory: name });
      await hasBecomeWorker(directory);
      await killLeftovers(workDirectory(resultsDirectory(directory)));
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  async close(): Promise<void> {
    this.#news.close();
    await this.#ended.close();
  }

  #directory = (worker: WorkerIdentity): string => join(this.#options.directory, directoryName(worker));

  async #observeEnded(directory: string, { uid }: WorkerIdentity): Promise<Observed> {
    await this.#tidy(directory);
    const results = resultsDirectory(directory);
    return await this.#ended.observe({
      results,
      token: this.#options.tokenOf(uid),
      endSteps: () => killLeftovers(workDirectory(results)),
      unbegun: async () => {
        const lines = await lastOutput(directory, mostLines);
        const failure = { reason: "WorkerCrashed", message: "the worker ended before its build", lines };
        return { build: await readFacts(directory), failure };
      },
    });
  }

  async #tidy(directory: string): Promise<void> {
    if (this.#tidied.has(directory)) return;
    await dropRequests(directory);
    this.#tidied.add(directory);
  }

  /** A matching process that does not answer at its address. */
  async #whyDeaf(directory: string, address: string | undefined): Promise<string | undefined> {
    if (address === undefined || this.#known.has(directory)) return undefined;
    if (!(await answersPing(await asked(directory, address)))) return `does not answer at ${address}`;
    this.#known.add(directory);
    return undefined;
  }

  /** The program keeps exiting before it claims its directory. */
  async #giveUp(directory: string, request: WorkerRequest): Promise<void> {
    const lines = await lastOutput(directory, mostLines);
    const failure = { reason: "NotStarted", message: "the program of the worker cannot be started", lines };
    const results = resultsDirectory(directory);
    await writeFailedResults(results, { ...request, runtime: this.#options.runtime }, failure, this.#options.clock);
    await claimWorker(directory, noOwner);
  }
}

const asked = async (directory: string, address: string): Promise<AskedWorker> => ({
  connect: tcpConnect(address),
  token: await readAccessToken(directory),
});

const isGone = (owner: Owner): boolean => owner.pid === noOwner.pid || isDead(owner);

/** Call before a directory is removed: prevents further claims, and kills a program that has claimed it in between. */
async function hasBecomeWorker(directory: string): Promise<boolean> {
  const owner = (await ownerOf(directory)) ?? (await ownerInstead(directory));
  if (owner === undefined || isGone(owner)) return false;
  signalGroup(owner.pid, "SIGKILL");
  return true;
}

async function ownerInstead(directory: string): Promise<Owner | undefined> {
  // A full disk accepts no claims, and removal must go on.
  const isOurs = await claimWorker(directory, noOwner).catch(recover(hasCode("ENOSPC", "EDQUOT"), false));
  return isOurs ? undefined : await ownerOf(directory);
}

const isFirst = (path: string): Promise<boolean> =>
  writeFile(path, "", { flag: "wx", mode: 0o600 }).then(
    () => true,
    () => false,
  );

function signalProcess(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch (thrown) {
    if (codeOf(thrown) !== "ESRCH") throw thrown;
  }
}

/** Watches directories; without free watches callers rely on polling. */
class DirectoryNews {
  readonly #watchers = new Map<string, FSWatcher>();

  /** A missing directory is retried by the next call. */
  follow(directory: string, tell: () => void): void {
    if (this.#watchers.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false }, tell);
      watcher.on("error", () => this.forget(directory));
      this.#watchers.set(directory, watcher);
    } catch {
      // Missing, or too many watches: polling is enough.
    }
  }

  forget(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }

  close(): void {
    for (const directory of this.#watchers.keys()) this.forget(directory);
  }
}
