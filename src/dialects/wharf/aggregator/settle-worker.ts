import { isIPv6 } from "node:net";
import { type Clock, codeOf, type Logger, type Random } from "#lib/base/index.ts";
import { parseLogTime } from "../results/log-line.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { connectTo, type ForwardPort } from "../provisioner/pod-address.ts";
import type { ProvisionerAddress } from "../provisioner/provisioner-client.ts";
import { workerTokenOf } from "../provisioner/worker-token.ts";
import { WorkerClient } from "../worker-api/worker-client.ts";
import { type AggregationParts, insist } from "./aggregation-parts.ts";
import { aggregateWorker } from "./aggregate-worker.ts";
import { askService, refusedBy, type ServiceRequest } from "./api-connection.ts";
import { BuildApis } from "./build-apis.ts";
import type { ClientServices } from "../services.ts";
import type { Shard } from "./shard.ts";

export interface AggregatorOptions {
  readonly services: () => Promise<ClientServices>;
  readonly shard?: Shard;
  readonly maxWorkers?: number;
  /** Without it workers in Pods cannot be reached. */
  readonly forward?: ForwardPort | undefined;
  /** Pods of released provisioners, which have no Worker; default: none. */
  readonly pods?: { readonly namespace: string; readonly instance: string } | undefined;
  /** Port of workers whose address has none. */
  readonly workerPort?: number;
}

export interface DutyParts extends Omit<AggregatorOptions, "services" | "shard">, ClientServices {
  readonly shard: Shard;
  readonly apis?: BuildApis;
  readonly lostLines?: (worker: Stored<Worker>, signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Ends a worker without a resource; default: its provisioner. */
export interface OwnWays {
  readonly end: (signal: AbortSignal) => Promise<void>;
}

/** Transfers all results and only then ends the worker. A worker without an address never served; its reason becomes
 * the log of step 0. Idempotent. */
export async function settleWorker(
  worker: Stored<Worker>,
  parts: DutyParts,
  signal: AbortSignal,
  own?: OwnWays,
): Promise<void> {
  const { provisioner, apis = new BuildApis(parts.api) } = parts;
  const api = await insist(parts, signal, () => apis.open(worker.spec.buildRef ?? 0, signal));
  try {
    await carryResults(worker, parts, api, signal, own);
  } catch (thrown) {
    if (codeOf(thrown) === "wharf-refused") apis.forget();
    throw thrown;
  } finally {
    api.close();
  }
  await (own === undefined ? endWorker(provisioner, worker.metadata.name, signal) : own.end(signal));
}

async function carryResults(
  worker: Stored<Worker>,
  { provisioner, workerPort, forward, lostLines, clock, random, log }: DutyParts,
  api: AggregationParts["api"],
  signal: AbortSignal,
  own: OwnWays | undefined,
): Promise<void> {
  const address = worker.status?.address ?? "";
  if (address === "") await tellLost(worker, api, (await lostLines?.(worker, signal)) ?? [], signal);
  else {
    // Foreign workers do not use our tokens.
    const known = own === undefined ? ((await provisioner.find?.()) ?? provisioner).token : undefined;
    const token = known === undefined ? undefined : workerTokenOf(known, worker.metadata.uid);
    const client = new WorkerClient({
      connect: connectTo(withPort(address, workerPort), forward),
      token,
      clock,
      random,
      log,
    });
    try {
      await aggregateWorker({ worker: client, api, clock, random, log }, signal);
    } finally {
      client.close();
    }
  }
}

const mostLines = 2000;

/** The original's default port is 5010. */
export function withPort(address: string, port = 5010): string {
  if (isIPv6(address)) return `[${address}]:${port}`;
  return /:\d+$/.test(address) ? address : `${address}:${port}`;
}

/** Numbered from 1, so that repeating changes nothing; the reason comes first, because it is always there. */
async function tellLost(
  { status, metadata }: Stored<Worker>,
  api: AggregationParts["api"],
  left: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const message = status?.message ?? "the worker has ended without results";
  const time = parseLogTime(status?.finishedAt ?? metadata.creationTimestamp);
  const lines = [...message.split("\n"), ...left].map((text, at) => ({
    stepId: 0,
    logId: at + 1,
    time,
    message: text,
  }));
  for (let at = 0; at < lines.length; at += mostLines) await api.putLines(lines.slice(at, at + mostLines), signal);
  await api.flushed(signal);
  await api.putStatus("Failed", { reason: "WorkerFailed", message }, signal);
}

async function endWorker(meant: ProvisionerAddress, name: string, signal: AbortSignal): Promise<void> {
  const path = `/api/worker/${encodeURIComponent(name)}?ignoreMissing=1&force=1`;
  const request: ServiceRequest = { method: "DELETE", path };
  const provisioner = (await meant.find?.()) ?? meant;
  const answer = await askService(provisioner, request, signal);
  if (answer.status >= 300) throw refusedBy(provisioner, request, answer);
}
