import { type Clock, type Logger, toError } from "#lib/base/index.ts";
import { ensureCertificates, type ServingCertificates } from "#kernel/apiserver/index.ts";

/** A month before their end is a long time: a day more or less does not matter, and a laptop may sleep. */
const checkEveryMs = 6 * 3_600_000;

export interface CertificateKeeper {
  /** Certificates that name this address too, from now on. Those in use are renewed when they do not. */
  include(name: string): Promise<ServingCertificates>;
  close(): Promise<void>;
}

/** Certificates that are kept. */
export interface KeptCertificates {
  readonly directory: string;
  /** Those in use. */
  readonly first: ServingCertificates;
  /** Names they have, besides those of loopback, and that new ones are to have. */
  readonly names?: readonly string[];
}

/**
 * Looks at the certificates in `directory` four times a day and tells `use` when they were renewed. What fails is logged and tried again at
 * the next look; the old ones go on until then. Timers do not count while a machine sleeps, and the look after that is soon enough.
 */
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
