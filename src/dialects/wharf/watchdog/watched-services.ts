import type { Manager } from "#kernel/kit/index.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Millis,
  orAborted,
  parseInstant,
  SlipwayError,
} from "#lib/base/index.ts";
import type { ClientServices } from "../services.ts";
import { type ActiveBuild, type SeenWorker, usualLimits } from "./judge.ts";
import { Watchdog, type Watched } from "./watchdog.ts";
import { askService, refusedBy, type ServiceRequest } from "../aggregator/api-connection.ts";
import { triggerUnknown } from "../builds/transitions.ts";
import { ProvisionerClient, type ToldWorker } from "../provisioner/provisioner-client.ts";

/** Builds of other engines are not this provisioner's. */
const ownEngine = "wharf-cmd";

const over: ReadonlySet<string> = new Set(["Success", "Failed", "Cancelled"]);

const instantOf = (text: JsonValue | undefined): number => (typeof text === "string" ? (parseInstant(text) ?? 0) : 0);

/** Incomplete lists are errors. */
export function watchedServices({ api, provisioner }: ClientServices): Watched {
  const client = new ProvisionerClient(provisioner);
  const ask = async (request: ServiceRequest, signal: AbortSignal): Promise<JsonValue | undefined> => {
    const answer = await askService(api, request, signal);
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw refusedBy(api, request, answer);
    return answer.json;
  };
  return {
    workers: async (signal) => (await client.list(signal)).map(seenWorker),
    async activeBuilds(signal) {
      const path = "/api/build?limit=0&status=Scheduling&status=Running";
      const answer = await ask({ method: "GET", path }, signal);
      const { list, totalCount } = isJsonObject(answer) ? answer : {};
      if (!Array.isArray(list) || list.length !== totalCount)
        throw new SlipwayError("wharf-service", `${api.url}: expected all active builds, found a part of them`);
      const origin = new URL(provisioner.url).origin;
      return list
        .filter(isJsonObject)
        .filter((build) => isOf(build, origin))
        .map(activeBuild);
    },
    async isActive(buildId, signal) {
      const build = await ask({ method: "GET", path: `/api/build/${buildId}` }, signal);
      return isJsonObject(build) && (build["status"] === "Scheduling" || build["status"] === "Running");
    },
    deleteWorker: (workerId, signal) => client.delete(workerId, false, signal),
    async failBuild(buildId, reason, signal) {
      const message = reason === "WorkerLost" ? "the worker of the build has gone" : "no worker has ever run the build";
      const body = JSON.stringify({ status: "Failed", reason, message });
      const headers = { "content-type": "application/json" };
      await ask({ method: "PUT", path: `/api/build/${buildId}/status`, headers, body }, signal);
    },
  };
}

/** Builds without an engine have the default one. */
function isOf({ engine }: JsonObject, origin: string): boolean {
  if (!isJsonObject(engine)) return true;
  const { id, url } = engine;
  return id === ownEngine || (typeof url === "string" && URL.canParse(url) && new URL(url).origin === origin);
}

const seenWorker = ({ workerId, buildId, status, createdAt, finishedAt }: ToldWorker): SeenWorker => ({
  workerId,
  buildId,
  isFinal: over.has(status),
  createdAt: instantOf(createdAt),
  finishedAt: finishedAt === null ? undefined : parseInstant(finishedAt),
});

const activeBuild = ({ buildId, workerId, status, reason, scheduledOn, createdAt }: JsonObject): ActiveBuild => ({
  buildId: typeof buildId === "number" ? buildId : 0,
  workerId: typeof workerId === "string" ? workerId : "",
  isRunning: status === "Running",
  mayHaveWorker: status === "Scheduling" && reason === triggerUnknown,
  scheduledOn: instantOf(scheduledOn ?? createdAt),
});

interface WatchdogOptions {
  readonly services: () => Promise<ClientServices>;
  readonly intervalMs?: Millis;
  readonly minAgeMs?: Millis;
  readonly isIdle?: () => boolean;
}

export function addWatchdog(manager: Manager, { services, intervalMs, minAgeMs, isIdle }: WatchdogOptions): void {
  const { clock, random, log } = manager;
  const given = {
    ...(intervalMs === undefined ? {} : { intervalMs }),
    ...(minAgeMs === undefined ? {} : { limits: { ...usualLimits, minAgeMs } }),
    ...(isIdle === undefined ? {} : { isIdle }),
  };
  manager.add({
    name: "wharf-watchdog",
    async run({ stop }) {
      const found = await orAborted(services(), stop).catch(() => undefined);
      if (found !== undefined)
        await new Watchdog({ watched: watchedServices(found), clock, random, log, ...given }).run(stop);
    },
  });
}
