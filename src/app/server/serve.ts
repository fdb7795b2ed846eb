import { type Clock, codeOf, deferred, messageOf, SlipwayError } from "#lib/base/index.ts";
import {
  type DirectoryLock,
  ensureAdminToken,
  ensureCertificates,
  type Listener,
  lockDirectory,
  openStore,
  readKubeconfigToken,
  writeKubeconfig,
} from "#kernel/apiserver/index.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";
import { runnerPath } from "./runner-path.ts";

/** What `slipway up` has decided; paths are absolute. */
export interface ServeOptions {
  /** The data directory; made when absent, owned by this process until it ends. */
  readonly directory: string;
  /** The first port that is free among `tries`, from `first` on. */
  readonly ports: { readonly first: number; readonly tries: number };
  readonly kubeconfig: string;
  readonly clock: Clock;
  readonly version: string;
  readonly level: LogLevel;
  /** Readable log lines for a terminal, JSON lines elsewhere. */
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

/** Why a server ended by itself, as an exit code. */
export interface ServerFailure {
  readonly code: number;
}

/** A server that answers. `close` ends it in order and leaves running steps to their runner. */
export interface RunningServer {
  readonly url: string;
  readonly kubeconfig: string;
  /** Resolves when the server cannot go on: 5 after a broken disk, 1 otherwise. */
  readonly failed: Promise<ServerFailure>;
  close(): Promise<void>;
}

/** Opens a data directory and serves it over HTTPS on loopback, with all controllers. Whatever was begun is undone when it rejects. */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { directory, clock } = options;
  const log = options.isTerminal ? plainLog(options.level, clock) : (await import("./log.ts")).serverLog(options.level);
  const undo: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const lock = await ownDirectory(directory);
    undo.push(() => lock.release());
    const failed = deferred<ServerFailure>();
    const store = await openStore(`${directory}/store`, {
      clock,
      log,
      onFatal: (error) => {
        log.error("the disk is broken, ending so that a restart reads what is true", { error });
        failed.resolve({ code: 5 });
      },
    });
    undo.push(() => store.close());
    const certificates = await ensureCertificates(`${directory}/pki`, clock.now());
    const token = await ensureAdminToken(store, await readKubeconfigToken(options.kubeconfig));
    const plane = await startControlPlane({ ...options, store, log, runnerPath, rootCertificate: certificates.ca });
    undo.push(() => plane.close());
    plane.ended.catch(() => failed.resolve({ code: 1 }));
    const listener = await listenOnFreePort(plane, options.ports, certificates);
    await lock.announce(listener.url);
    await writeKubeconfig(options.kubeconfig, { url: listener.url, caPem: certificates.ca, token });
    log.info("serving", { url: listener.url, directory });
    return { url: listener.url, kubeconfig: options.kubeconfig, failed: failed.promise, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** Takes the data directory; what the system says against it becomes a sentence with a way out. */
async function ownDirectory(directory: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(directory);
  } catch (thrown) {
    const isSystem = /^(?:EACCES|EEXIST|ENOTDIR|EPERM|EROFS|ENOSPC)$/.test(codeOf(thrown) ?? "");
    if (!isSystem) throw thrown;
    const hint = "name a directory that this user may write to with --data-dir";
    throw new SlipwayError("data-directory", `cannot keep data in ${directory}: ${messageOf(thrown)}`, {
      hint,
      cause: thrown,
    });
  }
}

async function listenOnFreePort(
  { server }: ControlPlane,
  { first, tries }: ServeOptions["ports"],
  tls: { readonly cert: string; readonly key: string },
): Promise<Listener> {
  for (let port = first; ; port++) {
    try {
      return await server.listen({ port, tls });
    } catch (thrown) {
      const isTaken = /in use/.test(messageOf(thrown));
      if (!isTaken) throw thrown;
      if (port + 1 - first < tries) continue;
      const hint = tries === 1 ? "choose another with --port, or 0 for any" : "name one with --port";
      throw new SlipwayError("listen-failed", messageOf(thrown), { hint, cause: thrown });
    }
  }
}
