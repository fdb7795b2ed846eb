import { type Manager } from "#kernel/kit/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { aborted, deferred, messageOf, orAborted, retry } from "#lib/base/index.ts";
import type { ControllerParts } from "./controller-parts.ts";
import { type ListenChoice, openChosen } from "./listening.ts";
import { noteServer } from "#kernel/doors/index.ts";

export interface NeededPort<T = unknown> {
  /** Its name in notes: `provisioner`. */
  readonly serves: string;
  /** In messages. */
  readonly what: string;
  /** The option for an address or `off`. */
  readonly flag: string;
  readonly listen: ListenChoice;
  /** Kinds whose first object opens the port if no address was named. */
  readonly neededBy: readonly ResourceType[];
  /** Absolute. */
  readonly tokenFile: string;
  /** The option that admits clients without credentials, if it was given. */
  readonly anonymousFlag?: string | undefined;
  /** What a person pastes into a shell to use it. */
  readonly hint?: (opened: OpenedPort<T>) => Promise<string | undefined>;
}

export interface OpenedPort<T> {
  /** `host:port` */
  readonly address: string;
  readonly port: T;
}

/**
 * Opens a port for a manager that has not started: at once if an address was named (rejecting with `listen-failed`),
 * else when the first object of a kind that needs it exists, with retries. A note tells this user's programs the
 * address and token file. `opened` resolves with the open port, which the caller closes, and rejects if the manager
 * stops first.
 */
export async function openWhenNeeded<T extends { readonly port: number }>(
  manager: Manager,
  parts: Pick<ControllerParts, "notes" | "tellPort">,
  needed: NeededPort<T>,
  open: (address: string) => Promise<T>,
): Promise<{ readonly opened: Promise<OpenedPort<T>> }> {
  const { serves, what, flag, listen, tokenFile, anonymousFlag } = needed;
  const { log } = manager;
  if (anonymousFlag !== undefined)
    log.warn(`${what}: clients without credentials are let in: every user who can reach the port has access`, {
      option: anonymousFlag,
    });
  let removeNote: (() => Promise<void>) | undefined;
  const openNow = async (): Promise<OpenedPort<T>> => {
    const port = await openChosen(listen, open, { what, flag, log });
    const address = listen.address.replace(/\d+$/, `${port.port}`);
    removeNote = await noteServer(parts.notes, { serves, url: `http://${address}`, tokenFile });
    const hint = await needed.hint?.({ address, port });
    parts.tellPort({ serves: what, address, tokenFile, ...(hint === undefined ? {} : { hint }) });
    return { address, port };
  };
  const opening = deferred<OpenedPort<T>>();
  // Callers may ignore it.
  opening.promise.catch(() => undefined);
  const needs = listen.isUsual ? firstObject(manager, needed.neededBy) : undefined;
  if (needs === undefined) opening.resolve(await openNow());
  const openLater = async (exists: Promise<void>, stop: AbortSignal): Promise<void> => {
    await orAborted(exists, stop);
    const { clock, random } = manager;
    const isRetryable = (thrown: unknown): boolean => {
      const trouble = `failed to open the port; retrying: ${messageOf(thrown)}`;
      log.error(`${what}: ${trouble}`);
      parts.tellPort({ serves: what, address: listen.address, trouble });
      return true;
    };
    const retries = { clock, first: 1_000, longest: 60_000, jitter: 0.1, random, signal: stop, isRetryable };
    const opened = await retry(retries, openNow);
    log.info(`${what}: port opened`, { address: opened.address });
    opening.resolve(opened);
  };
  manager.add({
    name: `${serves}-port`,
    runsWithoutLeadership: true,
    async run({ stop }) {
      if (needs !== undefined) await openLater(needs, stop).catch((thrown: unknown) => opening.reject(thrown));
      await aborted(stop);
      await removeNote?.();
    },
  });
  return { opened: opening.promise };
}

function firstObject(manager: Manager, kinds: readonly ResourceType[]): Promise<void> {
  const found = deferred<void>();
  for (const kind of kinds) {
    const leave = manager.mirror(kind).addHandler({ add: () => found.resolve() });
    void found.promise.then(() => leave());
  }
  return found.promise;
}
