import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { asJson, Ingress, type KubeObject, type ResourceType, Service, type Stored } from "#kernel/model/index.ts";
import { label, objectsOf } from "../labels.ts";
import type { ActionScope } from "../ops/provider.ts";
import type { RolledComponent, RolloutSpec } from "../schema/rollout.ts";
import type { ShiftedService } from "../schema/traffic-shift.ts";
import {
  canaryIngress,
  canaryName,
  ingressTo,
  type NewWeight,
  revisionService,
  routesTo,
  sharedRules,
  stableName,
  weightsAnnotation,
  weightsOf,
  withBackend,
} from "./routes.ts";
import { local, rolloutManager } from "./store.ts";

/** Shares the requests to all Services of the rolled components, or ends the sharing. Repeatable. */
export async function shareTraffic(
  scope: ActionScope,
  { components }: RolloutSpec,
  weight: NewWeight,
): Promise<readonly ShiftedService[]> {
  const shifted: ShiftedService[] = [];
  for (const component of components.filter(({ oldWorkload }) => oldWorkload !== undefined))
    for (const service of await servicesOf(component, scope))
      shifted.push({ component: component.name, ...(await shareService(scope, component, service, weight)) });
  return shifted;
}

/** By the label that every object of a component has; Services of one revision are our own. */
async function servicesOf({ name }: RolledComponent, { app, client, signal }: ActionScope) {
  const { namespace, name: application } = app.identity;
  const { items } = await client.list(Service, { namespace, labelSelector: objectsOf(application, name), signal });
  const names = new Set(items.map(({ metadata }) => metadata.name));
  return items.filter(
    ({ metadata }) => !/-(?:stable|canary)$/.test(metadata.name) || !names.has(metadata.name.replace(/-\w+$/, "")),
  );
}

async function shareService(
  scope: ActionScope,
  component: RolledComponent,
  service: Stored,
  weight: NewWeight,
): Promise<Omit<ShiftedService, "component">> {
  const name = service.metadata.name;
  const routes = await routesOf(scope, name);
  const canSplit = component.oldRevision !== undefined;
  if (canSplit && weight !== undefined && routes.length > 0) await createServices(scope, component, service);
  for (const { type, route } of canSplit ? routes : [])
    await (type === Ingress
      ? shareIngress(scope, route, name, weight)
      : shareHttpRoute(scope, type, route, name, weight));
  const weights = weight === undefined ? null : weightsOf(component.newRevision ?? component.newWorkload, weight);
  if (service.metadata.annotations?.[weightsAnnotation] !== (weights ?? undefined))
    await patch(scope, Service, service, { metadata: { annotations: { [weightsAnnotation]: weights } } });
  if (weight === undefined) await removeServices(scope, service);
  const [first] = canSplit ? routes : [];
  if (first === undefined) return { service: name, mode: "Service" };
  return { service: name, mode: first.type === Ingress ? "Ingress" : "HTTPRoute", route: first.route.metadata.name };
}

async function routesOf({ app, client, signal }: ActionScope, service: string) {
  const { namespace } = app.identity;
  const found: { readonly type: ResourceType; readonly route: Stored }[] = [];
  const httpRoute = await client.resourceType("gateway.networking.k8s.io/v1", "HTTPRoute");
  if (httpRoute !== undefined) {
    const { items } = await client.list(httpRoute, { namespace, signal });
    found.push(...items.filter((each) => routesTo(each, service)).map((route) => ({ type: httpRoute, route })));
  }
  if (found.length > 0 || (await client.resourceType("networking.k8s.io/v1", "Ingress")) === undefined) return found;
  const { items } = await client.list(Ingress, { namespace, signal });
  return items.filter((each) => ingressTo(each, service)).map((route) => ({ type: Ingress, route }));
}

async function createServices(scope: ActionScope, component: RolledComponent, service: Stored): Promise<void> {
  const { oldRevision = "", newRevision = component.newWorkload } = component;
  const { name } = service.metadata;
  for (const wanted of [
    revisionService(service, stableName(name), oldRevision),
    revisionService(service, canaryName(name), newRevision),
  ]) {
    const applied = await scope.delivery.applyObject(wanted, local);
    if (!applied.ok) throw new Error(applied.error);
  }
}

async function removeServices(scope: ActionScope, { metadata }: Stored): Promise<void> {
  for (const name of [stableName(metadata.name), canaryName(metadata.name)]) await removeIfOurs(scope, Service, name);
}

async function removeIfOurs(scope: ActionScope, type: ResourceType, name: string): Promise<void> {
  const { namespace, name: app } = scope.app.identity;
  const found = await getOrUndefined(scope.client, { type, namespace, name }, scope.signal);
  if (found === undefined || found.metadata.labels?.[label.app] !== app) return;
  const removed = await scope.delivery.remove(found, local);
  if (!removed.ok) throw new Error(removed.error);
}

async function shareHttpRoute(
  scope: ActionScope,
  type: ResourceType,
  route: Stored,
  service: string,
  weight: NewWeight,
): Promise<void> {
  const rules = sharedRules(route, service, weight);
  if (JSON.stringify(rules) !== JSON.stringify(member(route.spec, "rules")))
    await patch(scope, type, route, { spec: { rules } });
}

/** The main Ingress goes to the stable Service, so that the canary gets its share and no more. */
async function shareIngress(scope: ActionScope, ingress: Stored, service: string, weight: NewWeight): Promise<void> {
  const to = weight === undefined ? service : stableName(service);
  const spec = withBackend(asJson(ingress)["spec"] ?? {}, [service, stableName(service)], to);
  if (weight !== undefined) {
    const applied = await scope.delivery.applyObject(canaryIngress(ingress, service, weight), local);
    if (!applied.ok) throw new Error(applied.error);
  }
  if (JSON.stringify(spec) !== JSON.stringify(ingress.spec)) await patch(scope, Ingress, ingress, { spec });
  if (weight === undefined) await removeIfOurs(scope, Ingress, canaryName(ingress.metadata.name));
}

const member = (value: unknown, name: string): JsonValue | undefined => (isJsonObject(value) ? value[name] : undefined);

const patch = ({ client, signal }: ActionScope, type: ResourceType, object: KubeObject, body: JsonValue) =>
  client.patch(refTo(type, object), { type: "merge", body }, { fieldManager: rolloutManager, signal });
