import { type Manager } from "#kernel/kit/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { aborted, deferred, messageOf, orAborted, retry } from "#lib/base/index.ts";
import type { ControllerParts } from "./controller-parts.ts";
import { type ListenChoice, openChosen } from "./listening.ts";
import { noteServer } from "#kernel/doors/index.ts";

/** A port of a server to which programs of its user, and others, connect. */
export interface NeededPort {
  /** The name by which programs look it up in notes: `provisioner`. */
  readonly serves: string;
  /** What it is called in messages. */
  readonly what: string;
  /** The option that names an address, or `off`. */
  readonly flag: string;
  readonly listen: ListenChoice;
  /** Kinds whose first object opens the port if no address was named. */
  readonly neededBy: readonly ResourceType[];
  /** The file of the token that clients present; absolute. */
  readonly tokenFile: string;
  /** The option that lets clients in that present nothing; absent if it was not given. */
  readonly anonymousFlag?: string | undefined;
}

/** A port that is open. */
export interface OpenedPort<T> {
  /** `host:port` */
  readonly address: string;
  readonly port: T;
}

/**
 * Opens a port for a manager that has not started: at once if an address was named, otherwise when the first object of a kind that needs it exists,
 * which may be at the start; a port that cannot be opened then is tried again. While it is open, a note tells this user's programs where it is and which token file to read. The promise that is
 * returned resolves when the port is open and rejects when the manager stops first; closing the port is the caller's.
 * Rejects with `listen-failed` when a named address cannot be had.
 */
export async function openWhenNeeded<T extends { readonly port: number }>(
  manager: Manager,
  parts: Pick<ControllerParts, "notes" | "tellPort">,
  needed: NeededPort,
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
    parts.tellPort({ serves: what, address, tokenFile });
    return { address, port };
  };
  const opening = deferred<OpenedPort<T>>();
  // Each caller awaits it or not.
  opening.promise.catch(() => undefined);
  const needs = listen.isUsual ? firstObject(manager, needed.neededBy) : undefined;
  if (needs === undefined) opening.resolve(await openNow());
  const openLater = async (exists: Promise<void>, stop: AbortSignal): Promise<void> => {
    await orAborted(exists, stop);
    const { clock, random } = manager;
    const isRetryable = (thrown: unknown): boolean => {
      const trouble = `cannot open the port, and tries again: ${messageOf(thrown)}`;
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

/** Resolves when there is an object of one of the kinds. */
function firstObject(manager: Manager, kinds: readonly ResourceType[]): Promise<void> {
  const found = deferred<void>();
  for (const kind of kinds) {
    const leave = manager.mirror(kind).addHandler({ add: () => found.resolve() });
    void found.promise.then(() => leave());
  }
  return found.promise;
}
