import { codeOf, type Logger, SlipwayError, toError } from "#lib/base/index.ts";

export interface ListenChoice {
  /** `host:port`; port 0 is any. */
  readonly address: string;
  /** The default address: if it is taken, another port is used. */
  readonly isUsual: boolean;
}

export interface Listening {
  /** In messages. */
  readonly what: string;
  /** The option for an address or `off`. */
  readonly flag: string;
}

/** Listens by `open`. A taken default address is replaced by a free port; a named one rejects with `listen-failed`. */
export async function openChosen<T extends { readonly port: number }>(
  { address, isUsual }: ListenChoice,
  open: (address: string) => Promise<T>,
  { what, flag, log }: Listening & { readonly log: Pick<Logger, "warn"> },
): Promise<T> {
  try {
    return await open(address);
  } catch (thrown) {
    const isTaken = codeOf(toError(thrown).cause) === "EADDRINUSE";
    const hint = `name another address with ${flag} HOST:PORT, or ${flag} off to disable the port`;
    if (!isUsual || !isTaken) throw new SlipwayError("listen-failed", toError(thrown).message, { hint, cause: thrown });
    const opened = await open(address.replace(/\d+$/, "0"));
    const found = address.replace(/\d+$/, `${opened.port}`);
    log.warn(`the usual address of ${what} is in use; set ${flag} to choose another one`, {
      usual: address,
      address: found,
    });
    return opened;
  }
}
