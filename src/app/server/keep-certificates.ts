import { type Clock, type Logger, toError } from "#lib/base/index.ts";
import { ensureCertificates, type ServingCertificates } from "#kernel/apiserver/index.ts";

/** Certificates are renewed a month before they expire, so that a day more or less does not matter. */
const checkEveryMs = 6 * 3_600_000;

export interface CertificateKeeper {
  /** Adds an address to the certificates, renewing them if necessary. */
  include(name: string): Promise<ServingCertificates>;
  close(): Promise<void>;
}

export interface KeptCertificates {
  readonly directory: string;
  readonly first: ServingCertificates;
  /** Names besides loopback, for new certificates too. */
  readonly names?: readonly string[];
}

/** Checks the certificates four times a day and calls `use` when renewed. Failures are logged and retried then. */
export function keepCertificates(
  { directory, first, names: given = [] }: KeptCertificates,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  use: (renewed: ServingCertificates) => Promise<void>,
): CertificateKeeper {
  const names = new Set(given);
  let current = first;
  let looking = Promise.resolve();
  let cancel = clock.after(checkEveryMs, look);
  let isClosed = false;

  function look(): void {
    looking = looking
      .then(renew)
      .catch((thrown: unknown) => log.error("certificates cannot be renewed", { error: toError(thrown) }))
      .then(() => {
        if (!isClosed) cancel = clock.after(checkEveryMs, look);
      });
  }
  async function renew(): Promise<void> {
    const found = await ensureCertificates(directory, clock.now(), [...names]);
    if (found.cert === current.cert && found.client.cert === current.client.cert) return;
    current = found;
    await use(found);
    log.info("certificates renewed", { dir: directory });
  }
  return {
    async include(name) {
      names.add(name);
      // One after the other: each writes what the next one reads.
      const renewed = looking.then(renew);
      looking = renewed.catch(() => undefined);
      await renewed;
      return current;
    },
    async close() {
      isClosed = true;
      cancel();
      await looking;
    },
  };
}
