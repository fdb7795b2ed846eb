import { expect, test } from "vitest";
import { formatProblem, type JsonObject } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { loadDialects } from "#dialects/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";

const shared = sharedOf(await loadDialects());
const [admission] = shared.admission;
if (admission === undefined) throw new Error("nobody admits actions");

const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf" };
const action = (spec: JsonObject): JsonObject => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "RunAction",
  metadata: { name: "a", namespace: "default" },
  spec: { target, ...spec },
});
const actionCauses = (object: JsonObject, old?: JsonObject) =>
  admission.validate(object, old).causes.map(({ field, message }) => `${field}: ${message}`);

test.each<[JsonObject, readonly string[]]>([
  [{ action: "cancel" }, []],
  [{ action: "retry", steps: ["a"] }, []],
  [{ action: "skip" }, ["spec.step: skip needs the step to skip"]],
  [{ action: "suspend", step: "a" }, ["spec.step: suspend applies to the whole run"]],
  [{ action: "cancel", steps: ["a"] }, ["spec.steps: only retry may have several steps"]],
  [{ action: "retry", force: true }, ["spec.force: only cancel may have force"]],
  [{ action: "retry", fromFailed: true }, []],
  [{ action: "cancel", fromFailed: true }, ["spec.fromFailed: only retry may have fromFailed"]],
  [
    { action: "retry", fromFailed: false },
    [expect.stringMatching(/^spec.fromFailed: a retry re-runs failed steps only/)],
  ],
  [
    { action: "retry", fromFailed: true, steps: ["a"] },
    ["spec.fromFailed: steps already selects where the retry starts"],
  ],
  [{ action: "dance" }, [expect.stringContaining('spec.action: Unsupported value: "dance"')]],
  [
    { action: "cancel", target: { name: "x" } },
    [
      "spec.target: expected slipway.dev/v1alpha1 Workflow, tinkerbell.org/v1alpha1 Workflow, tinkerbell.org/v1alpha2 Workflow, rebar.slipway.dev/v1 Machine, wharf.slipway.dev/v1alpha1 Build, core.oam.dev/v1beta1 Application or core.oam.dev/v1alpha1 WorkflowRun",
    ],
  ],
  [
    { action: "cancel", target: { apiVersion: "slipway.dev/v1", kind: "Workflow", name: "x" } },
    [
      "spec.target: expected slipway.dev/v1alpha1 Workflow, tinkerbell.org/v1alpha1 Workflow, tinkerbell.org/v1alpha2 Workflow, rebar.slipway.dev/v1 Machine, wharf.slipway.dev/v1alpha1 Build, core.oam.dev/v1beta1 Application or core.oam.dev/v1alpha1 WorkflowRun",
    ],
  ],
  [
    { action: "cancel", target: { ...target, namespace: "other" } },
    ["spec.target.namespace: expected default: the run must be in the namespace of its action"],
  ],
  [{ action: "cancel", target: { ...target, name: "" } }, ["spec.target.name: the name of the run is required"]],
])("the action %j", (spec, expected) => {
  expect(actionCauses(action(spec))).toEqual(expected);
});

test("an action cannot be changed, and a status sent along is dropped", () => {
  expect(actionCauses(action({ action: "resume" }), action({ action: "cancel" }))).toEqual([
    "spec: an action cannot be changed; create another one",
  ]);
  const sent = { ...action({}), status: { phase: "Done", by: "somebody" } };
  expect(admission.prepareForCreate(sent)).toEqual(action({}));
  expect(admission.prepareForCreate(sent, { user: "anna", groups: ["release"] })).toEqual({
    ...action({}),
    status: { by: "anna", groups: ["release"] },
  });
});

test.each(["v1alpha1", "v1alpha2"])(
  "an action that a language has no word for is refused by name, of %s",
  (version) => {
    const machine = { apiVersion: `tinkerbell.org/${version}`, kind: "Workflow", name: "w" };
    expect(actionCauses(action({ action: "suspend", target: machine }))).toEqual([
      "spec.action: expected cancel or retry: runs of tinkerbell do not support suspend",
    ]);
    expect(actionCauses(action({ action: "cancel", target: machine }))).toEqual([]);
    expect(actionCauses(action({ action: "retry", fromFailed: true, target: machine }))).toEqual([]);
    expect(actionCauses(action({ action: "cancel", force: true, step: "a", target: machine }))).toEqual([
      "spec.step: cancel is for the whole workflow",
      "spec.force: there are no final steps to leave out",
    ]);
    expect(actionCauses(action({ action: "retry", steps: ["a"], target: machine }))).toEqual([
      "spec.steps: a retry starts over; set fromFailed to continue with the action that failed",
    ]);
  },
);

/** The problems of a document of this text, which the reader has to know for its own. */
function read(text: string): readonly string[] {
  const yaml = readYaml(text, { file: "w.yaml" });
  if (!yaml.ok) throw new Error("no YAML");
  const [document] = yaml.value.documents;
  if (document === undefined || !shared.documents.detect(document)) throw new Error("nobody reads it");
  const { object, problems } = shared.documents.read(document);
  expect(object === undefined).toBe(problems.length > 0);
  return problems.map(formatProblem);
}

test("a RunAction is read and checked", () => {
  const asked = (spec: string) =>
    read(`apiVersion: slipway.dev/v1alpha1\nkind: RunAction\nmetadata: {name: a}\nspec: ${spec}`);
  const at = "target: {apiVersion: slipway.dev/v1alpha1, kind: Workflow, name: wf}";
  expect(asked(`{${at}, action: cancel, force: true}`)).toEqual([]);
  expect(asked(`{${at}, action: approve}`)).toEqual([
    "w.yaml:4:7: error: spec.step: approve needs the step to approve",
  ]);
  expect(asked("{target: {apiVersion: v1, kind: Pod, name: p}, action: skip}")).toEqual([
    "w.yaml:4:7: error: spec.step: skip needs the step to skip",
    "w.yaml:4:16: error: spec.target: expected slipway.dev/v1alpha1 Workflow, tinkerbell.org/v1alpha1 Workflow, tinkerbell.org/v1alpha2 Workflow, rebar.slipway.dev/v1 Machine, wharf.slipway.dev/v1alpha1 Build, core.oam.dev/v1beta1 Application or core.oam.dev/v1alpha1 WorkflowRun",
  ]);
});

test.each([
  ["apiVersion: slipway.dev/v1\nkind: RunAction", "w.yaml:1:13: error: apiVersion: expected slipway.dev/v1alpha1"],
  ["apiVersion: slipway.dev/v1alpha1\nkind: RunAction\nspec: {}", "w.yaml:1:1: error: metadata: metadata with a name"],
  [
    "apiVersion: slipway.dev/v1alpha1\nkind: RunAction\nmetadata: {name: a}\nspec: {acton: cancel}",
    'w.yaml:4:15: error: spec.acton: is not a field of this kind (did you mean "action"?)',
  ],
])("what is wrong with an action has a place: %s", (text, first) => {
  expect(read(text)[0]).toContain(first);
});
