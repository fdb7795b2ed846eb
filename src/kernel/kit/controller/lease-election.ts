import {
  type Clock,
  formatMicroTime,
  isJsonObject,
  type Logger,
  messageOf,
  type Millis,
  sleep,
  type Random,
} from "#lib/base/index.ts";
import { isForbidden, isNotFound, type KubeObject, Lease, type Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import type { Election, Leadership } from "./election.ts";
import { leadershipLost } from "./errors.ts";

/** Keep retryPeriod < renewDeadline < leaseDuration. */
export interface LeaseElectionOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
  readonly namespace: string;
  readonly name: string;
  /** Unique to the process: host name, process id and something random. */
  readonly identity: string;
  /** How long others wait for a silent leader; default: 15 s. */
  readonly leaseDuration?: Millis;
  /** A leader that could not renew for this long gives up; default: 10 s. */
  readonly renewDeadline?: Millis;
  /** Between two tries; default: 2 s, plus up to 1.2 times that at random. */
  readonly retryPeriod?: Millis;
}

/** A lease without a spec is read as an empty one. */
interface LeaseObject extends KubeObject {
  readonly spec: LeaseSpec;
}

/** An empty holder is a released lease. */
interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Observation {
  readonly text: string;
  /** When it counts as expired, by our own clock. */
  readonly until: Millis;
}

/** As in client-go: candidates that started together must not ask together. */
const jitter = 1.2;

/** Election by a `coordination.k8s.io/v1` Lease, timed by our own monotonic clock: clocks are never compared. */
export function leaseElection(options: LeaseElectionOptions): Election {
  return { acquire: (signal) => acquire(options, signal) };
}

/** Never fails because of the server. */
async function acquire(options: LeaseElectionOptions, signal: AbortSignal): Promise<Leadership> {
  const { clock, log, name, identity } = options;
  const candidate = new Candidate(options);
  const isOver = new AbortController();
  void follow(options, candidate, AbortSignal.any([signal, isOver.signal]));
  try {
    while ((await candidate.attempt(signal)) !== "held") await sleep(clock, candidate.pause(), signal);
  } finally {
    isOver.abort();
  }
  log.info("leadership gained", { lease: name, identity });
  return lead(options, candidate);
}

/**
 * Shows the candidate each renewal when it is made, so that the lease expires 15 s after the last one. If the lease may
 * not be watched, the candidate sees renewals at its own tries, which is later and as safe. Never rejects.
 */
async function follow(options: LeaseElectionOptions, candidate: Candidate, signal: AbortSignal): Promise<void> {
  const { client, clock, log, namespace, name } = options;
  while (!signal.aborted) {
    try {
      const fieldSelector = `metadata.name=${name}`;
      for await (const { type, object } of client.watch<LeaseObject>(Lease, { namespace, fieldSelector, signal }))
        if (type === "ADDED" || type === "MODIFIED") candidate.observe(object.spec);
    } catch (thrown) {
      log.debug("the lease is not watched", { error: messageOf(thrown) });
      if (isForbidden(thrown)) return;
    }
    await sleep(clock, options.retryPeriod ?? 2000, signal).catch(() => undefined);
  }
}

/** Renews until released; aborts `lost` if another process holds the lease or the deadline passes. */
function lead(options: LeaseElectionOptions, candidate: Candidate): Leadership {
  const { log, namespace, name } = options;
  const lost = new AbortController();
  const stop = new AbortController();
  const renewing = renew(options, candidate, stop.signal).then((isLost) => {
    if (!isLost) return;
    log.error("leadership lost", { lease: name });
    lost.abort(leadershipLost(`${namespace}/${name}`, candidate.lastFailure));
  });
  return {
    lost: lost.signal,
    async release() {
      stop.abort();
      await renewing;
      if (!lost.signal.aborted) await candidate.release();
    },
  };
}

/** True if leadership is lost, false if the signal aborts. */
async function renew(options: LeaseElectionOptions, candidate: Candidate, signal: AbortSignal): Promise<boolean> {
  const { clock } = options;
  const limit = options.renewDeadline ?? 10_000;
  let renewedAt = clock.monotonic();
  for (;;) {
    await sleep(clock, options.retryPeriod ?? 2000, signal).catch(() => undefined);
    if (signal.aborted) return false;
    const attempt = new AbortController();
    const left = Math.ceil(renewedAt + limit - clock.monotonic());
    // A hanging request must not outlast the deadline.
    const cancel = clock.after(Math.max(0, left), () => attempt.abort(new Error("the renewal took too long")));
    const outcome = await candidate.attempt(attempt.signal);
    cancel();
    if (outcome === "held") renewedAt = clock.monotonic();
    else if (outcome === "other" || clock.monotonic() >= renewedAt + limit) return true;
  }
}

/** Remembers the lease it wrote last, so that a renewal is one request. */
class Candidate {
  lastFailure: unknown;
  readonly #options: LeaseElectionOptions;
  readonly #duration: Millis;
  #observed: Observation | undefined;
  #held: Stored<LeaseObject> | undefined;

  constructor(options: LeaseElectionOptions) {
    this.#options = options;
    this.#duration = options.leaseDuration ?? 15_000;
  }

  /** At most until the lease expires. */
  pause(): Millis {
    const { clock, random, retryPeriod = 2000 } = this.#options;
    const pause = Math.round(retryPeriod * (1 + jitter * random()));
    const left = (this.#observed?.until ?? 0) - clock.monotonic();
    return left > 0 ? Math.min(pause, left) : pause;
  }

  /** Notes when this process first saw the lease in this state. */
  observe(spec: LeaseSpec = {}): Observation {
    const text = JSON.stringify([spec.holderIdentity, spec.renewTime, spec.acquireTime]);
    if (this.#observed?.text === text) return this.#observed;
    const at = this.#options.clock.monotonic();
    this.#observed = { text, until: at + (spec.leaseDurationSeconds ?? 0) * 1000 };
    return this.#observed;
  }

  /** Takes or renews the lease: `other` if another process holds it, `failed` if nothing is known. Never rejects. */
  async attempt(signal: AbortSignal): Promise<"held" | "other" | "failed"> {
    try {
      this.#held = await this.#write(signal);
      return this.#held === undefined ? "other" : "held";
    } catch (thrown) {
      this.#held = undefined;
      this.lastFailure = thrown;
      this.#options.log.debug("the lease was not written", { error: messageOf(thrown) });
      return "failed";
    }
  }

  /** Releases the lease, so that others need not wait for it to expire. */
  async release(): Promise<void> {
    const held = this.#held;
    if (held === undefined) return;
    const { client, clock } = this.#options;
    const { leaseTransitions } = held.spec;
    const renewTime = formatMicroTime(clock.now());
    const spec: LeaseSpec = {
      holderIdentity: "",
      leaseDurationSeconds: 1,
      renewTime,
      ...(leaseTransitions === undefined ? {} : { leaseTransitions }),
    };
    try {
      await client.update(Lease, { ...held, spec });
    } catch (thrown) {
      // The lease expires by itself.
      this.#options.log.debug("the lease was not released", { error: messageOf(thrown) });
    }
  }

  /** Undefined if another process holds the lease. The update is bound to the version read: one candidate wins. */
  async #write(signal: AbortSignal): Promise<Stored<LeaseObject> | undefined> {
    const { client, namespace, name, identity } = this.#options;
    const known = this.#held ?? (await this.#read(signal));
    if (known === undefined) {
      const metadata = { namespace, name };
      const lease: LeaseObject = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata,
        spec: this.#spec({}),
      };
      return client.create(Lease, lease, { signal });
    }
    if (known.spec.holderIdentity !== identity && !this.#isExpired(known.spec)) return undefined;
    return client.update(Lease, { ...known, spec: this.#spec(known.spec) }, { signal });
  }

  /** Of two processes that create the lease one is refused. */
  async #read(signal: AbortSignal): Promise<Stored<LeaseObject> | undefined> {
    const { client, namespace, name } = this.#options;
    try {
      const lease = await client.get<LeaseObject>({ type: Lease, namespace, name }, { signal });
      return isJsonObject(lease.spec) ? lease : { ...lease, spec: {} };
    } catch (thrown) {
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    }
  }

  /** Counts from the first look at the present state, so that a first look finds only released leases expired. */
  #isExpired(spec: LeaseSpec): boolean {
    if (spec.holderIdentity === undefined || spec.holderIdentity === "") return true;
    return this.observe(spec).until <= this.#options.clock.monotonic();
  }

  #spec(before: LeaseSpec): LeaseSpec {
    const { clock, identity } = this.#options;
    const now = formatMicroTime(clock.now());
    const isOurs = before.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#duration / 1000),
      acquireTime: isOurs ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (isOurs || before.holderIdentity === undefined ? 0 : 1),
    };
  }
}
