import { expect, test } from "vitest";
import { compileSchema, readStructuralSchema, schemaAsJson } from "#lib/schema/index.ts";
import { kinds } from "./kinds.ts";

/** Names of the kinds as the original's clients know them. */
const names = `
  Application             core.oam.dev/v1beta1   applications             app,velaapp     Namespaced status
  ApplicationRevision     core.oam.dev/v1beta1   applicationrevisions     apprev          Namespaced status
  ComponentDefinition     core.oam.dev/v1beta1   componentdefinitions     comp            Namespaced status
  TraitDefinition         core.oam.dev/v1beta1   traitdefinitions         trait           Namespaced status
  PolicyDefinition        core.oam.dev/v1beta1   policydefinitions        def-policy      Namespaced status
  WorkflowStepDefinition  core.oam.dev/v1beta1   workflowstepdefinitions  workflowstep    Namespaced status
  WorkloadDefinition      core.oam.dev/v1beta1   workloaddefinitions      workload        Namespaced status
  DefinitionRevision      core.oam.dev/v1beta1   definitionrevisions      defrev          Namespaced -
  ResourceTracker         core.oam.dev/v1beta1   resourcetrackers         rt              Cluster    status
  WorkflowRun             core.oam.dev/v1alpha1  workflowruns             wr              Namespaced status
  Workflow                core.oam.dev/v1alpha1  workflows                -               Namespaced -
  Policy                  core.oam.dev/v1alpha1  policies                 -               Namespaced -
  Package                 cue.oam.dev/v1alpha1   packages                 pkg,cpkg,cuepkg,cuepackage  Namespaced -
  Rollout                 app.oam.dev/v1         rollouts                 -               Namespaced status
  TrafficShift            app.oam.dev/v1         trafficshifts            -               Namespaced status
  Insight                 app.oam.dev/v1         insights                 -               Namespaced status
  SecurityProfile         app.oam.dev/v1         securityprofiles         -               Namespaced status
  HelmTemplate            app.oam.dev/v1         helmtemplates            -               Namespaced status
  KustomizePatch          app.oam.dev/v1         kustomizepatches         -               Namespaced status
  GitPush                 app.oam.dev/v1         gitpushes                -               Namespaced status
`
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/\s+/));

test("groups, versions, plurals, short names, scopes and subresources are the original's", () => {
  const found = kinds.map(({ kind, group, version, plural, shortNames, namespaced, hasStatus }) => [
    kind,
    `${group}/${version}`,
    plural,
    shortNames.length === 0 ? "-" : shortNames.join(","),
    namespaced ? "Namespaced" : "Cluster",
    hasStatus ? "status" : "-",
  ]);
  expect(found).toEqual(names);
  for (const { categories, kind } of kinds) expect([kind, categories]).toEqual([kind, ["oam"]]);
});

/** Columns that clients and scripts read. */
const columns: Readonly<Record<string, readonly string[]>> = {
  Application: ["COMPONENT", "TYPE", "PHASE", "HEALTHY", "STATUS", "Age"],
  ApplicationRevision: ["COMPONENT", "PUBLISH_VERSION", "SUCCEEDED", "Age"],
  ComponentDefinition: ["WORKLOAD-KIND", "DESCRIPTION"],
  TraitDefinition: ["APPLIES-TO", "DESCRIPTION"],
  DefinitionRevision: ["REVISION", "HASH", "TYPE", "Age"],
  ResourceTracker: ["TYPE", "APP", "APP-NS", "APP-GEN"],
  WorkflowRun: ["PHASE", "Age"],
};

test("17.25 columns are the original's", () => {
  for (const [kind, wanted] of Object.entries(columns))
    expect(kinds.find((known) => known.kind === kind)?.columns.map(({ name }) => name)).toEqual(wanted);
});

test.each(kinds.map((kind) => [kind.kind, kind] as const))("%s has a structural schema", (_name, kind) => {
  expect(readStructuralSchema(schemaAsJson(kind.schema), [])).toMatchObject({ ok: true });
});

/** A fact per line: a field of the original's definitions and a value it accepts. */
const facts: readonly (readonly [string, string, unknown])[] = [
  ["Application", "spec.components.0", { name: "a", type: "b", externalRevision: "v1", scopes: { x: "y" } }],
  ["Application", "spec.components.0", { name: "a", type: "b", inputs: [{ from: "x", parameterKey: "y" }] }],
  ["Application", "spec.workflow", { ref: "w", mode: { steps: "DAG", subSteps: "StepByStep" } }],
  ["Application", "spec.workflow.steps.0", { type: "t", meta: { alias: "A" }, if: "always", timeout: "1m" }],
  ["Application", "spec.workflow.steps.0", { type: "step-group", mode: "DAG", subSteps: [{ type: "t" }] }],
  ["Application", "status.workflow", {}],
  ["Application", "status.workflow", { suspend: true }],
  ["Application", "status.workflow.contextBackend", { apiVersion: "v1", kind: "ConfigMap", name: "n", uid: "u" }],
  [
    "Application",
    "status.services.0",
    { name: "n", healthy: true, workloadDefinition: { apiVersion: "v", kind: "K" } },
  ],
  ["Application", "status.appliedResources.0", { cluster: "local", creator: "workflow", kind: "K", name: "n" }],
  ["ApplicationRevision", "spec", { application: { spec: { components: [{ any: 1 }] } }, workflow: { steps: [] } }],
  ["ApplicationRevision", "status", { succeeded: true, workflowContext: { a: "b" } }],
  ["ComponentDefinition", "spec", { workload: { type: "autodetects.core.oam.dev" }, podSpecPath: "spec" }],
  ["ComponentDefinition", "spec", { schematic: { terraform: { configuration: "x", type: "hcl" } } }],
  ["ComponentDefinition", "status.latestRevision", { name: "n", revision: 1, revisionHash: "h" }],
  ["TraitDefinition", "spec", { appliesToWorkloads: ["*"], stage: "PreDispatch", podDisruptive: true }],
  [
    "DefinitionRevision",
    "spec",
    { revision: 1, revisionHash: "h", definitionType: "Trait", traitDefinition: { a: 1 } },
  ],
  ["ResourceTracker", "spec", { type: "root", applicationGeneration: 1, managedResources: [{ raw: { a: 1 } }] }],
  ["WorkflowRun", "spec", { context: { a: { b: 1 } }, workflowSpec: { steps: [{ type: "t" }] } }],
  ["WorkflowRun", "status", { mode: { steps: "DAG" }, steps: [{ id: "i", subSteps: [{ id: "j" }] }] }],
  ["Workflow", "steps.0", { type: "t", properties: { any: [1] } }],
  ["Policy", "properties", { any: 1 }],
];

test.each(facts)("%s keeps %s as the original does", (name, at, value) => {
  const kind = kinds.find((known) => known.kind === name);
  const schema = compileSchema(kind?.schema ?? {});
  const object = at.split(".").reduceRight<unknown>((inner, key) => (key === "0" ? [inner] : { [key]: inner }), value);
  const { value: pruned, unknown } = schema.prune(object as never);
  expect(unknown).toEqual([]);
  expect(pruned).toMatchObject(object as object);
});
