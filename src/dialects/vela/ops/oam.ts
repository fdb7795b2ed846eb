import { defined, type JsonObject, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { asJson } from "#kernel/model/index.ts";
import { Application } from "../kinds.ts";
import type { Component } from "../app.ts";
import { componentSpec } from "../workflow/step-context.ts";
import { applyComponent, type ComponentRequest, renderComponent } from "./component.ts";
import { type Action, clusterOf, done, failure, inBothForms, namespaceOf } from "./form.ts";
import type { ActionScope } from "./provider.ts";

/** Components of this application, or of another one of the namespace. */
async function componentsOf(params: JsonObject, scope: ActionScope): Promise<readonly JsonObject[] | string> {
  const spec = await otherSpec(params, scope);
  if (typeof spec === "string") return spec;
  return spec === undefined ? scope.app.components.map(componentSpec) : objectsAt(spec, "components").map(bare);
}

const bare = ({ inputs: _inputs, outputs: _outputs, ...rest }: JsonObject): JsonObject => rest;

/** Undefined for this application. */
async function otherSpec(params: JsonObject, scope: ActionScope): Promise<JsonObject | undefined | string> {
  const name = textAt(params, "app");
  if (name === undefined || name === scope.app.identity.name) return undefined;
  const ref = { type: Application, namespace: namespaceOf(scope), name };
  const app = await getOrUndefined(scope.client, ref, scope.signal);
  return app === undefined ? `application ${namespaceOf(scope)}/${name} not found` : objectAt(asJson(app), "spec");
}

/** The proposal's form loads what is rendered: of one component, or the workloads of all. */
const load: Action = async (params, scope, form) => {
  const name = textAt(params, "component");
  if (form === "legacy" && name !== undefined) {
    const component = scope.app.components.find((each) => each.name === name);
    if (component === undefined) return failure(`component "${name}" not found`);
    const rendered = await scope.delivery.render(component);
    if (!rendered.ok) return failure(rendered.error);
    const { workload, auxiliaries } = rendered.value;
    return done({ workload: asJson(workload.object), auxiliaries: auxiliaries.map(({ object }) => asJson(object)) });
  }
  const components = await componentsOf(params, scope);
  if (typeof components === "string") return failure(components);
  return done({ value: Object.fromEntries(components.map((each) => [textAt(each, "name") ?? "", each])) });
};

const loadInOrder: Action = async (params, scope) => {
  const components = await componentsOf(params, scope);
  return typeof components === "string" ? failure(components) : done({ value: components });
};

const loadPolicies: Action = async (params, scope) => {
  const spec = await otherSpec(params, scope);
  if (typeof spec === "string") return failure(spec);
  const policies = spec === undefined ? scope.app.policies : objectsAt(spec, "policies");
  return done({
    value: Object.fromEntries(policies.map((policy) => [policy.name as string, { ...policy }])),
  });
};

/** A component of the application by name, with what the action says of it; a text if there is none. */
function requestOf(params: JsonObject, scope: ActionScope): ComponentRequest | string {
  const value = objectAt(params, "value");
  const name = textAt(params, "component") ?? textAt(value, "name");
  const known = scope.app.components.find((each) => each.name === name);
  const component = value === undefined ? known : described(value, known);
  if (component === undefined) return name === undefined ? "value: expected object" : `component "${name}" not found`;
  const patch = objectAt(params, "patch");
  return {
    component,
    cluster: clusterOf(params),
    namespace: textAt(params, "namespace"),
    waitHealthy: params["waitHealthy"] !== false,
    ...defined({ patch }),
  };
}

function described(value: JsonObject, known: Component | undefined): Component | undefined {
  const [name, type] = [textAt(value, "name") ?? known?.name, textAt(value, "type") ?? known?.type];
  if (name === undefined || type === undefined) return undefined;
  const traits = Array.isArray(value["traits"])
    ? objectsAt(value, "traits").map((trait) => ({
        type: textAt(trait, "type") ?? "",
        properties: objectAt(trait, "properties") ?? {},
      }))
    : (known?.traits ?? []);
  const base = known ?? { dependsOn: [], inputs: [], outputs: [], properties: {} };
  return { ...base, name, type, traits, properties: objectAt(value, "properties") ?? base.properties };
}

const componentApply: Action = async (params, scope, form) => {
  const request = requestOf(params, scope);
  if (typeof request === "string") return failure(request);
  const result = await applyComponent(scope, request);
  if (result.kind === "error") return failure(result.message);
  if (result.kind === "wait") return { kind: "wait", message: result.message };
  const { output, outputs } = result;
  return done(form === "new" ? { output, outputs } : { output, outputs, traits: outputs });
};

const componentRender: Action = async (params, scope) => {
  const request = requestOf(params, scope);
  if (typeof request === "string") return failure(request);
  const rendered = await renderComponent(scope, request);
  if (typeof rendered === "string") return failure(rendered);
  const outputs = rendered.auxiliaries.map(({ resource, key, object }) => [resource ?? key, asJson(object)] as const);
  return done({ output: asJson(rendered.workload.object), outputs: Object.fromEntries(outputs) });
};

export const oamProviders = inBothForms("oam", {
  load,
  "load-comps-in-order": loadInOrder,
  "load-policies": loadPolicies,
  "component-apply": componentApply,
  "component-render": componentRender,
});
