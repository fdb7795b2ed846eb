import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import type { DialectOptions, DialectPort } from "#kernel/dialect/index.ts";
import { type Clock, codeOf, deferred, type Logger, messageOf, SlipwayError } from "#lib/base/index.ts";
import { makeDirectories, type ProcessLock, refuseShared } from "#lib/base/index.node.ts";
import {
  type ApiServer,
  AuditLog,
  ensureAdminToken,
  ensureCertificates,
  isDiskFull,
  lockDirectory,
  openStore,
  readEncryptionKeys,
  readKubeconfigToken,
  type ServingCertificates,
  writeKubeconfig,
} from "#kernel/apiserver/index.ts";
import type { ArtifactLimits } from "#kernel/artifacts/index.ts";
import { fixedCredential, Metrics } from "#kernel/kit/index.ts";
import { startControlPlane } from "./control-plane.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";
import { type ListenAddress, namesOf, planDoors, type Ports, type Reach, reachOf, type Machine } from "./door-plan.ts";
import { Doors } from "./doors.ts";
import { type CertificateKeeper, keepCertificates } from "./keep-certificates.ts";
import { runnerPath, yamlReaderPath } from "./program-paths.ts";
import { type DockerSurroundings, openRuntime } from "./open-runtime.ts";
import { hostname, networkInterfaces } from "node:os";

/** Paths are absolute. */
export interface ServeOptions {
  /** Created if missing, and locked by this process. */
  readonly directory: string;
  /** On loopback. */
  readonly ports: Ports;
  /** More addresses, for other machines. */
  readonly listen?: readonly ListenAddress[];
  /** Names and addresses for the certificate and for requests. Lower case. */
  readonly names?: readonly string[];
  readonly kubeconfig: string;
  /** The keys that encrypt Secrets on disk; without it they are not encrypted. */
  readonly encryptionKeyFile?: string;
  readonly hideLogsFromViewers?: boolean;
  readonly allowPrivileged?: boolean;
  /** Default: the artifact store's. */
  readonly artifactLimits?: ArtifactLimits;
  readonly notes?: readonly string[];
  readonly maxEvents?: number;
  readonly dialectOptions?: DialectOptions;
  readonly clock: Clock;
  readonly version: string;
  readonly level: LogLevel;
  /** Readable log lines for a terminal, else JSON lines. */
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** For steps in containers: where the engine's address is looked up. Otherwise they are host processes. */
  readonly docker?: DockerSurroundings;
  /** Ends the start. */
  readonly signal: AbortSignal;
}

/** The exit code of a server that failed: 5 for a broken disk, 1 for failed controllers. */
export interface ServerFailure {
  readonly code: number;
}

/** `close` leaves running steps to their runner. */
export interface RunningServer {
  /** On loopback. */
  readonly url: string;
  /** Loopback first. */
  readonly listening: readonly Reach[];
  readonly ports: readonly DialectPort[];
  /** How steps run, for people; see `ChosenRuntime`. */
  readonly runtime: string;
  /** Resolves when the server cannot continue. */
  readonly failed: Promise<ServerFailure>;
  close(): Promise<void>;
}

async function openLog({ directory, level, isTerminal, clock }: ServeOptions): Promise<Logger> {
  if (isTerminal) return plainLog(level, clock);
  const { backgroundLines, serverLog } = await import("./log.ts");
  return serverLog(level, backgroundLines(`${directory}/slipway.log`));
}

/** Opens a data directory and serves it over HTTPS, with all controllers. A rejection undoes everything. */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { directory, clock, signal, listen = [], names: given = [] } = options;
  const pki = `${directory}/pki`;
  const machine = thisMachine();
  const names = namesOf(listen, given, machine);
  const log = await openLog(options);
  const undo: (() => Promise<void>)[] = [];
  let writesTo = directory;
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const lock = await ownDirectory(directory);
    undo.push(() => lock.release());
    signal.throwIfAborted();
    const failed = deferred<ServerFailure>();
    const keyFile = options.encryptionKeyFile;
    const encryptionKeys = keyFile === undefined ? [] : await readEncryptionKeys(keyFile, directory);
    const store = await openStore(`${directory}/store`, {
      encryptionKeys,
      // Keys exist only with a store.
      mustExist: (await readdir(pki).catch(() => [])).length > 0,
      clock,
      log,
      onFatal: (error) => {
        log.error("the disk failed; exiting, because only a restart reads what is stored", { error });
        failed.resolve({ code: 5 });
      },
    });
    undo.push(() => store.close());
    signal.throwIfAborted();
    const certificates = await ensureCertificates(pki, clock.now(), names);
    const token = await ensureAdminToken(store, await readKubeconfigToken(options.kubeconfig));
    const metrics = new Metrics();
    metrics.gauge("slipway_store_db_file_bytes", "Size of the database file.", () => statSync(store.file).size);
    const audit = new AuditLog({ directory: `${directory}/audit`, clock, log });
    undo.push(() => audit.close());
    const { ca: rootCertificate, accountKey } = certificates;
    const steps = await openRuntime(options.docker, { store: store.clusterUid, isEphemeral: false, clock, log });
    signal.throwIfAborted();
    const opened = deferred<{ readonly doors: Doors; readonly keeper: CertificateKeeper }>();
    let url = "";
    let listening: readonly Reach[] = [];
    const parts = {
      ...options,
      connection: () => ({
        server: url,
        certificateAuthority: certificates.ca,
        credentials: fixedCredential({ token }),
      }),
      store,
      log,
      runnerPath,
      yamlReaderPath,
      rootCertificate,
      accountKey,
      audit,
      metrics,
      about: (ports: readonly DialectPort[]) => ({
        version: options.version,
        url,
        directory,
        pid: process.pid,
        runtime: steps.title,
        listening: listening.map((reach) => ({ ...reach })),
        ports: ports.map((port) => ({ ...port })),
      }),
      onServer: async (server: ApiServer) => {
        const doors = await Doors.open(server, { ...planDoors(options.ports, listen), names }, certificates);
        url = doors.url;
        listening = doors.listening.map((door) => reachOf(door, given, machine));
        const tell = ({ ca: caPem, client }: ServingCertificates) =>
          writeKubeconfig(options.kubeconfig, { url: doors.url, caPem, token, client });
        writesTo = options.kubeconfig;
        await tell(certificates);
        writesTo = directory;
        const kept = { directory: pki, first: certificates, names };
        const keeper = keepCertificates(kept, { clock, log }, async (renewed) => {
          doors.renew(renewed);
          await tell(renewed);
        });
        undo.push(() => keeper.close());
        opened.resolve({ doors, keeper });
      },
      serverFor: async (bridge: string | undefined) => {
        const { doors, keeper } = await opened.promise;
        return doors.place(bridge, keeper);
      },
    };
    const plane = await startControlPlane(steps.runtime === undefined ? parts : { ...parts, runtime: steps.runtime });
    undo.push(() => plane.close());
    plane.ended.catch(() => failed.resolve({ code: 1 }));
    await lock.announce(url);
    const otherMachines = listening.flatMap(({ from, urls }) => (from === "other-machines" ? urls : []));
    const reach = otherMachines.length === 0 ? {} : { otherMachines };
    log.info("serving", { url, ...reach, directory, runtime: steps.title });
    return {
      url,
      listening,
      ports: plane.ports.filter(({ trouble }) => trouble === undefined),
      runtime: steps.title,
      failed: failed.promise,
      close,
    };
  } catch (thrown) {
    await close();
    throw isDiskFull(thrown)
      ? cannotKeep(writesTo, thrown, "free some space on its disk, or use another disk")
      : thrown;
  }
}

const cannotKeep = (place: string, cause: unknown, hint: string): SlipwayError =>
  new SlipwayError("data-directory", `cannot keep data in ${place}: ${messageOf(cause)}`, { hint, cause });

/** The system's codes for an unusable directory; /proc answers with ENOENT. */
const refusesDirectory = /^(?:EACCES|EEXIST|ELOOP|ENAMETOOLONG|ENOENT|ENOTDIR|EPERM|EROFS)$/;

/** Locks the data directory. Rejects with `store-locked`, or with the system's error and a hint. */
async function ownDirectory(directory: string): Promise<ProcessLock> {
  try {
    await makeDirectories(directory, 0o700);
    // Another writer could replace our keys, and another owner could let one in.
    await refuseShared(directory);
    return await lockDirectory(directory);
  } catch (thrown) {
    if (!refusesDirectory.test(codeOf(thrown) ?? "")) throw thrown;
    throw cannotKeep(directory, thrown, "name a directory that this user may write to with --data-dir");
  }
}

/** Link-local addresses (`fe80::`) cannot stand in a URL. */
function thisMachine(): Machine {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const addresses = all.filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0);
  return { hostname: hostname(), addresses: [...new Set(addresses.map(({ address }) => address))] };
}
