import { getOrUndefined } from "#kernel/kit/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { Provider } from "../ops/provider.ts";
import { failure } from "../ops/form.ts";
import { inputOf, percentageOf, returning } from "../ops/use-case-value.ts";
import { TrafficShift } from "../schema/traffic-shift.ts";
import { local, readRollout, referTo, writeStatus } from "./store.ts";
import { shareTraffic } from "./traffic.ts";

/** `rollout/shift`: sends a share of the requests to the new revision. */
export const shiftTraffic: Provider = async (value, scope) => {
  const partition = inputOf(value)["partition"];
  const rollout = await readRollout(scope);
  const isRolling = rollout?.spec.components.some(({ oldWorkload }) => oldWorkload !== undefined) === true;
  if (rollout === undefined || !isRolling || rollout.spec.newRevision !== scope.app.identity.revision) {
    scope.say("there is no old revision to share requests with");
    return returning({});
  }
  const replicas = rollout.spec.components.reduce((sum, component) => sum + component.replicas, 0);
  const weight = percentageOf(replicas, partition, "100%");
  if (weight === undefined) return failure(`partition: expected "50%" or a number, found ${JSON.stringify(partition)}`);
  const { name, namespace } = scope.app.identity;
  const applied = await scope.delivery.applyObject(
    {
      apiVersion: apiVersionOf(TrafficShift),
      kind: TrafficShift.kind,
      metadata: { name, namespace },
      spec: { application: name, rollout: rollout.metadata.name, partition: `${weight}%` },
    },
    local,
  );
  if (!applied.ok) return failure(applied.error);
  const services = await shareTraffic(scope, rollout.spec, weight);
  const stored = await getOrUndefined(scope.client, { type: TrafficShift, namespace, name }, scope.signal);
  if (stored === undefined) return failure(`TrafficShift "${name}" was deleted`);
  const message =
    services.length === 0
      ? "no Service of a rolled component was found; requests are shared by the number of replicas"
      : `${weight} % of the requests go to ${rollout.spec.newRevision}`;
  await writeStatus(scope, TrafficShift, stored, {
    observedGeneration: stored.metadata.generation ?? 1,
    services,
    newWeight: weight,
    message,
  });
  referTo(scope, stored);
  scope.say(message);
  return returning({ trafficShift: { name, weight, services: services.map(({ service }) => service) } });
};
