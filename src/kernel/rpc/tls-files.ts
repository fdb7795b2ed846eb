import type { experimental } from "@grpc/grpc-js";
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { createSecureContext } from "node:tls";
import { type Cancel, type Clock, type Logger, messageOf, type Millis, SlipwayError } from "#lib/base/index.ts";

/** PEM files. */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  /** The signer of clients; with it, clients need a certificate that it signed. */
  readonly clientCa?: string;
}

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

interface Loaded {
  readonly certificate: Buffer;
  readonly privateKey: Buffer;
  readonly caCertificate: Buffer | undefined;
}

/** Certificate and key are two files that are replaced one after the other. */
const settleTime: Millis = 200;

/** A listener's certificates, reloaded when they change. Files that do not match are logged and not used. */
export class TlsFiles implements experimental.CertificateProvider {
  readonly #paths: TlsPaths;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  readonly #watchers: FSWatcher[] = [];
  #loaded: Loaded;
  #cancelReload: Cancel | undefined;

  private constructor(paths: TlsPaths, loaded: Loaded, clock: Clock, log: Logger) {
    this.#paths = paths;
    this.#loaded = loaded;
    this.#clock = clock;
    this.#log = log;
    const all = [paths.certificate, paths.key, ...(paths.clientCa === undefined ? [] : [paths.clientCa])];
    // Folders, because a file is usually replaced by another one, or by a link of its folder.
    for (const folder of new Set(all.map((path) => dirname(path))))
      this.#watch(folder, new Set(all.map((path) => basename(path))));
  }

  /** Rejects if a file cannot be read or the files do not fit together. */
  static async open(paths: TlsPaths, clock: Clock, log: Logger): Promise<TlsFiles> {
    return new TlsFiles(paths, await load(paths), clock, log);
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    // grpc-js attaches its listener only after this has returned.
    queueMicrotask(() => listener(caOf(this.#loaded)));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    queueMicrotask(() => listener(this.#loaded));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
  }

  close(): void {
    this.#cancelReload?.();
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch(folder: string, names: ReadonlySet<string>): void {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      // Mounted secrets change through a link whose name begins with two dots.
      if (name !== null && !names.has(name) && !name.startsWith("..")) return;
      this.#cancelReload?.();
      this.#cancelReload = this.#clock.after(settleTime, () => void this.#reload());
    });
    watcher.on("error", (thrown) =>
      this.#log.warn("changes of certificates are not seen", { folder, error: messageOf(thrown) }),
    );
    this.#watchers.push(watcher);
  }

  async #reload(): Promise<void> {
    try {
      this.#loaded = await load(this.#paths);
    } catch (thrown) {
      return this.#log.warn("certificates were not reloaded", { error: messageOf(thrown) });
    }
    for (const listener of this.#caListeners) listener(caOf(this.#loaded));
    for (const listener of this.#identityListeners) listener(this.#loaded);
    this.#log.info("certificates were reloaded");
  }
}

/** Rejects if a listener would refuse the files. */
export async function checkTlsFiles(paths: TlsPaths): Promise<void> {
  try {
    await load(paths);
  } catch (thrown) {
    const message = `cannot use ${paths.certificate} and ${paths.key}: ${messageOf(thrown)}`;
    throw new SlipwayError("tls-files", message, { cause: thrown });
  }
}

const caOf = ({ caCertificate }: Loaded) => (caCertificate === undefined ? null : { caCertificate });

async function load({ certificate: cert, key, clientCa }: TlsPaths): Promise<Loaded> {
  const [certificate, privateKey, caCertificate] = await Promise.all([
    readFile(cert),
    readFile(key),
    clientCa === undefined ? undefined : readFile(clientCa),
  ]);
  // Throws for a key that does not fit the certificate.
  createSecureContext({
    cert: certificate,
    key: privateKey,
    ...(caCertificate === undefined ? {} : { ca: caCertificate }),
  });
  return { certificate, privateKey, caCertificate };
}
