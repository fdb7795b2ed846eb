import { codeOf, type Logger, SlipwayError, toError } from "#lib/base/index.ts";

/** Where something is to be reached. */
export interface ListenChoice {
  /** `host:port`; port 0 is a free one. */
  readonly address: string;
  /** Nobody has named it: where something else has it, another port of the same host is taken. */
  readonly isUsual: boolean;
}

/** Who listens, as people are told of it. */
export interface Listening {
  /** What it is called in a sentence. */
  readonly what: string;
  /** The option that names an address, or `off`. */
  readonly flag: string;
}

/**
 * Takes an address by `open`. One that somebody has named and that cannot be had ends the start, with `listen-failed`: who named it counts on it.
 * One that is only usual is mostly that of another server on this machine; then a free port of the same host is taken, and the log says so.
 */
export async function openChosen<T extends { readonly port: number }>(
  { address, isUsual }: ListenChoice,
  open: (address: string) => Promise<T>,
  { what, flag, log }: Listening & { readonly log: Pick<Logger, "warn"> },
): Promise<T> {
  try {
    return await open(address);
  } catch (thrown) {
    const isTaken = codeOf(toError(thrown).cause) === "EADDRINUSE";
    const hint = `name another address with ${flag} HOST:PORT, or ${flag} off to serve none`;
    if (!isUsual || !isTaken) throw new SlipwayError("listen-failed", toError(thrown).message, { hint, cause: thrown });
    const opened = await open(address.replace(/\d+$/, "0"));
    const found = address.replace(/\d+$/, `${opened.port}`);
    log.warn(`something else has the usual address of ${what}; ${flag} names another one`, {
      usual: address,
      address: found,
    });
    return opened;
  }
}
